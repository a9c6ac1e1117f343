"""The process around the HTTP: start, stop, signals, configuration, health, idle CPU."""
import json
import os
import resource
import signal
import socket
import threading
import time
import unittest

import harness
from harness import wait_until

HOST = "Host: 127.0.0.1"
GET = b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Start(unittest.TestCase):
    def refused(self, *args, env=None, status=1):
        done = harness.run(*args, env=env)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_prints_where_it_listens(self):
        with harness.Daemon() as daemon:
            with open(daemon.out_path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "listening on %s\n" % daemon.url)
            self.assertIn("event=listening", daemon.log())

    def test_serve_is_the_default(self):
        with harness.Daemon(start=False) as daemon:
            command = daemon.command()
            command.remove("serve")
            daemon.command = lambda: command
            daemon.start()
            daemon.client().get("/health/live").expect(200)

    def test_port_in_use(self):
        with harness.Daemon() as daemon:
            text = self.refused("serve", "--listen", "127.0.0.1:%d" % daemon.port,
                                "--data-dir", os.path.join(daemon.home, "other"))
            self.assertIn("in use", text)

    def test_second_daemon_on_the_directory(self):
        with harness.Daemon() as daemon:
            text = self.refused("serve", "--listen=127.0.0.1:0", "--data-dir=" + daemon.data_dir)
            self.assertIn(str(daemon.pid), text)
            daemon.client().get("/health/ready").expect(200)

    def test_second_daemon_after_the_lock_file_was_removed(self):
        with harness.Daemon() as daemon:
            os.unlink(os.path.join(daemon.data_dir, "LOCK"))
            text = self.refused("serve", "--listen=127.0.0.1:0", "--data-dir=" + daemon.data_dir)
            self.assertIn("in use", text)
            daemon.client().get("/health/ready").expect(200)

    def test_data_dir_that_is_a_file(self):
        with harness.Daemon(start=False) as daemon:
            path = os.path.join(daemon.home, "file")
            with open(path, "w", encoding="utf-8"):
                pass
            self.assertIn(path, self.refused("serve", "--listen=127.0.0.1:0", "--data-dir", path))

    def test_open_address_without_a_key(self):
        for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0"):
            self.assertIn("api_key", self.refused("serve", "--listen", address))

    def test_open_address_with_a_key(self):
        with harness.Daemon(listen="0.0.0.0:0", key="secret-key", start=False) as daemon:
            daemon.start()
            daemon.host = "127.0.0.1"
            self.assertEqual(daemon.client(key="").get("/v1/spaces").status, 401)
            daemon.client().get("/v1/spaces").expect(200)
            self.assertNotIn("secret-key", daemon.log())

    def test_key_from_a_file(self):
        with harness.Daemon(start=False) as daemon:
            path = os.path.join(daemon.home, "key")
            with open(path, "w", encoding="utf-8") as file:
                file.write("from-a-file\n")
            daemon.env = {"HYPERMEM_API_KEY_FILE": path}
            daemon.start()
            self.assertEqual(daemon.client().get("/v1/spaces").status, 401)
            daemon.client(key="from-a-file").get("/v1/spaces").expect(200)

    def test_json_log(self):
        with harness.Daemon("--log-format=json", "--log-level=debug") as daemon:
            daemon.client().get("/version")
            wait_until(lambda: '"event":"request"' in daemon.log(), what="a logged request")
            for line in daemon.log().splitlines():
                json.loads(line)


