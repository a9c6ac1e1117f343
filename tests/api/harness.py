"""What every black-box test of the daemon needs: one to start, one to talk to, one to wait with.

    class Turns(harness.DaemonTest):             # one daemon a class, in setUpClass
        OPTIONS = ("--idle-close-s=2",)
        def test_post(self):
            reply = self.client.post("/v1/spaces/a/turns", {"text": "hello"})
            self.assertEqual(reply.status, 202, reply)

    with harness.Daemon("--api-key=k", env={"HYPERMEM_LOG_LEVEL": "debug"}) as daemon:
        daemon.client(key="k").get("/v1/spaces").expect(200)["spaces"]
        daemon.kill()                            # SIGKILL
        daemon.start()                           # again on the same directory
        sock = daemon.raw()                      # bytes as they are
        sock.send(b"GET /version HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        sock.reply().status

    with ModelServer() as models, Daemon(env={"HYPERMEM_LLM_BASE_URL": models.url}) as daemon:
        models.script({"purpose": "facts", "do": "status", "status": 503})  # tests/fakes

Nothing here sleeps for a fixed time: wait_until() polls a condition up to a deadline, which
HMTEST_SLOW (under a sanitizer) stretches. The log of a daemon is shown when a test of DaemonTest
fails. Standard library only, Python 3.9.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# So that a test module finds `from model_server import ModelServer`.
sys.path.insert(0, os.path.join(ROOT, "tests", "fakes"))
SLOW = float(os.environ.get("HMTEST_SLOW") or 1)
FLAVOUR = os.environ.get("HMTEST_FLAVOUR") or "release"
START_S = 20
STOP_S = 30
SHOWN_LOG_LINES = 60


def binary(fault=False):
    """The daemon under test; with fault=True the build that has the named fault points."""
    names = ("HMTEST_FAULT_BIN",) if fault else ("HMTEST_BIN", "HYPERMEMD")
    for name in names:
        if os.environ.get(name):
            return os.path.abspath(os.environ[name])
    return os.path.join(ROOT, "build", "fault" if fault else "release", "hypermemd")


def wait_until(condition, seconds=10.0, what="the condition"):
    """Polls until condition() is true and returns what it gave; fails after the deadline."""
    deadline = time.monotonic() + seconds * SLOW
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("%s did not come true within %g s" % (what, seconds * SLOW))
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def clean_environment(extra=None):
    """This environment without HYPERMEM_* and NO_COLOR, so that nobody's shell changes a test, and
    without the built-in encoder, which a test that is about it asks for."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith("HYPERMEM_") and key != "NO_COLOR"}
    env.update({"HYPERMEM_EMBED_MODEL_DIR": "none"}, **(extra or {}))
    return env


def run(*args, env=None, stdin=None, fault=False, seconds=30):
    """Runs a subcommand to its end: CompletedProcess with stdout and stderr as text."""
    return subprocess.run([binary(fault)] + [str(arg) for arg in args], input=stdin,
                          capture_output=True, text=True, errors="replace", check=False,
                          env=clean_environment(env), timeout=seconds * SLOW)


def segment(text):
    """A name or id as one path segment."""
    return urllib.parse.quote(text, safe="")


class Reply:
    """One HTTP reply. `data` is its JSON, `headers[name]` ignores case."""

    def __init__(self, status, headers, body, method="", path=""):
        self.status, self.body = status, body
        self.all_headers = list(headers)
        self.headers = {name.lower(): value for name, value in self.all_headers}
        self.method, self.path = method, path

    def header(self, name, default=None):
        return self.headers.get(name.lower(), default)

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    @property
    def data(self):
        return json.loads(self.body)

    @property
    def code(self):
        """error.code of a refusal, "" otherwise."""
        try:
            return self.data["error"]["code"]
        except (ValueError, KeyError, TypeError):
            return ""

    @property
    def param(self):
        """error.param of a refusal, "" otherwise."""
        try:
            return self.data["error"].get("param") or ""
        except (ValueError, KeyError, TypeError):
            return ""

    def expect(self, *statuses):
        """The JSON, if the status is one of those; otherwise a failure that shows the reply."""
        if self.status not in statuses:
            raise AssertionError("want status %s, got %r" % (
                " or ".join(map(str, statuses)), self))
        return self.data if self.body else None

    def __repr__(self):
        return "%s %s -> %d %s" % (self.method, self.path, self.status, self.text[:1000])


