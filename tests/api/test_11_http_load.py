"""Many connections at once: none stalls, and what is too much is told so without hurting others."""
import json
import resource
import select
import threading
import time
import unittest

import harness
from harness import Raw, wait_until

# A file of its own beside it: this machine's two cores are the whole test bed.
ALONE = True
GET = b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def setUpModule():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = 8192 if hard == resource.RLIM_INFINITY else min(8192, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, want), hard))


class Crowd:
    """Connections that are driven together, with one poll."""

    def __init__(self, daemon, n):
        self.socks = []
        self.by_fd = {}
        self.poll = select.poll()
        for _ in range(n):
            self.add(Raw(daemon.port, daemon.host))

    def add(self, sock):
        sock.sock.setblocking(False)
        self.socks.append(sock)
        self.by_fd[sock.sock.fileno()] = sock
        self.poll.register(sock.sock, select.POLLIN)

    def close(self):
        for sock in self.socks:
            sock.close()

    def send(self, data):
        for sock in self.socks:
            sock.sock.send(data)

    def gather(self, seconds):
        """Reads until each connection has its first reply or was closed: statuses, 0 = closed."""
        deadline = time.monotonic() + seconds * harness.SLOW
        statuses = {}
        while len(statuses) < len(self.socks) and time.monotonic() < deadline:
            for fd, _ in self.poll.poll(100):
                sock = self.by_fd[fd]
                try:
                    got = sock.sock.recv(65536)
                except BlockingIOError:
                    continue
                except ConnectionResetError:
                    got = b""
                sock.have += got
                if b"\r\n\r\n" in sock.have:
                    statuses[fd] = int(sock.have.split(b" ", 2)[1])
                elif not got:
                    statuses[fd] = 0
                if not got:
                    self.poll.unregister(fd)
        return [statuses.get(sock.sock.fileno()) for sock in self.socks]


class Ready(harness.DaemonTest):
    OPTIONS = ("--max-connections=1100",)

    def check(self, n):
        crowd = Crowd(self.daemon, n)
        try:
            for _ in range(3):
                crowd.send(GET)
                self.assertEqual(crowd.gather(20).count(200), n)
                for sock in crowd.socks:
                    sock.have = b""
        finally:
            crowd.close()

    def test_128_ready_connections(self):
        self.check(128)

    def test_256_ready_connections(self):
        self.check(256)

    def test_1000_ready_connections(self):
        self.check(1000)

    def test_1000_connections_with_a_step_each(self):
        self.client.put("/v1/spaces/crowd").expect(200, 201)
        crowd = Crowd(self.daemon, 1000)
        try:
            crowd.send(b"GET /v1/spaces/crowd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self.assertEqual(crowd.gather(30).count(200), 1000)
        finally:
            crowd.close()

    def test_1000_durable_writes_at_once(self):
        self.client.put("/v1/spaces/writes").expect(200, 201)
        body = json.dumps({"text": "one of a thousand"}).encode()
        head = ("POST /v1/spaces/writes/turns HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        crowd = Crowd(self.daemon, 1000)
        try:
            crowd.send(head.encode() + body)
            self.assertEqual(crowd.gather(30).count(202), 1000)
        finally:
            crowd.close()
        self.assertEqual(self.client.get("/v1/spaces/writes").data["counts"]["turns"], 1000)


class TooMany(harness.DaemonTest):
    OPTIONS = ("--max-connections=1024", "--request-timeout-s=5")

    def test_2000_connections(self):
        crowd = Crowd(self.daemon, 2000)
        try:
            crowd.send(GET)
            statuses = crowd.gather(40)
        finally:
            crowd.close()
        self.assertTrue(set(statuses) <= {200, 503}, sorted(set(statuses), key=str))
        self.assertGreaterEqual(statuses.count(200), 1000)

    def test_idle_ones_make_room(self):
        idle = Crowd(self.daemon, 1024)
        try:
            idle.send(GET)
            self.assertEqual(idle.gather(20).count(200), 1024)
            served = []

            def ask():
                with harness.Client(self.daemon.port) as client:
                    served.append(client.get("/version").status)
                return served.count(200) >= 20
            wait_until(ask, 20, "room for new connections")
            self.assertTrue(set(served) <= {200, 503}, served)
        finally:
            idle.close()

    def test_silent_crowd_hurts_nobody_for_long(self):
        silent = Crowd(self.daemon, 1500)
        try:
            def ask():
                with harness.Client(self.daemon.port) as client:
                    return client.get("/version").status == 200
            wait_until(ask, 30, "an answer beside 1,500 silent connections")
        finally:
            silent.close()


class FewDescriptors(unittest.TestCase):
    def test_connections_stay_below_the_descriptor_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertGreater(before[0], 600)
        with harness.Daemon("--max-connections=4096", start=False) as daemon:
            daemon.preexec = limit
            daemon.start()
            self.assertIn("connections_limited", daemon.log())
            crowd = Crowd(daemon, 400)
            try:
                crowd.send(GET)
                statuses = crowd.gather(30)
            finally:
                crowd.close()
            self.assertTrue(set(statuses) <= {200, 503}, sorted(set(statuses), key=str))
            daemon.client().put("/v1/spaces/still").expect(200, 201)
            self.assertEqual(daemon.stop(), 0)


class Parallel(harness.DaemonTest):
    def test_clients_in_threads(self):
        errors = []

        def work(number):
            try:
                with harness.Client(self.daemon.port) as client:
                    for i in range(40):
                        client.post("/v1/spaces/p%d/turns" % (number % 4),
                                    {"text": "turn %d of %d" % (i, number)}).expect(202)
                        client.get("/v1/spaces/p%d" % (number % 4)).expect(200)
            except Exception as error:  # shown below, in the test's own thread
                errors.append(repr(error))
        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        turns = sum(self.client.get("/v1/spaces/p%d" % i).data["counts"]["turns"]
                    for i in range(4))
        self.assertEqual(turns, 640)


if __name__ == "__main__":
    unittest.main()