class Configuration(unittest.TestCase):
    def test_unknown_names_are_refused_with_the_nearest(self):
        for args, env, near in (
                (("--data-dri=x",), None, "--data-dir"),
                (("--listn", "x"), None, "--listen"),
                ((), {"HYPERMEM_LISTNE": "x"}, "HYPERMEM_LISTEN"),
                ((), {"HYPERMEM_API_KEYFILE": "x"}, "HYPERMEM_API_KEY_FILE")):
            done = harness.run("serve", *args, env=env)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(near, done.stderr)
        done = harness.run("serv")
        self.assertEqual(done.returncode, 2)
        self.assertIn("serve", done.stderr)

    def test_precedence_and_sources(self):
        with harness.Daemon(start=False) as daemon:
            path = os.path.join(daemon.home, "hypermem.ini")
            with open(path, "w", encoding="utf-8") as file:
                file.write("[server]\nreaders = 3\nstage_workers = 3\nidle_timeout_s = 3\n")
            env = {"HYPERMEM_CONFIG": path, "HYPERMEM_READERS": "4",
                   "HYPERMEM_STAGE_WORKERS": "4", "HYPERMEM_API_KEY": "hush"}
            done = harness.run("config", "--readers", "5", env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"readers = 5 +; --readers")
            self.assertRegex(done.stdout, r"stage_workers = 4 +; HYPERMEM_STAGE_WORKERS")
            self.assertRegex(done.stdout, r"idle_timeout_s = 3 +; file .*hypermem\.ini")
            self.assertRegex(done.stdout, r"api_key = \*+ +; HYPERMEM_API_KEY")
            self.assertNotIn("hush", done.stdout + done.stderr)
            with open(path, "a", encoding="utf-8") as file:
                file.write("raeders = 3\n")
            done = harness.run("config", env=env)
            self.assertEqual(done.returncode, 2)
            self.assertIn("readers", done.stderr)

    def test_example_is_a_valid_file(self):
        text = harness.run("config", "--example").stdout
        with harness.Daemon(start=False) as daemon:
            path = os.path.join(daemon.home, "example.ini")
            lines = [line[1:] if line.startswith(";") and not line.startswith("; ") else line
                     for line in text.splitlines() if "_file" not in line]
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            done = harness.run("config", "--config", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("; default", done.stdout)

    def test_every_parameter_is_in_help_example_and_markdown(self):
        names = [line.split(" = ")[0] for line in harness.run("config").stdout.splitlines()
                 if " = " in line]
        self.assertGreater(len(names), 15)
        for command, form in ((("--help",), "--%s"), (("config", "--example"), ";%s ="),
                              (("config", "--markdown"), "`--%s`")):
            text = harness.run(*command).stdout
            for name in names:
                word = name if "=" in form else name.replace("_", "-")
                self.assertIn(form % word, text)

    def test_version(self):
        self.assertRegex(harness.run("version").stdout, r"^hypermemd \S+\n$")


class Health(unittest.TestCase):
    def test_health_of_a_running_and_a_stopped_daemon(self):
        with harness.Daemon() as daemon:
            address = "127.0.0.1:%d" % daemon.port
            done = harness.run("health", env={"HYPERMEM_LISTEN": address})
            self.assertEqual(done.returncode, 0, done.stderr)
            done = harness.run("health", "--listen", "0.0.0.0:%d" % daemon.port)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(daemon.stop(), 0)
            self.assertEqual(harness.run("health", "--listen", address).returncode, 1)

    def test_health_does_not_wait_for_ever(self):
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            begun = time.monotonic()
            done = harness.run("health", "--listen", "127.0.0.1:%d" % deaf.getsockname()[1])
            self.assertEqual(done.returncode, 1)
            self.assertLess(time.monotonic() - begun, 5 * harness.SLOW)

    def test_health_ignores_proxies(self):
        with harness.Daemon() as daemon:
            env = {"http_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1"}
            done = harness.run("health", "--listen", "127.0.0.1:%d" % daemon.port, env=env)
            self.assertEqual(done.returncode, 0, done.stderr)


class Removed(unittest.TestCase):
    def test_nothing_is_acknowledged_into_a_file_that_was_removed(self):
        with harness.Daemon() as daemon:
            client = daemon.client()
            client.post("/v1/spaces/a/turns", {"text": "I adopted a dog."}).expect(202)
            os.unlink(os.path.join(daemon.data_dir, "data.mdb"))
            reply = client.post("/v1/spaces/a/turns", {"text": "And a cat."})
            self.assertEqual((reply.status, reply.code), (503, "unavailable"), reply)
            client.get("/health/ready").expect(503)
            client.get("/v1/spaces/a/query", q="dog").expect(200)
            self.assertEqual(daemon.stop(), 0)


class Stop(harness.LoggedTest):
    def setUp(self):
        self.daemon = harness.Daemon("--shutdown-timeout-s=8", "--log-level=debug")
        self.daemons = (self.daemon,)
        self.addCleanup(self.daemon.close)

    def stop_within(self, seconds, number=signal.SIGTERM):
        begun = time.monotonic()
        self.daemon.signal(number)
        self.assertEqual(self.daemon.wait(), 0)
        self.assertLess(time.monotonic() - begun, seconds * harness.SLOW)

    def test_idle(self):
        self.stop_within(2)
        self.assertIn("event=stopped", self.daemon.log())

    def test_sigint(self):
        self.stop_within(2, signal.SIGINT)

    def test_idle_connections_do_not_hold_it(self):
        socks = [self.daemon.raw() for _ in range(50)]
        for sock in socks:
            sock.send(GET)
            self.assertEqual(sock.reply().status, 200)
        self.stop_within(2)
        for sock in socks:
            self.assertTrue(sock.is_closed())
            sock.close()

    def test_a_waiting_request_is_answered(self):
        client = self.daemon.client()
        client.put("/v1/spaces/wait").expect(200, 201)
        statuses = []

        def post():
            reply = self.daemon.client().post("/v1/spaces/wait/turns", {"text": "one more"},
                                              wait=True, timeout_ms=60000)
            statuses.append(reply.status)
        threads = [threading.Thread(target=post) for _ in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: client.get("/v1/spaces/wait").data["counts"]["turns"] == 8,
                   what="eight turns")
        self.stop_within(7)
        for thread in threads:
            thread.join(20 * harness.SLOW)
        self.assertEqual(len(statuses), 8)
        self.assertTrue(set(statuses) <= {200, 202, 503}, statuses)

    def test_requests_in_flight_are_answered_and_kept(self):
        stop = threading.Event()
        taken = []

        def post(number):
            client = self.daemon.client()
            while not stop.is_set():
                try:
                    reply = client.post("/v1/spaces/busy/turns", {"text": "turn"})
                except OSError:
                    return
                if reply.status == 202:
                    taken.append(reply.data["turns"][0]["n"])
        threads = [threading.Thread(target=post, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(taken) > 200, what="200 turns")
        self.stop_within(7)
        stop.set()
        for thread in threads:
            thread.join(20 * harness.SLOW)
        self.daemon.start()
        counts = self.daemon.client().get("/v1/spaces/busy").expect(200)["counts"]
        self.assertGreaterEqual(counts["turns"], len(taken))
        self.assertEqual(len(set(taken)), len(taken))

    def test_unfinished_request_gets_503_after_the_grace(self):
        with self.daemon.raw() as sock:
            sock.send("POST /v1/spaces/x/turns HTTP/1.1\r\n%s\r\nContent-Type: application/json"
                      "\r\nContent-Length: 100\r\n\r\n{" % HOST)
            self.daemon.client().get("/version").expect(200)
            self.stop_within(7)
            self.assertEqual(sock.reply().status, 503)
            self.assertTrue(sock.is_closed())

    def test_second_signal_hastens(self):
        with self.daemon.raw() as sock:
            sock.send("POST /v1/spaces/x/turns HTTP/1.1\r\n%s\r\nContent-Type: application/json"
                      "\r\nContent-Length: 100\r\n\r\n{" % HOST)
            self.daemon.client().get("/version").expect(200)
            self.daemon.signal()
            wait_until(lambda: "event=stopping" in self.daemon.log(), what="the stop")
            self.stop_within(2)

    def test_nothing_is_accepted_any_more(self):
        with self.daemon.raw() as sock:
            sock.send("POST /v1/spaces/x/turns HTTP/1.1\r\n%s\r\nContent-Length: 9\r\n" % HOST)
            self.daemon.client().get("/version").expect(200)
            self.daemon.signal()
            wait_until(lambda: "event=stopping" in self.daemon.log(), what="the stop")
            with self.assertRaises(OSError):
                self.daemon.raw().reply()
            self.daemon.signal()
            self.assertEqual(self.daemon.wait(), 0)

    def test_again_on_the_same_directory(self):
        for number in range(5):
            client = self.daemon.client()
            client.post("/v1/spaces/again/turns", {"text": "start %d" % number}).expect(202)
            client.close()
            self.daemon.restart()
        counts = self.daemon.client().get("/v1/spaces/again").expect(200)["counts"]
        self.assertEqual(counts["turns"], 5)


class Timers(harness.DaemonTest):
    OPTIONS = ("--idle-close-s=1",)

    def test_an_idle_episode_closes_by_itself(self):
        self.client.post("/v1/spaces/rest/turns", {"text": "I bought a red bicycle."}).expect(202)
        path = "/v1/spaces/rest"
        wait_until(lambda: self.client.get(path).data["counts"]["episodes"] == 1, 15,
                   "an episode closed by time")
        self.assertEqual(self.client.get(path).data["open_turns"], 0)


class Idle(harness.DaemonTest):
    def test_idle_cpu_is_near_zero(self):
        self.client.post("/v1/spaces/idle/turns", {"text": "then nothing"}).expect(202)
        socks = [self.daemon.raw() for _ in range(50)]
        for sock in socks:
            sock.send(GET)
            self.assertEqual(sock.reply().status, 200)
        wait_until(lambda: self.client.get("/v1/spaces/idle").data["pending_turns"] == 0,
                   what="the stages")
        before = self.spent()
        threading.Event().wait(3)
        after = self.spent()
        # 3 s of nothing: nothing spins (that would be 3 s), nothing is woken again and again. A
        # single wake-up costs anything up to 0.1 s where the machine is busy.
        self.assertLess(after[0] - before[0], 1)
        self.assertLess(after[1] - before[1], 40)
        for sock in socks:
            sock.close()

    def spent(self):
        """CPU seconds and voluntary context switches of all its threads."""
        base = "/proc/%d/task" % self.daemon.pid
        ticks = switches = 0
        for task in os.listdir(base):
            with open("%s/%s/stat" % (base, task), encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
            with open("%s/%s/status" % (base, task), encoding="utf-8") as file:
                for line in file:
                    if line.startswith("voluntary_ctxt_switches"):
                        switches += int(line.split()[1])
        return ticks / os.sysconf("SC_CLK_TCK"), switches


def setUpModule():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard) if hard > 0 else 4096, hard))


if __name__ == "__main__":
    unittest.main()
