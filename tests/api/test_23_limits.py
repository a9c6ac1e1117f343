"""Every limit of DESIGN 13: what is at the limit passes, what is above it is refused by name,
nothing of it is stored, and the connection goes on."""
import json

import harness


class Limits(harness.DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with cls.daemon.client() as client:
            client.put("/v1/spaces/l").expect(201)

    def count(self):
        return self.client.get("/v1/spaces/l").expect(200)["counts"]["turns"]

    def post(self, body, **params):
        return self.client.post("/v1/spaces/l/turns", body, **params)

    def refuse(self, body, param, status=400):
        before = self.count()
        connection = self.client.connection
        reply = self.post(body)
        self.assert_refused(reply, status, None, param)
        if status == 400:
            self.assertIs(self.client.connection, connection)
        self.assertEqual(self.count(), before)

    def test_text(self):
        self.post({"id": "big", "text": "word " * 209715 + "e"}).expect(202)
        self.assertEqual(len(self.client.get("/v1/spaces/l/turns/big").expect(200)["text"]),
                         1 << 20)
        self.refuse({"text": "x" * ((1 << 20) + 1)}, "turns[0].text")
        # Bytes count, not characters.
        self.refuse({"text": "ä" * ((1 << 19) + 1)}, "turns[0].text")
        for blank in ("", " ", "\n\t ", "\u200b", "\u00a0\u3000", "\u0000"):
            self.refuse({"text": blank}, "turns[0].text")

    def test_turns_a_call(self):
        self.post({"turns": [{"text": "turn %d" % i} for i in range(256)]}).expect(202)
        self.refuse({"turns": [{"text": "turn %d" % i} for i in range(257)]}, "turns")
        self.refuse({"messages": [{"role": "user", "content": "%d" % i} for i in range(257)]},
                    "messages")
        self.refuse({"turns": []}, "turns")
        reply = self.client.call("POST", "/v1/spaces/l/turns", b'{"text":"x"}\n' * 257,
                                 {"Content-Type": "application/x-ndjson"})
        self.assert_refused(reply, 400, "invalid_argument", "turns")

    def test_body(self):
        limit = 4 << 20
        body = json.dumps({"turns": [{"text": "x" * 1000000}] * 4}).encode()
        body += b" " * (limit - len(body))
        self.client.call("POST", "/v1/spaces/l/turns", body).expect(202)
        before = self.count()
        self.assert_refused(self.client.call("POST", "/v1/spaces/l/turns", body + b" "), 413,
                            "payload_too_large", "body")
        self.assertEqual(self.count(), before)

    def test_names(self):
        for name in ("session", "speaker", "role"):
            self.post({"text": "x", name: "n" * 128}).expect(202)
            self.post({"text": "x", name: "ä" * 64}).expect(202)
            self.refuse({"text": "x", name: "n" * 129}, "turns[0]." + name)
            self.refuse({"text": "x", name: "ä" * 64 + "x"}, "turns[0]." + name)
            self.refuse({"turns": [{"text": "x"}, {"text": "x", name: "n" * 129}]},
                        "turns[1]." + name)
        self.post({"text": "x", "id": "i" * 128}).expect(202)
        self.refuse({"text": "x", "id": "i" * 129}, "turns[0].id")
        self.refuse({"text": "x", "id": ""}, "turns[0].id")
        self.refuse({"messages": [{"role": "r" * 129, "content": "x"}]}, "messages[0].role")
        self.refuse({"messages": [{"role": "user", "content": "x", "name": "n" * 129}]},
                    "messages[0].name")
        self.refuse({"messages": [{"role": "user", "content": "x"}], "session": "s" * 129},
                    "messages[0].session")
        self.refuse({"messages": [
            {"role": "assistant", "content": None, "tool_calls": [{}]},
            {"role": "user", "content": "x", "name": "n" * 129}]}, "messages[1].name")

    def test_metadata(self):
        room = 4096 - len('{"k":""}')
        self.post({"text": "x", "metadata": {"k": "v" * room}}).expect(202)
        self.refuse({"text": "x", "metadata": {"k": "v" * (room + 1)}}, "turns[0].metadata")
        # White space does not count, since it is not kept.
        body = b'{"text":"x","metadata":{"k":' + b" " * 10000 + b"1}}"
        self.client.call("POST", "/v1/spaces/l/turns", body).expect(202)
        for bad in ([], "x", 5, True):
            self.refuse({"text": "x", "metadata": bad}, "turns[0].metadata")

    def test_query_text(self):
        path = "/v1/spaces/l/query"
        self.client.get(path, q="x" * 4096).expect(200)
        self.client.post(path, {"q": "ä" * 2048}).expect(200)
        self.assert_refused(self.client.get(path, q="x" * 4097), 400, None, "q")
        self.assert_refused(self.client.post(path, {"q": "ä" * 2048 + "x"}), 400, None, "q")
        for blank in ("", " ", "\u200b", "\t\n"):
            self.assert_refused(self.client.get(path, q=blank), 400, None, "q")
            self.assert_refused(self.client.post(path, {"q": blank}), 400, None, "q")
        self.assert_refused(self.client.get(path), 400, None, "q")

    def test_query_terms(self):
        words = ["uniqueword%s%sk" % (chr(97 + i // 26), chr(97 + i % 26)) for i in range(80)]
        got = self.client.get("/v1/spaces/l/query", q=" ".join(words), explain=True).expect(200)
        self.assertEqual(len(got["explain"]["terms"]), 64)
        self.assertEqual(len(got["explain"]["ignored"]), 16)

    def test_query_numbers(self):
        path = "/v1/spaces/l/query"
        for name, top in (("topics", 100), ("episodes", 100), ("facts", 200),
                          ("max_tokens", 32000), ("wait_ms", 300000)):
            for good in (0, top):
                self.client.get(path, q="x", **{name: good}).expect(200)
                self.client.post(path, {"q": "x", name: good}).expect(200)
            for bad in (top + 1, -1, "", "1.5", "1e2", "abc", "0x10", 2 ** 70):
                self.assert_refused(self.client.get(path, q="x", **{name: bad}), 400, None, name)
            for bad in (top + 1, -1, "1", 1.5, True, [1], 2 ** 62):
                self.assert_refused(self.client.post(path, {"q": "x", name: bad}), 400, None, name)
        got = self.client.get(path, q="turn", topics=0, episodes=0, facts=0, max_tokens=0
                              ).expect(200)
        self.assertEqual((got["topics"], got["episodes"], got["facts"]), ([], [], []))
        self.assertEqual(got["context"]["text"], "")

    def test_other_query_parameters(self):
        path = "/v1/spaces/l/query"
        for name, bad in (("gate", "hard"), ("fusion", "sum"), ("summaries", "maybe"),
                          ("format", "xml"), ("explain", "yes"), ("windows", "2"),
                          ("since", "2023"), ("until", "x"), ("as_of", "now"), ("now", "today"),
                          ("session", "s" * 129), ("speaker", "s" * 129), ("min_seq", "-1"),
                          ("min_seq", "x"), ("min_seq", 2 ** 63)):
            self.assert_refused(self.client.get(path, q="x", **{name: bad}), 400, None, name)
        for bad in ("%ff", "%ed%a0%80", "%c0%80", "%f5%80%80%80"):
            self.assert_refused(self.client.get(path + "?q=" + bad), 400, None, "q")

    def test_lists(self):
        for noun in ("turns", "facts", "episodes", "topics", "jobs"):
            path = "/v1/spaces/l/" + noun
            for good in (1, 1000):
                self.client.get(path, limit=good).expect(200)
            for bad in (0, 1001, -1, "", "all"):
                self.assert_refused(self.client.get(path, limit=bad), 400, None, "limit")
            for bad in ("", "x", "AAAA", "====", "a" * 1025, "AnQAAAAB", "%00"):
                self.assert_refused(self.client.get(path, cursor=bad), 400, None, "cursor")

    def test_waits(self):
        for path in ("/turns", "/flush"):
            body = {"text": "x"} if path == "/turns" else {}
            for bad in (300001, -1, "", "soon"):
                self.assert_refused(self.client.post("/v1/spaces/l" + path, body, timeout_ms=bad),
                                    400, None, "timeout_ms")
            self.client.post("/v1/spaces/l" + path, body, timeout_ms=300000).expect(200, 202)

    def test_idempotency_key(self):
        for key, status in (("k" * 255, 202), ("k" * 256, 400), ("a b", 400), ("", 400),
                            ("caf\xe9", 400), ("!~", 202)):
            reply = self.client.call("POST", "/v1/spaces/l/turns", {"text": "x"},
                                     {"Idempotency-Key": key})
            self.assertEqual(reply.status, status, (key, reply))
            if status == 400:
                self.assert_refused(reply, 400, "invalid_argument", "Idempotency-Key")

    def test_nesting(self):
        def nested(depth):
            return ('{"text":"x","metadata":{"k":' + "[" * depth + "]" * depth + "}}").encode()
        self.client.call("POST", "/v1/spaces/l/turns", nested(62)).expect(202)
        for body in (nested(63), nested(100000), b"[" * 3000000, b'{"a":' * 500000):
            before = self.count()
            self.assert_refused(self.client.call("POST", "/v1/spaces/l/turns", body), 400, None,
                                "body")
            self.assertEqual(self.count(), before)