class Client:
    """A JSON client on one keep-alive connection. Not for two threads."""

    def __init__(self, port, host="127.0.0.1", key="", seconds=60.0):
        self.port, self.host, self.key, self.seconds = port, host, key, seconds * SLOW
        self.connection = None

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, path, body=None, headers=None, **params):
        """`body`: bytes as they are, anything else as JSON. `params` become the query string; a
        list gives its name several times, True and False are written as JSON writes them."""
        head = {}
        if self.key:
            head["Authorization"] = "Bearer " + self.key
        if body is not None:
            head["Content-Type"] = "application/json"
            if not isinstance(body, bytes):
                body = json.dumps(body).encode("utf-8")
        head.update(headers or {})
        if params:
            path += ("&" if "?" in path else "?") + query_string(params)
        return self.send(method, path, body, head)

    def send(self, method, path, body, head):
        fresh = self.connection is None
        if fresh:
            self.connection = http.client.HTTPConnection(self.host, self.port,
                                                         timeout=self.seconds)
        try:
            self.connection.request(method, path, body, head)
            got = self.connection.getresponse()
            reply = Reply(got.status, got.getheaders(), got.read(), method, path)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # An idle connection may be closed by the server at any time; a fresh one may not.
            self.close()
            if fresh:
                raise
            return self.send(method, path, body, head)
        if got.will_close:
            self.close()
        return reply

    def get(self, path, **params):
        return self.call("GET", path, **params)

    def head(self, path, **params):
        return self.call("HEAD", path, **params)

    def post(self, path, body=None, **params):
        return self.call("POST", path, body, **params)

    def put(self, path, body=None, **params):
        return self.call("PUT", path, {} if body is None else body, **params)

    def patch(self, path, body=None, **params):
        return self.call("PATCH", path, body, **params)

    def delete(self, path, **params):
        return self.call("DELETE", path, **params)

    def settle(self, space, seconds=30.0, flush=True):
        """Closes the open episodes and waits until no turn is pending; returns the space."""
        path = "/v1/spaces/" + segment(space)
        if flush:
            self.post(path + "/flush", wait=True).expect(200, 202)

        def settled():
            got = self.get(path).expect(200)
            return got if got["pending_turns"] == 0 else None
        return wait_until(settled, seconds, "pending_turns of %s = 0" % space)


def query_string(params):
    pairs = []
    for name, value in params.items():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, bool):
                item = "true" if item else "false"
            pairs.append((name, item))
    return urllib.parse.urlencode(pairs)


class Raw:
    """A socket for bytes that no HTTP library would send."""

    def __init__(self, port, host="127.0.0.1", seconds=20.0):
        self.sock = socket.create_connection((host, port), timeout=seconds * SLOW)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.have = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data.encode("utf-8") if isinstance(data, str) else data)

    def more(self):
        """Some more bytes into `have`; False at the end of the stream."""
        try:
            got = self.sock.recv(65536)
        except ConnectionResetError:
            got = b""
        self.have += got
        return got != b""

    def read_until(self, mark):
        while mark not in self.have:
            if not self.more():
                raise EOFError("the server closed after %r" % self.have[:500])
        at = self.have.index(mark) + len(mark)
        got, self.have = self.have[:at], self.have[at:]
        return got

    def read_exactly(self, n):
        while len(self.have) < n:
            if not self.more():
                raise EOFError("the server closed after %d of %d bytes" % (len(self.have), n))
        got, self.have = self.have[:n], self.have[n:]
        return got

    def reply(self, head=False):
        """One reply; EOFError when the server closes before a whole one has come. `head`: the
        request was a HEAD, so no body follows."""
        lines = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        headers = [tuple(line.split(": ", 1)) for line in lines[1:] if line]
        fields = {name.lower(): value for name, value in headers}
        body = b""
        if not head and status not in (204, 304) and status >= 200:
            body = self.read_exactly(int(fields.get("content-length", "0")))
        return Reply(status, headers, body)

    def is_closed(self):
        """Waits for the end of the stream; False when other bytes come first."""
        if self.have:
            return False
        return not self.more()


