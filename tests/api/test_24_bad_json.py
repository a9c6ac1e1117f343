"""Bodies that are no JSON, or not ours: refused with a name, nothing stored, connection usable."""
import harness

TURNS = "/v1/spaces/j/turns"

# What the bytes are, and the parameter that the refusal names.
BODIES = (
    (b"", "body"), (b" \r\n\t", "body"), (b"{", "body"), (b'{"text":"x"', "body"),
    (b'{"text":"x', "body"), (b'{"text":"x\\', "body"), (b'{"text":"x\\u12', "body"),
    (b'{"text":"x"}}', "body"), (b'{"text":"x"}{"text":"y"}', "body"), (b'{"text":"x"} ,', "body"),
    (b'{"text":"x",}', "body"), (b"{'text':'x'}", "body"), (b'{text:"x"}', "body"),
    (b'{"text":"x"/*c*/}', "body"), (b"\xef\xbb\xbf{\"text\":\"x\"}", "body"), (b"nope", "body"),
    (b"null", "body"), (b"true", "body"), (b"5", "body"), (b'"x"', "body"), (b"[]", "body"),
    (b'[{"text":"x"}]', "body"), (b"\x00", "body"), (b'{"text":"x"}\x00', "body"),
    # the same key twice, at any depth
    (b'{"text":"x","text":"x"}', "body"), (b'{"turns":[{"text":"x","id":"a","id":"b"}]}', "body"),
    (b'{"text":"x","metadata":{"a":{"b":1,"b":2}}}', "body"),
    # numbers
    (b'{"text":"x","metadata":{"n":1e400}}', "body"),
    (b'{"text":"x","metadata":{"n":-1e400}}', "body"),
    (b'{"text":"x","metadata":{"n":123456789012345678901234567890}}', "body"),
    (b'{"text":"x","metadata":{"n":NaN}}', "body"),
    (b'{"text":"x","metadata":{"n":Infinity}}', "body"),
    (b'{"text":"x","metadata":{"n":01}}', "body"), (b'{"text":"x","metadata":{"n":1.}}', "body"),
    (b'{"text":"x","metadata":{"n":.5}}', "body"), (b'{"text":"x","metadata":{"n":+1}}', "body"),
    (b'{"text":"x","metadata":{"n":0x1}}', "body"),
    # text
    (b'{"text":"\xff"}', "body"), (b'{"text":"\xc0\x80"}', "body"),
    (b'{"text":"\xed\xa0\x80"}', "body"), (b'{"text":"\xf4\x90\x80\x80"}', "body"),
    (b'{"text":"\xe2\x82"}', "body"), (b'{"text":"\\ud800"}', "body"),
    (b'{"text":"\\udc00"}', "body"), (b'{"text":"\\ud800\\u0041"}', "body"),
    (b'{"text":"\\udbff\\ud800"}', "body"), (b'{"text":"\\x41"}', "body"),
    (b'{"text":"a\nb"}', "body"), (b'{"text":"a\x00b"}', "body"), (b'{"te\\u0000xt":"x"}', "body"),
    ("{\"text\":\"x\"}".encode("utf-16"), "body"),
    # members
    (b"{}", "turns"), (b'{"turns":null}', "turns"), (b'{"turns":{}}', "turns"),
    (b'{"turns":"x"}', "turns"), (b'{"turns":[null]}', "turns[0]"),
    (b'{"turns":[{"text":"x"},[]]}', "turns[1]"), (b'{"turns":[{"text":"x"}],"x":1}', "x"),
    (b'{"turns":[{"text":"x"}],"session":"s"}', "session"),
    (b'{"turns":[{"text":"x"}],"messages":[]}', "messages"),
    (b'{"turns":[{"text":"x","Text":"y"}]}', "turns[0].Text"),
    (b'{"turns":[{"text":{"a":1}}]}', "turns[0].text"), (b'{"turns":[{}]}', "turns[0].text"),
    (b'{"text":null}', "turns[0].text"), (b'{"text":1}', "turns[0].text"),
    (b'{"speaker":"x"}', "turns[0].text"), (b'{"hello":"x"}', "turns[0].hello"),
    (b'{"text":"x","id":1}', "turns[0].id"), (b'{"text":"x","session":[]}', "turns[0].session"),
    (b'{"messages":{}}', "messages"), (b'{"messages":[]}', "messages"),
    (b'{"messages":[1]}', "messages[0]"), (b'{"messages":[{}]}', "messages[0].role"),
    (b'{"messages":[{"role":"user"}]}', "messages[0].content"),
    (b'{"messages":[{"role":"user","content":""}]}', "messages[0].content"),
    (b'{"messages":[{"role":"user","content":[]}]}', "messages[0].content"),
    (b'{"messages":[{"role":"user","content":[{"type":"text"}]}]}', "messages[0].content"),
    (b'{"messages":[{"role":"user","content":{}}]}', "messages[0].content"),
    (b'{"messages":[{"role":"user","content":"x"}],"stream":true}', "stream"),
)


class BadJson(harness.DaemonTest):
    def test_bodies(self):
        raw = self.daemon.raw()
        self.addCleanup(raw.close)
        for body, param in BODIES:
            raw.send(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n" % (TURNS.encode(), len(body)) + body)
            reply = raw.reply()  # on one connection: each refusal leaves it usable
            with self.subTest(body=body):
                self.assert_refused(reply, 400, "invalid_argument", param)
                self.assertNotIn("Traceback", reply.text)
        self.assert_refused(self.client.get("/v1/spaces/j"), 404)

    def test_messages_do_not_quote_the_body(self):
        secret = "swordfish"
        for body in (b'{"text":"%s"', b'{"text":%s}', b'{"text":"x"} %s', b'{"text":"%s\\ud800"}'):
            reply = self.client.call("POST", TURNS, body % secret.encode())
            self.assert_refused(reply, 400)
            self.assertNotIn(secret, reply.text)
        self.assertNotIn(secret, self.daemon.log())

    def test_long_made_up_names_are_cut(self):
        for name in ("n" * 5000, "ä" * 2500, "😀" * 1000, "\u2028" * 100):
            reply = self.client.post(TURNS, {"text": "x", name: 1})
            self.assert_refused(reply, 400)
            self.assertTrue(reply.param.startswith("turns[0]." + name[:5]), reply)
            self.assertLess(len(reply.body), 1000)
            reply = self.client.get("/v1/spaces", **{name: "1"})
            self.assert_refused(reply, 400)

    def test_the_other_bodies(self):
        self.client.put("/v1/spaces/o").expect(201)
        for path, method in (("/v1/spaces/o", "PUT"), ("/v1/spaces/o/flush", "POST"),
                             ("/v1/spaces/o/query", "POST")):
            for body in (b"{", b"[]", b"5", b'{"a":1,"a":2}', b'{"q":"\\ud800"}',
                         b"[" * 100, b'{"a":' * 65 + b"1" + b"}" * 65):
                reply = self.client.call(method, path, body)
                self.assert_refused(reply, 400, "invalid_argument", "body")
            self.assert_refused(self.client.call(method, path, {"nosuch": 1}), 400, None, "nosuch")
        for body in ({"session": 5}, {"session": ["s"]}, {"session": "s" * 129}):
            self.assert_refused(self.client.post("/v1/spaces/o/flush", body), 400, None, "session")
        for name in ("q", "gate", "since", "session"):
            body = {"q": "x"}
            body[name] = 5
            self.assert_refused(self.client.post("/v1/spaces/o/query", body), 400, None, name)
        self.assert_refused(self.client.post("/v1/spaces/o/query", {"q": "x"}, q="y"), 400, None,
                            "q")
