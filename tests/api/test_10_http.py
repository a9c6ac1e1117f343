"""HTTP itself: framing, methods, limits, keep-alive, what two readers could take differently."""
import json
import re
import socket
import unittest

import harness
from harness import Raw, wait_until

HOST = "Host: 127.0.0.1"
MIB = 1 << 20


def request(line, *headers, body=b""):
    """A request as bytes; header lines and body are sent as they are given."""
    lines = [line if isinstance(line, bytes) else line.encode("utf-8")]
    lines += [head if isinstance(head, bytes) else head.encode("utf-8") for head in headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(*pieces):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


class Http(harness.DaemonTest):
    def exchange(self, data, head=False):
        """One request on a connection of its own: the reply, and whether the server closed."""
        with self.daemon.raw() as sock:
            sock.send(data)
            reply = sock.reply(head)
            return reply, reply.header("Connection", "").lower() == "close" and sock.is_closed()

    def assert_alive(self):
        self.client.get("/health/live").expect(200)


class Basics(Http):
    def test_json_and_type(self):
        reply = self.client.get("/version")
        self.assertEqual(reply.header("Content-Type"), "application/json")
        self.assertIn("version", reply.expect(200))

    def test_put_and_get_a_space(self):
        self.client.put("/v1/spaces/basics").expect(200, 201)
        self.assertEqual(self.client.get("/v1/spaces/basics").expect(200)["seq"], 1)

    def test_get_creates_nothing(self):
        self.assert_refused(self.client.get("/v1/spaces/never"), 404, "not_found")

    def test_unknown_path(self):
        self.assert_refused(self.client.get("/nowhere"), 404, "not_found")

    def test_keep_alive(self):
        with self.daemon.raw() as sock:
            for _ in range(50):
                sock.send(request("GET /version HTTP/1.1", HOST))
                self.assertEqual(sock.reply().status, 200)

    def test_connection_close_is_honoured(self):
        reply, closed = self.exchange(request("GET /version HTTP/1.1", HOST, "Connection: close"))
        self.assertEqual(reply.status, 200)
        self.assertTrue(closed)

    def test_http_1_0(self):
        with self.daemon.raw() as sock:
            sock.send(request("GET /version HTTP/1.0", HOST))
            self.assertEqual(sock.reply().status, 200)
            self.assertTrue(sock.is_closed())

    def test_byte_by_byte(self):
        body = json.dumps({"text": "one byte at a time"}).encode()
        data = request("POST /v1/spaces/bytes/turns HTTP/1.1", HOST,
                       "Content-Type: application/json", "Content-Length: %d" % len(body),
                       body=body)
        with self.daemon.raw() as sock:
            for i in range(len(data)):
                sock.send(data[i:i + 1])
            self.assertEqual(sock.reply().status, 202)

    def test_chunked_body(self):
        body = json.dumps({"text": "in pieces"}).encode()
        with self.daemon.raw() as sock:
            sock.send(request("POST /v1/spaces/chunks/turns HTTP/1.1", HOST,
                              "Content-Type: application/json", "Transfer-Encoding: chunked",
                              body=chunked(body[:3], body[3:4], body[4:])))
            self.assertEqual(sock.reply().status, 202)
            sock.send(request("GET /version HTTP/1.1", HOST))
            self.assertEqual(sock.reply().status, 200)

    def test_request_id_is_echoed_or_made(self):
        reply = self.client.call("GET", "/version", headers={"X-Request-ID": "abc-123"})
        self.assertEqual(reply.header("X-Request-ID"), "abc-123")
        made = {self.client.get("/version").header("X-Request-ID") for _ in range(10)}
        self.assertEqual(len(made), 10)
        self.assertNotIn("", made)

    def test_request_id_in_an_error(self):
        reply = self.client.call("GET", "/nowhere", headers={"X-Request-ID": "e-1"})
        self.assertEqual(reply.data["request_id"], "e-1")

    def test_unfit_request_id_is_replaced(self):
        for bad in ("x" * 200, "two words", "\u00e9"):
            reply = self.client.call("GET", "/version", headers={"X-Request-ID": bad})
            self.assertRegex(reply.header("X-Request-ID"), r"^[!-~]{1,128}$")
            self.assertNotEqual(reply.header("X-Request-ID"), bad)

    def test_gzip_body_is_refused(self):
        reply = self.client.call("POST", "/v1/spaces/gzip/turns", b"\x1f\x8b\x08\x00",
                                 headers={"Content-Encoding": "gzip"})
        self.assert_refused(reply, 415, "unsupported_media_type")
        self.assert_alive()

    def test_form_body_is_refused(self):
        reply = self.client.call("POST", "/v1/spaces/form/turns", b"text=x",
                                 headers={"Content-Type": "application/x-www-form-urlencoded"})
        self.assert_refused(reply, 415, "unsupported_media_type")

    def test_refused_body_leaves_the_connection_usable(self):
        with self.daemon.raw() as sock:
            sock.send(request("POST /nowhere HTTP/1.1", HOST, "Content-Type: application/json",
                              "Content-Length: 100000", body=b"x" * 100000))
            self.assertEqual(sock.reply().status, 404)
            sock.send(request("GET /version HTTP/1.1", HOST))
            self.assertEqual(sock.reply().status, 200)


class Methods(Http):
    def test_head_is_get_without_a_body(self):
        self.client.put("/v1/spaces/heads").expect(200, 201)
        for path in ("/version", "/v1/spaces/heads", "/nowhere"):
            got = self.client.get(path)
            with self.daemon.raw() as sock:
                sock.send(request("HEAD %s HTTP/1.1" % path, HOST))
                head = sock.reply(head=True)
                self.assertEqual(head.status, got.status)
                self.assertEqual(head.header("Content-Type"), got.header("Content-Type"))
                self.assertGreater(int(head.header("Content-Length")), 0)
                sock.send(request("GET /version HTTP/1.1", HOST))
                self.assertEqual(sock.reply().status, 200, "a body followed HEAD %s" % path)

    def test_options_tells_methods_and_no_cors(self):
        for path, wanted in (("/version", "GET"), ("/v1/spaces/x", "PUT"),
                             ("/v1/spaces/x/turns", "POST"), ("*", "GET")):
            reply, _ = self.exchange(request("OPTIONS %s HTTP/1.1" % path, HOST))
            self.assertIn(reply.status, (200, 204))
            self.assertIn(wanted, reply.header("Allow"))
            self.assertFalse([name for name in reply.headers if name.startswith("access-control")])

    def test_a_preflight_is_not_granted(self):
        reply, _ = self.exchange(request(
            "OPTIONS /v1/spaces/x/turns HTTP/1.1", HOST, "Origin: http://evil.example",
            "Access-Control-Request-Method: POST"))
        self.assertFalse([name for name in reply.headers if name.startswith("access-control")])

    def test_known_but_unsupported_is_405_with_allow(self):
        for method, path in (("DELETE", "/version"), ("POST", "/health/live"),
                             ("PATCH", "/v1/spaces"), ("TRACE", "/version")):
            reply, _ = self.exchange(request("%s %s HTTP/1.1" % (method, path), HOST))
            self.assert_refused(reply, 405, "method_not_allowed")
            self.assertIn("GET", reply.header("Allow"))

    def test_unknown_is_501(self):
        for method in ("FETCH", "get", "PROPFIND", "GETGET"):
            reply, _ = self.exchange(request("%s /version HTTP/1.1" % method, HOST))
            self.assert_refused(reply, 501, "unimplemented")


class Pipelining(Http):
    def test_replies_come_in_order(self):
        self.client.put("/v1/spaces/pipe").expect(200, 201)
        body = json.dumps({"text": "piped"}).encode()
        post = request("POST /v1/spaces/pipe/turns HTTP/1.1", HOST,
                       "Content-Type: application/json", "Content-Length: %d" % len(body),
                       body=body)
        with self.daemon.raw() as sock:
            sock.send((request("GET /version HTTP/1.1", HOST) + post +
                       request("GET /v1/spaces/pipe HTTP/1.1", HOST) +
                       request("GET /nowhere HTTP/1.1", HOST) + post) * 20)
            for _ in range(20):
                self.assertIn("version", sock.reply().data)
                self.assertEqual(sock.reply().status, 202)
                self.assertEqual(sock.reply().data["name"], "pipe")
                self.assertEqual(sock.reply().status, 404)
                self.assertEqual(sock.reply().status, 202)
        self.assertEqual(self.client.get("/v1/spaces/pipe").data["counts"]["turns"], 40)


class Limits(Http):
    def test_large_length_is_refused_before_the_upload(self):
        with self.daemon.raw() as sock:
            sock.send(request("POST /v1/spaces/big/turns HTTP/1.1", HOST,
                              "Content-Type: application/json",
                              "Content-Length: %d" % (10 * MIB)))
            reply = sock.reply()
            self.assert_refused(reply, 413, "payload_too_large")
            self.assertEqual(reply.header("Connection"), "close")
            self.assertTrue(sock.is_closed())
        self.assert_refused(self.client.get("/v1/spaces/big"), 404)

    def test_a_client_that_sends_it_all_the_same_sees_the_reply(self):
        reply = self.client.call("POST", "/v1/spaces/big/turns", b"x" * (10 * MIB))
        self.assert_refused(reply, 413, "payload_too_large", "body")
        self.assert_alive()

    def test_chunked_body_that_runs_over(self):
        piece = b"%x\r\n%s\r\n" % (MIB, b"x" * MIB)
        with self.daemon.raw() as sock:
            sock.send(request("POST /v1/spaces/big/turns HTTP/1.1", HOST,
                              "Content-Type: application/json", "Transfer-Encoding: chunked"))
            for _ in range(5):
                sock.send(piece)
            reply = sock.reply()
            self.assert_refused(reply, 413, "payload_too_large")
            self.assertTrue(sock.is_closed())

    def test_an_endless_upload_is_cut(self):
        piece = b"%x\r\n%s\r\n" % (MIB, b"x" * MIB)
        with self.daemon.raw() as sock:
            sock.send(request("POST /v1/spaces/big/turns HTTP/1.1", HOST,
                              "Content-Type: application/json", "Transfer-Encoding: chunked"))
            with self.assertRaises(OSError):
                for _ in range(400):
                    sock.send(piece)
        self.assert_alive()

    def test_body_of_exactly_the_limit_is_read(self):
        space = b'{"text":"' + b"x" * 100 + b'","filler":"'
        body = space + b"y" * (4 * MIB - len(space) - 2) + b'"}'
        self.assertEqual(len(body), 4 * MIB)
        reply = self.client.call("POST", "/v1/spaces/edge/turns", body)
        self.assertEqual(reply.status, 400, reply)
        self.assert_refused(self.client.call("POST", "/v1/spaces/edge/turns", body + b" "), 413)

    def test_expect_continue(self):
        body = json.dumps({"text": "waits for 100"}).encode()
        with self.daemon.raw() as sock:
            sock.send(request("POST /v1/spaces/expect/turns HTTP/1.1", HOST,
                              "Content-Type: application/json", "Expect: 100-continue",
                              "Content-Length: %d" % len(body)))
            self.assertEqual(sock.reply().status, 100)
            sock.send(body)
            self.assertEqual(sock.reply().status, 202)

    def test_expect_continue_is_refused_without_100(self):
        with self.daemon.raw() as sock:
            sock.send(request("POST /v1/spaces/expect/turns HTTP/1.1", HOST,
                              "Content-Type: application/json", "Expect: 100-continue",
                              "Content-Length: %d" % (10 * MIB)))
            self.assert_refused(sock.reply(), 413, "payload_too_large")
            self.assertTrue(sock.is_closed())

    def test_head_of_a_request_is_limited(self):
        for data in (request("GET /version?%s HTTP/1.1" % ("x" * 100000), HOST),
                     request("GET /version HTTP/1.1", HOST, "X-Long: " + "x" * 100000)):
            with self.daemon.raw() as sock:
                sock.send(data)
                self.assertIn(sock.reply().status, (400, 413, 414, 431))
        self.assert_alive()

    def test_more_parameters_than_the_pool_holds(self):
        """libmicrohttpd gives up behind the request line and tells nobody of the end."""
        for n in (255, 256, 450, 480, 500, 600, 1000, 3000, 5000):
            for path in ("/version", "/v1/spaces/a/query"):
                with self.daemon.raw() as sock:
                    sock.send(request("GET %s?q=a%s HTTP/1.1" % (path, "&a=b" * n), HOST))
                    self.assertEqual(sock.reply().status, 400)
                self.assert_alive()

    def test_a_head_of_20_kib_is_fine(self):
        headers = ["X-Filler-%d: %s" % (i, "y" * 290) for i in range(66)]
        reply, _ = self.exchange(request("GET /version HTTP/1.1", HOST, *headers))
        self.assertEqual(reply.status, 200, reply)


def smuggling():
    """Requests that two readers could take differently: each is refused and the connection ends.
    The GET behind each must never be answered."""
    json_type = "Content-Type: application/json"
    body = b'{"text":"smuggled"}'
    length = "Content-Length: %d" % len(body)
    post = "POST /v1/spaces/smuggled/turns HTTP/1.1"
    get = "GET /version HTTP/1.1"
    yield "two lengths", request(post, HOST, json_type, length, length, body=body)
    yield "two different lengths", request(post, HOST, json_type, length, "Content-Length: 3",
                                           body=body)
    yield "a list of lengths", request(post, HOST, json_type, length + ", 19", body=body)
    yield "length with a plus", request(post, HOST, json_type, "Content-Length: +19", body=body)
    yield "negative length", request(post, HOST, json_type, "Content-Length: -1", body=body)
    yield "hexadecimal length", request(post, HOST, json_type, "Content-Length: 0x13", body=body)
    yield "huge length", request(post, HOST, json_type, "Content-Length: " + "9" * 30, body=body)
    yield "empty length", request(post, HOST, json_type, "Content-Length: ", body=body)
    yield "length and chunked", request(post, HOST, json_type, length,
                                        "Transfer-Encoding: chunked", body=chunked(body))
    yield "chunked and length", request(post, HOST, json_type, "Transfer-Encoding: chunked",
                                        length, body=chunked(body))
    for coding in ("gzip", "identity", "gzip, chunked", "chunked, chunked", "xchunked",
                   "chunked;q=1", "\x0bchunked", "chunked\x00", ""):
        yield "coding %r" % coding, request(post, HOST, json_type,
                                            "Transfer-Encoding: " + coding, body=chunked(body))
    yield "two codings", request(post, HOST, json_type, "Transfer-Encoding: chunked",
                                 "Transfer-Encoding: chunked", body=chunked(body))
    yield "chunked in 1.0", request(post.replace("1.1", "1.0"), HOST, json_type,
                                    "Transfer-Encoding: chunked", body=chunked(body))
    yield "no host", request(get)
    yield "two hosts", request(get, HOST, HOST)
    yield "two different hosts", request(get, HOST, "Host: evil.example")
    yield "space before the colon", request(post, HOST, json_type, "Content-Length : 19",
                                            body=body)
    yield "tab before the colon", request(post, HOST, json_type, "Transfer-Encoding\t: chunked",
                                          body=chunked(body))
    yield "space before a name", request(post, HOST, json_type, " Content-Length: 19", body=body)
    yield "folded line", request(get, HOST, "X-Folded: a", " b")
    yield "NUL in a name", request(get, HOST, "X-N\x00l: a")
    yield "NUL in a value", request(get, HOST, "X-Nul: a\x00b")
    yield "two NULs in a value", request(get, HOST, "X-Nul: a\x00\x00b")
    yield "NUL in the host", request(get, "Host: 127.0.0.1\x00.evil.example")
    yield "control byte in a value", request(get, HOST, "X-Bell: a\x07b")
    yield "bare CR in a value", request(get, HOST, "X-CR: a\rb")
    yield "bare LF", request(get, HOST, "X-LF: a\nX-Next: b")
    yield "no colon", request(get, HOST, "no colon here")
    yield "empty name", request(get, HOST, ": value")
    yield "odd name", request(get, HOST, "X(Y): value")
    yield "two types", request(post, HOST, json_type, "Content-Type: text/plain", length,
                               body=body)


def targets():
    """Targets that are refused with 400 or the like."""
    yield "NUL", b"/v1/spaces/nul\x00x"
    yield "NUL that mimics the end", b"/v1/spaces/nul\x00HTTP/1.1\x00"
    yield "control byte", b"/v1/spaces/a\x01b"
    yield "DEL", b"/v1/spaces/a\x7fb"
    yield "raw UTF-8", b"/v1/spaces/\xc3\xa9"
    yield "space", b"/v1/spaces/a b"
    yield "tab", b"/v1/spaces/a\tb"
    yield "fragment", b"/v1/spaces/a#b"
    yield "no slash", b"version"
    yield "star", b"*"
    yield "foreign host", b"http://evil.example/version"
    yield "foreign port", b"http://127.0.0.1:1/version"
    yield "user before the host", b"http://127.0.0.1@evil.example/version"
    yield "other scheme", b"ftp://127.0.0.1/version"
    yield "escaped NUL", b"/v1/spaces/a%00b"
    yield "bad escape", b"/v1/spaces/a%zzb"
    yield "cut escape", b"/v1/spaces/a%2"
    yield "escaped slash", b"/v1/spaces/a%2Fb"
    yield "dot", b"/v1/spaces/."
    yield "dots", b"/v1/spaces/.."


class Smuggling(Http):
    def test_shapes(self):
        marker = request("GET /v1/spaces/marker HTTP/1.1", HOST)
        for name, data in smuggling():
            with self.subTest(name), self.daemon.raw() as sock:
                sock.send(data + marker)
                got = b""
                while sock.more():
                    pass
                got = sock.have
                statuses = {int(code) for code in re.findall(rb"HTTP/1\.[01] (\d+) ", got)}
                # libmicrohttpd writes the head of its own refusals twice; never two answers.
                self.assertLessEqual(len(statuses), 1, got)
                self.assertTrue(all(400 <= status < 500 for status in statuses), got)
                self.assertNotIn(b"marker", got)
        self.assert_refused(self.client.get("/v1/spaces/smuggled"), 404)
        self.assert_alive()

    def test_most_shapes_get_a_reply(self):
        silent = []
        for name, data in smuggling():
            with self.daemon.raw() as sock:
                sock.send(data)
                try:
                    sock.reply()
                except EOFError:
                    silent.append(name)
        self.assertEqual(silent, [])

    def test_targets(self):
        for name, target in targets():
            with self.subTest(name), self.daemon.raw() as sock:
                sock.send(request(b"GET " + target + b" HTTP/1.1", HOST))
                reply = sock.reply()
                self.assertEqual(reply.status, 400, reply)
        listed = self.client.get("/v1/spaces").expect(200)["spaces"]
        self.assertFalse([space for space in listed if "nul" in space["name"]])

    def test_puts_of_bad_targets_make_nothing(self):
        for name, target in targets():
            with self.subTest(name), self.daemon.raw() as sock:
                sock.send(request(b"PUT " + target + b" HTTP/1.1", HOST,
                                  "Content-Type: application/json", "Content-Length: 2",
                                  body=b"{}"))
                self.assertIn(sock.reply().status, (400, 405))
        self.assertEqual([space["name"] for space in
                          self.client.get("/v1/spaces").expect(200)["spaces"]], [])

    def test_absolute_target_of_this_host(self):
        for target in ("http://127.0.0.1/version", "HTTP://127.0.0.1/version?"):
            reply, _ = self.exchange(request("GET %s HTTP/1.1" % target, HOST))
            self.assertEqual(reply.status, 200, reply)

    def test_foreign_host_and_origin(self):
        reply, _ = self.exchange(request("GET /v1/spaces HTTP/1.1", "Host: evil.example"))
        self.assert_refused(reply, 403, "permission_denied")
        reply, _ = self.exchange(request("GET /v1/spaces HTTP/1.1", HOST,
                                         "Origin: http://evil.example"))
        self.assert_refused(reply, 403, "permission_denied")


class Slow(Http):
    OPTIONS = ("--request-timeout-s=1", "--idle-timeout-s=2")

    def dribble(self, first, piece):
        """Sends `piece` again and again until the server has had enough: its status, 0: none."""
        with self.daemon.raw() as sock:
            sock.send(first)
            sock.sock.settimeout(0.05)

            def ended():
                try:
                    sock.send(piece)
                except OSError:
                    return True
                try:
                    return not sock.more()
                except socket.timeout:
                    return False
            wait_until(ended, 8, "the end of a slow request")
            found = re.match(rb"HTTP/1\.1 (\d+) ", sock.have)
            return int(found.group(1)) if found else 0

    def test_slow_request_line(self):
        self.assertIn(self.dribble(b"GET /ver", b"s"), (0, 408))

    def test_slow_headers(self):
        first = b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
        self.assertEqual(self.dribble(first, b"s"), 408)

    def test_slow_body(self):
        first = request("POST /v1/spaces/slow/turns HTTP/1.1", HOST,
                        "Content-Type: application/json", "Content-Length: 100000",
                        body=b'{"text":"')
        self.assertEqual(self.dribble(first, b"s"), 408)
        self.assert_refused(self.client.get("/v1/spaces/slow"), 404)

    def test_slow_chunks(self):
        first = request("POST /v1/spaces/slow/turns HTTP/1.1", HOST,
                        "Content-Type: application/json", "Transfer-Encoding: chunked")
        self.assertEqual(self.dribble(first, b"1\r\nx\r\n"), 408)

    def test_silent_connection(self):
        with self.daemon.raw() as sock:
            self.assertFalse(wait_until(lambda: not sock.more(), 8, "the close") is False)

    def test_idle_connection_is_closed(self):
        with self.daemon.raw() as sock:
            sock.send(request("GET /version HTTP/1.1", HOST))
            self.assertEqual(sock.reply().status, 200)
            self.assertTrue(sock.is_closed())

    def test_slow_second_request(self):
        first = (request("GET /version HTTP/1.1", HOST) +
                 b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        with self.daemon.raw() as sock:
            sock.send(first)
            self.assertEqual(sock.reply().status, 200)
            self.assertEqual(sock.reply().status, 408)

    def test_slow_ones_hurt_nobody(self):
        slow = [self.daemon.raw() for _ in range(100)]
        try:
            for sock in slow:
                sock.send(b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            for _ in range(50):
                self.client.get("/version").expect(200)
        finally:
            for sock in slow:
                sock.close()

    def test_a_wait_may_take_longer_than_the_request_timeout(self):
        self.client.put("/v1/spaces/long").expect(200, 201)
        reply = self.client.post("/v1/spaces/long/turns", {"text": "something"},
                                 wait=True, timeout_ms=1500)
        self.assertIn(reply.status, (200, 202), reply)


class LeavingEarly(Http):
    def aborted(self):
        text = self.client.get("/metrics").text
        return int(re.search(r"^hypermem_http_aborted_total (\d+)$", text, re.M).group(1))

    def test_during_the_body(self):
        before = self.aborted()
        for _ in range(20):
            with self.daemon.raw() as sock:
                sock.send(request("POST /v1/spaces/leaver/turns HTTP/1.1", HOST,
                                  "Content-Type: application/json", "Content-Length: 1000",
                                  body=b'{"text":"'))
        wait_until(lambda: self.aborted() >= before + 20, what="20 aborted requests")

    def test_while_a_worker_has_it(self):
        body = json.dumps({"text": "gone before the answer"}).encode()
        self.client.put("/v1/spaces/gone").expect(200, 201)
        for _ in range(200):
            with self.daemon.raw() as sock:
                sock.send(request("POST /v1/spaces/gone/turns?wait=true&timeout_ms=200 HTTP/1.1",
                                  HOST, "Content-Type: application/json",
                                  "Content-Length: %d" % len(body), body=body))
        # What was sent whole is stored, whether somebody hears the answer or not.
        wait_until(lambda: self.client.get("/v1/spaces/gone").data["counts"]["turns"] == 200,
                   what="200 turns")

    def test_reset_connections(self):
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        for _ in range(100):
            with self.daemon.raw() as sock:
                sock.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                sock.send(request("GET /v1/spaces HTTP/1.1", HOST))
        self.assert_alive()

    def test_half_closed_client_gets_its_reply(self):
        with self.daemon.raw() as sock:
            sock.send(request("GET /version HTTP/1.1", HOST))
            sock.sock.shutdown(socket.SHUT_WR)
            self.assertEqual(sock.reply().status, 200)
            self.assertTrue(sock.is_closed())


class Ipv6(unittest.TestCase):
    @unittest.skipUnless(socket.has_ipv6, "no IPv6 here")
    def test_listen_on_ipv6_loopback(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 loopback here")
        with harness.Daemon(listen="[::1]:0") as daemon:
            self.assertEqual(daemon.host, "::1")
            with Raw(daemon.port, "::1") as sock:
                sock.send(request("GET /version HTTP/1.1", "Host: [::1]:%d" % daemon.port))
                self.assertEqual(sock.reply().status, 200)
            self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