class Daemon:
    """A daemon on a free port and, unless told otherwise, an empty directory of its own."""

    def __init__(self, *options, data_dir=None, env=None, key="", fault=False, start=True,
                 listen="127.0.0.1:0"):
        self.options, self.env, self.key, self.listen = options, env, key, listen
        self.binary = binary(fault)
        self.home = tempfile.mkdtemp(prefix="hmtest-")
        self.data_dir = data_dir or os.path.join(self.home, "data")
        os.makedirs(self.data_dir, exist_ok=True)
        self.process, self.port, self.host = None, 0, "127.0.0.1"
        self.starts = 0
        self.preexec = None  # runs in the child before the daemon, for resource limits
        self.clients = []
        if start:
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.show()
        self.close()

    @property
    def url(self):
        return "http://%s:%d" % ("[%s]" % self.host if ":" in self.host else self.host, self.port)

    @property
    def pid(self):
        return self.process.pid

    def command(self):
        args = [self.binary, "serve", "--listen", self.listen, "--data-dir", self.data_dir]
        if self.key:
            args += ["--api-key", self.key]
        return args + list(self.options)

    def spawn(self):
        """Starts the process and does not wait for its address."""
        self.starts += 1
        with open(self.out_path, "wb") as out, open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=log, env=clean_environment(self.env),
                                            preexec_fn=self.preexec)

    def start(self, seconds=START_S):
        self.spawn()
        try:
            found = wait_until(self.find_address, seconds, "the listening line")
        except AssertionError:
            self.show()
            self.kill()
            raise
        self.host, self.port = found.group(1).strip("[]"), int(found.group(2))
        return self

    def find_address(self):
        with open(self.out_path, encoding="utf-8", errors="replace") as file:
            found = re.search(r"^listening on http://(\S+):(\d+)$", file.read(), re.M)
        if not found and self.process.poll() is not None:
            raise AssertionError("the daemon ended with status %d before it listened\n%s" % (
                self.process.returncode, self.log()))
        return found

    @property
    def out_path(self):
        return os.path.join(self.home, "out.%d" % self.starts)

    @property
    def log_path(self):
        return os.path.join(self.home, "log.%d" % self.starts)

    def log(self):
        """What the last start has logged so far."""
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def show(self):
        lines = self.log().splitlines()
        sys.stderr.write("--- log of the daemon, the last %d of %d lines\n" % (
            min(len(lines), SHOWN_LOG_LINES), len(lines)))
        sys.stderr.write("\n".join(lines[-SHOWN_LOG_LINES:]) + "\n---\n")
        sys.stderr.flush()

    def client(self, key=None, seconds=60.0):
        client = Client(self.port, self.host, self.key if key is None else key, seconds)
        self.clients.append(client)
        return client

    def raw(self, seconds=20.0):
        return Raw(self.port, self.host, seconds)

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, seconds=STOP_S):
        """The exit status; fails when there is none within the deadline."""
        try:
            return self.process.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            self.show()
            self.kill()
            raise AssertionError("the daemon did not end within %g s" % (seconds * SLOW)) from None

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, seconds=STOP_S):
        """SIGTERM, and the exit status."""
        if self.is_running():
            self.signal()
        return self.wait(seconds)

    def kill(self):
        """SIGKILL: nothing is finished, nothing is flushed."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def restart(self):
        status = self.stop()
        if status != 0:
            self.show()
            raise AssertionError("the daemon ended with status %d" % status)
        return self.start()

    def close(self):
        """Ends whatever still runs and removes the directory."""
        for client in self.clients:
            client.close()
        if self.is_running():
            try:
                self.stop()
            except AssertionError:
                pass
        shutil.rmtree(self.home, ignore_errors=True)


class LoggedTest(unittest.TestCase):
    """Shows the logs of the daemons in self.daemons when a test fails."""

    daemons = ()

    def run(self, result=None):
        def bad():
            return 0 if result is None else len(result.failures) + len(result.errors)
        before = bad()
        got = super().run(result)
        if bad() > before:
            for daemon in self.daemons:
                daemon.show()
        return got

    def assert_refused(self, reply, status, code=None, param=None):
        """A refusal of the one error shape (DESIGN 10)."""
        self.assertEqual(reply.status, status, reply)
        error = reply.data["error"]
        self.assertTrue(error["message"], reply)
        self.assertIsInstance(error["retryable"], bool, reply)
        self.assertIn("detail", reply.data)
        self.assertTrue(reply.data["request_id"], reply)
        if code is not None:
            self.assertEqual(error["code"], code, reply)
        if param is not None:
            self.assertEqual(error.get("param"), param, reply)


class DaemonTest(LoggedTest):
    """One daemon for all tests of the class; a fresh client for each test."""

    OPTIONS = ()
    KEY = ""
    ENV = None
    FAULT = False
    daemon = None

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.OPTIONS, key=cls.KEY, env=cls.ENV, fault=cls.FAULT)
        cls.daemons = (cls.daemon,)

    @classmethod
    def tearDownClass(cls):
        daemon, cls.daemon = cls.daemon, None
        running = daemon.is_running()
        try:
            status = daemon.stop() if running else 0
            if status != 0:
                daemon.show()
                raise AssertionError("the daemon ended with status %d" % status)
        finally:
            daemon.close()

    def setUp(self):
        self.client = self.daemon.client()
        self.addCleanup(self.client.close)
