"""The fake model server itself: what it answers, what it refuses, and its script (tests/fakes).
test_58 looks at its faults."""
import asyncio
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

import harness
import model_faults
import model_server
from model_case import BOUNDARY, DESCRIBE, FACTS, KNOWN, MEMORY, NUMBER, STRING, TALK, TOPIC, \
    TOPICS, TOPIC_JOIN, TOPIC_LIST, TRUTH, WHOLE, FakeTest, array, chat_body, fits, role, thing
from model_server import ModelProcess, ModelServer


class Answers(FakeTest):
    def test_boundary(self):
        got = json.loads(self.content(schema=BOUNDARY))
        self.assertEqual(got, {"cuts": [13], "should_wait": False})
        self.fake.set(cut_side="before", end_marker="Goodbye", marker="boat")
        wide = thing(cuts=array(NUMBER), should_end=TRUTH, should_wait=TRUTH)
        got = json.loads(self.content(schema=wide))
        self.assertEqual(got, {"cuts": [14, 16], "should_end": True, "should_wait": False})
        self.fake.set(cut_side="behind", marker="", cut_every=2, wait_marker="Goodbye")
        got = json.loads(self.content(schema=BOUNDARY))
        self.assertEqual(got, {"cuts": [13, 15], "should_wait": True})

    def test_describe(self):
        got = json.loads(self.content(schema=DESCRIBE))
        self.assertEqual(got["title"], "the boat")
        self.assertTrue(got["summary"].startswith("Caroline and Melanie and Rex talked about"), got)
        self.assertIn("On 2023-05-08 Caroline said: Hey Mel! I adopted a", got["summary"])

    def test_topic(self):
        for schema in (TOPIC, TOPIC_JOIN, TOPIC_LIST):
            with self.subTest(schema=schema):
                self.fake.set(join_overlap=0.34)
                got = json.loads(self.content(TOPICS, schema))
                self.assertTrue(fits(got, schema), got)
                joined = got["topics" if schema is TOPIC else "join"]
                self.assertEqual([one.get("id") or one.get("topic") for one in joined], [5])
                self.assertEqual(joined[0]["title"], "Sailing")
                self.assertIn("They want to sail", joined[0]["summary"])
                self.assertIn("Melanie bought a wooden boat", joined[0]["summary"])
                self.assertEqual(joined[0]["role"], "developing")
                self.assertIn(got.get("new"), (None, []))
                self.fake.set(join_overlap=1.1)
                got = json.loads(self.content(TOPICS, schema))
                self.assertTrue(fits(got, schema), got)
                new = got["topics"][0] if schema is TOPIC else got["new"]
                new = new[0] if isinstance(new, list) else new
                self.assertEqual(new["title"], "A wooden boat")
                self.assertEqual(new["role"], "initiating")
                self.assertEqual(got["topics"][0]["id"] if schema is TOPIC else got["join"],
                                 0 if schema is TOPIC else [])

    def test_facts(self):
        got = json.loads(self.content(KNOWN + TALK, FACTS))
        self.assertTrue(fits(got, FACTS), got)
        facts = got["facts"]
        self.assertEqual([fact["turns"] for fact in facts], [[12], [13], [14], [16]])
        self.assertEqual(facts[0]["content"],
                         "Caroline said: Hey Mel! I adopted a spotted dog called Rex yesterday.")
        self.assertEqual(facts[0]["time"],
                         {"from": "2023-05-07", "to": "2023-05-07", "text": "yesterday"})
        self.assertEqual([fact["role"] for fact in facts], ["temporal", "core", "core", "core"])
        self.assertEqual([fact["supersedes"] for fact in facts], [0, 0, 0, 3])
        self.assertEqual([fact["same_as"] for fact in facts], [0, 0, 0, 0])
        self.assertIn("turn of its own", facts[1]["content"])
        same = KNOWN.replace(" (assistant)", "")
        facts = json.loads(self.content(same + TALK, FACTS))["facts"]
        self.assertEqual([fact["same_as"] for fact in facts], [0, 0, 4, 0])
        self.fake.set(facts_most=1, fact_words=7, same_as=False)
        facts = json.loads(self.content(same + TALK, FACTS))["facts"]
        self.assertEqual([fact["turns"] for fact in facts], [[12]])

    def test_answer(self):
        self.assertEqual(self.content(MEMORY), "Caroline: I adopted a dog [fact_12]")
        self.fake.set(answer="best")
        self.assertEqual(self.content(MEMORY), "Melanie: The boat is red [fact_9]")
        self.assertEqual(self.content("Question: What?"), "The memory does not tell.")
        self.assertEqual([one.purpose for one in self.fake.requests], ["answer"] * 3)

    def test_rungs(self):
        """The same answer, whatever way the schema came."""
        for schema, user, purpose in ((BOUNDARY, TALK, "boundary"), (DESCRIBE, TALK, "describe"),
                                      (TOPIC, TOPICS, "topic"), (FACTS, TALK, "facts")):
            want = json.loads(self.content(user, schema))
            for rung in ("schema", "object"):
                with self.subTest(purpose=purpose, rung=rung):
                    self.assertEqual(json.loads(self.content(user, schema, rung=rung)), want)
            system = "Reply with JSON of the schema\n" + json.dumps(schema)
            self.assertEqual(json.loads(self.content(user, system=system)), want)
            self.assertEqual({one.purpose for one in self.fake.requests}, {purpose})
            self.assertEqual([one.rung for one in self.fake.requests],
                             ["strict", "schema", "object", "plain"])
            self.fake.clear()

    def test_names_in_lines(self):
        """No schema anywhere: properties are named at the beginning of lines."""
        system = "Reply with JSON.\ncuts: numbers.\nshould_wait: true if so."
        got = json.loads(self.content(system=system))
        self.assertEqual(got, {"cuts": [13], "should_wait": False})
        got = json.loads(self.content(system="Reply with JSON.\nfacts: at most 12.\ncontent: one."))
        self.assertEqual(len(got["facts"]), 4)

    def test_unknown_schema(self):
        schema = thing(colour=role("red", "blue"), size=NUMBER, name=STRING, count=WHOLE, yes=TRUTH,
                       parts=array(STRING), inner=thing(depth=WHOLE),
                       maybe={"type": ["string", "null"]})
        got = json.loads(self.content(schema=schema))
        self.assertTrue(fits(got, schema), got)
        self.assertEqual(got["colour"], "red")
        self.assertEqual(self.fake.requests[0].purpose, "unknown")

    def test_same_again(self):
        """Two servers, the same requests: the same bytes."""
        with ModelServer() as other:
            bodies = []
            for fake in (self.fake, other):
                self.fake, mine = fake, self.fake
                bodies.append([self.chat(schema=FACTS).body, self.embed("a dog").body,
                               self.rerank(query="dog", documents=["a dog", "cat"]).body])
                self.fake = mine
            self.assertEqual(bodies[0], bodies[1])

    def test_records(self):
        self.post("/v1/chat/completions", chat_body(schema=DESCRIBE), Authorization="Bearer k")
        self.embed("query: one", "two")
        first, second = self.fake.requests
        self.assertEqual((first.purpose, first.kind, first.status), ("describe", "chat", 200))
        self.assertEqual(first.headers["authorization"], "Bearer k")
        self.assertEqual((first.system, first.user), ("You do as you are told.", TALK))
        self.assertEqual(second.texts, ["query: one", "two"])
        self.assertEqual(self.fake.of("embed"), [second])
        stats = self.fake.stats()
        self.assertEqual((stats["requests"], stats["connections"], stats["max_in_flight"]),
                         (2, 2, 1))
        self.assertEqual(stats["by_purpose"], {"describe": 1, "embed": 1})
        reply = self.chat(schema=DESCRIBE).expect(200)
        self.assertEqual(reply["usage"]["prompt_tokens"], (len(TALK) + 23 + 3) // 4)
        self.assertEqual(self.fake.stats()["tokens_out"], 2 * reply["usage"]["completion_tokens"])

    def test_one_connection(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.fake.port, timeout=20)
        for _ in range(3):
            connection.request("POST", "/v1/embeddings", json.dumps({"input": "x"}))
            self.assertEqual(json.loads(connection.getresponse().read())["data"][0]["index"], 0)
        connection.close()
        self.assertEqual(self.fake.stats()["connections"], 1)
        self.assertEqual({one.connection for one in self.fake.requests}, {1})

    def test_request_forms(self):
        """Chunked bodies, Expect: 100-continue, and targets as a proxy gets them."""
        sock = harness.Raw(self.fake.port)
        self.addCleanup(sock.close)
        sock.send("POST http://elsewhere:1/v1/embeddings HTTP/1.1\r\nHost: x\r\n"
                  "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(sock.read_until(b"\r\n\r\n"), b"HTTP/1.1 100 Continue\r\n\r\n")
        sock.send(b"9\r\n{\"input\":\r\n4\r\n\"x\"}\r\n0\r\n\r\n")
        self.assertEqual(sock.reply().status, 200)
        self.assertEqual(self.fake.requests[0].target, "http://elsewhere:1/v1/embeddings")


class Refusals(FakeTest):
    """What a real server refuses by its settings."""

    def message(self, reply, status, param):
        error = reply.expect(status)["error"]
        self.assertEqual(error["param"], param, reply)
        return error["message"]

    def test_parameters(self):
        self.fake.set(refuse=["max_tokens", "temperature"])
        reply = self.chat(max_tokens=5)
        self.assertIn("Use 'max_completion_tokens' instead", self.message(reply, 400, "max_tokens"))
        self.assertIn("'temperature'", self.message(self.chat(temperature=0), 400, "temperature"))
        self.chat(max_completion_tokens=5).expect(200)
        self.fake.set(refuse_style="pydantic", refuse_status=422)
        detail = self.chat(max_tokens=5).expect(422)["detail"][0]
        self.assertEqual(detail["loc"], ["body", "max_tokens"])
        self.fake.set(refuse_style="text")
        reply = self.chat(max_tokens=5)
        self.assertEqual((reply.header("content-type"), reply.text),
                         ("text/plain", "unknown field `max_tokens`\n"))

    def test_formats(self):
        self.fake.set(formats=["object", "plain"])
        for rung in ("strict", "schema"):
            reply = self.chat(schema=DESCRIBE, rung=rung)
            self.assertIn("json_schema", self.message(reply, 400, "response_format"))
        self.chat(schema=DESCRIBE, rung="object").expect(200)
        self.fake.set(formats=["strict"], json_word=True)
        reply = self.chat(schema=DESCRIBE, rung="object")
        self.assertIn("json_object", self.message(reply, 400, "response_format"))
        self.fake.set(formats=["object"])
        body = chat_body("x", response_format={"type": "json_object"})
        reply = self.post("/v1/chat/completions", body)
        self.assertIn("word 'json'", self.message(reply, 400, "messages"))

    def test_strict_schema(self):
        loose = dict(DESCRIBE, additionalProperties=True)
        some = dict(DESCRIBE, required=["title"])
        foreign = thing(title=dict(STRING, maxLength=5))
        for schema, part in ((loose, "additionalProperties"), (some, "required"),
                             (foreign, "maxLength")):
            reply = self.chat(schema=schema)
            self.assertIn(part, self.message(reply, 400, "response_format"))
            self.chat(schema=schema, rung="schema").expect(200)

    def test_context(self):
        self.fake.set(context_tokens=100)
        self.chat("short", DESCRIBE).expect(200)
        reply = self.chat("long " * 100, DESCRIBE)
        self.assertIn("maximum context length is 100 tokens", self.message(reply, 400, "messages"))
        self.assertEqual(reply.code, "context_length_exceeded")

    def test_max_tokens(self):
        self.fake.set(honour_max_tokens=True)
        choice = self.chat(schema=DESCRIBE, max_tokens=3).expect(200)["choices"][0]
        self.assertEqual((choice["finish_reason"], len(choice["message"]["content"])),
                         ("length", 12))
        choice = self.chat(schema=DESCRIBE, max_tokens=3000).expect(200)["choices"][0]
        self.assertEqual(choice["finish_reason"], "stop")

    def test_key_model_path(self):
        self.fake.set(api_key="secret", models=["m"])
        body = chat_body(schema=DESCRIBE)
        self.post("/v1/chat/completions", body).expect(401)
        self.post("/v1/chat/completions", body, Authorization="Bearer other").expect(401)
        self.post("/v1/chat/completions", body, Authorization="Bearer secret").expect(200)
        reply = self.post("/v1/chat/completions", dict(body, model="n"),
                          Authorization="Bearer secret")
        self.assertEqual(reply.expect(404)["error"]["code"], "model_not_found")
        self.post("/chat/completions", body, Authorization="Bearer secret").expect(404)
        self.fake.set(base="", api_key=None)
        self.post("/chat/completions", body).expect(200)
        self.post("/v1/chat/completions", body).expect(404)
        self.fake.set(base="/gate/openai")
        self.post("/gate/openai/chat/completions", body).expect(200)
        self.assertEqual(self.call("GET", "/gate/openai/models").expect(200)["data"][0]["id"], "m")
        self.call("GET", "/gate/openai/chat/completions").expect(405)
        self.post("/gate/openai/chat/completions", b"[]").expect(400)
        self.post("/elsewhere", {}).expect(404)

    def test_inputs(self):
        self.fake.set(inputs_most=2, input_tokens=10, batch_tokens=12)
        self.embed("a", "b").expect(200)
        self.assertIn("batch size 3", self.message(self.embed("a", "b", "c"), 400, "input"))
        self.fake.set(inputs_status=413)
        self.embed("a", "b", "c").expect(413)
        self.assertEqual(self.embed("word " * 20).expect(400)["error"]["code"],
                         "context_length_exceeded")
        self.embed("word " * 7, "word " * 7).expect(413)
        self.embed("").expect(400)
        self.embed(3).expect(400)
        self.fake.set(dimensions="refuse")
        self.assertIn("dimensions", self.message(self.embed("a", dimensions=8), 400, "dimensions"))

    def test_delays(self):
        self.fake.set(delay_s=0.2, delays_s={"embed": 0.0})
        start = time.monotonic()
        self.chat(schema=DESCRIBE).expect(200)
        self.assertGreaterEqual(time.monotonic() - start, 0.2)


class Script(FakeTest):
    def statuses(self, n, **more):
        return [self.chat(**more).status for _ in range(n)]

    def test_in_order(self):
        self.fake.script({"do": "status", "status": 500}, {"do": "status", "status": 503})
        self.assertEqual(self.statuses(3), [500, 503, 200])
        self.assertEqual([one.fault for one in self.fake.requests], [["status"], ["status"], []])

    def test_times(self):
        self.fake.script({"do": "status", "times": 2},
                         {"do": "status", "status": 503, "times": None})
        self.assertEqual(self.statuses(4), [500, 500, 503, 503])
        self.fake.clear()
        self.assertEqual(self.statuses(1), [200])

    def test_nth(self):
        self.fake.script({"do": "status", "nth": [2, 4]})
        self.assertEqual(self.statuses(5), [200, 500, 200, 500, 200])
        self.fake.clear()
        self.fake.script({"do": "status", "after": 2, "times": None})
        self.assertEqual(self.statuses(4), [200, 200, 500, 500])

    def test_which(self):
        for rule, hit in (({"purpose": "facts"}, False), ({"purpose": "describe"}, True),
                          ({"kind": "embed"}, False), ({"kind": "chat"}, True),
                          ({"path": "/v1/embeddings"}, False), ({"text": "spotted"}, True),
                          ({"text": "striped"}, False), ({"has": "max_tokens"}, False),
                          ({"has": "messages"}, True), ({"rung": "plain"}, False),
                          ({"rung": "strict"}, True), ({"stream": True}, False),
                          ({"when": lambda request: "Caroline" in request.user}, True)):
            with self.subTest(rule=rule):
                self.fake.clear()
                self.fake.script(dict(rule, do="status"))
                self.assertEqual(self.statuses(1, schema=DESCRIBE), [500 if hit else 200])
                self.assertEqual(len(self.fake.unused()), 0 if hit else 1)

    def test_mistakes(self):
        for rule in ({"do": "explode"}, {"do": "status", "porpose": "facts"}, {"purpose": "facts"}):
            self.assertRaises(ValueError, self.fake.script, rule)
        self.assertRaises(ValueError, self.fake.set, dimensoin=3)

    def test_from_outside(self):
        self.post("/_script", {"rules": [{"do": "status", "status": 418}],
                               "set": {"dimension": 8}}).expect(200)
        self.assertEqual(self.chat().status, 418)
        self.assertEqual(len(self.embed("x").data["data"][0]["embedding"]), 8)
        stats = self.call("GET", "/_stats").expect(200)
        self.assertEqual((stats["requests"], stats["by_status"]), (2, {"418": 1, "200": 1}))
        shown = self.call("GET", "/_requests").expect(200)
        self.assertEqual([one["purpose"] for one in shown], ["answer", "embed"])
        self.assertEqual(sorted(self.call("GET", "/_faults").expect(200)),
                         sorted(model_faults.FAULTS))
        self.post("/_script", {"rules": [{"do": "explode"}]}).expect(400)
        self.post("/_script", {"rule": []}).expect(400)
        self.post("/_script", {"reset": True}).expect(200)
        self.assertEqual(self.call("GET", "/_stats").data["requests"], 0)
        self.assertEqual(len(self.embed("x").data["data"][0]["embedding"]), 64)

    def test_own_fault_shows(self):
        """A bug in a test's own rule fails the test instead of looking like a bad network."""
        fake = ModelServer({"answer": lambda request: 1 // 0})
        with self.assertRaises(AssertionError) as caught:
            with fake:
                connection = http.client.HTTPConnection("127.0.0.1", fake.port, timeout=20)
                connection.request("POST", "/v1/chat/completions", json.dumps(chat_body()))
                self.assertRaises(http.client.RemoteDisconnected, connection.getresponse)
                connection.close()
        self.assertIn("ZeroDivisionError", str(caught.exception))


class Command(unittest.TestCase):
    def test_thousand(self):
        """1,000 connections at once, each answered after a second."""
        n = 1000
        model_server.raise_descriptors()
        with ModelProcess("--delay", "1") as fake:
            async def one(gate):
                reader, writer = await asyncio.open_connection("127.0.0.1", fake.port)
                await gate.wait()
                body = json.dumps(chat_body(schema=BOUNDARY)).encode("utf-8")
                writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
                             % len(body) + body)
                line = await reader.readline()
                writer.close()
                return line

            async def all_of_them():
                gate = asyncio.Event()
                tasks = [asyncio.ensure_future(one(gate)) for _ in range(n)]
                while (await loop.run_in_executor(None, fake.stats))["open"] < n:
                    pass
                start = time.monotonic()
                gate.set()
                return await asyncio.gather(*tasks), time.monotonic() - start
            loop = asyncio.new_event_loop()
            try:
                lines, took = loop.run_until_complete(all_of_them())
            finally:
                loop.close()
            self.assertEqual(lines, [b"HTTP/1.1 200 OK\r\n"] * n)
            stats = fake.stats()
            self.assertEqual((stats["requests"], stats["by_purpose"]), (n, {"boundary": n}))
            self.assertEqual(stats["max_in_flight"], n)
            self.assertGreaterEqual(took, 1.0)
            self.assertLess(took, 15 * harness.SLOW)

    def test_process(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as script:
            json.dump({"rules": [{"do": "status", "status": 418}]}, script)
            script.flush()
            with ModelProcess("--script", script.name, "--set", "dimension=4") as fake:
                client = harness.Client(fake.port)
                self.assertEqual(client.post("/v1/embeddings", {"input": "x"}).status, 418)
                got = client.post("/v1/embeddings", {"input": "x"}).expect(200)
                self.assertEqual(len(got["data"][0]["embedding"]), 4)
                fake.set(dimension=5)
                fake.script({"do": "no_rows"})
                self.assertEqual(client.post("/v1/embeddings", {"input": "x"}).data["data"], [])
                self.assertEqual([one["status"] for one in fake.requests()], [418, 200, 200])
                client.close()

    def test_demo(self):
        """Latency like a quick model's, and a line for each request."""
        process = subprocess.Popen([sys.executable, model_server.__file__, "--demo"],
                                   stdout=subprocess.PIPE)
        try:
            port = int(process.stdout.readline().split()[1])
            client = harness.Client(port)
            start = time.monotonic()
            client.post("/v1/chat/completions", chat_body(schema=FACTS)).expect(200)
            self.assertGreater(time.monotonic() - start, 0.2)
            self.assertRegex(process.stdout.readline().decode("utf-8"),
                             r"^\d\d:\d\d:\d\d  facts +\d+ tokens in +\d+ out  200 ")
            client.close()
        finally:
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(20 * harness.SLOW), 0)
            process.stdout.close()

    def test_taken_port(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen(1)
            done = subprocess.run([sys.executable, model_server.__file__, "--port",
                                   str(taken.getsockname()[1])], capture_output=True, text=True,
                                  timeout=30 * harness.SLOW, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("model_server:", done.stderr)

    @unittest.skipUnless(shutil.which("openssl"), "no openssl to make a certificate with")
    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            cert, key = os.path.join(folder, "cert"), os.path.join(folder, "key")
            subprocess.run([
                "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-out", cert, "-keyout",
                key], check=True, capture_output=True)
            with ModelServer(tls=(cert, key)) as fake:
                self.assertTrue(fake.url.startswith("https://"))
                context = ssl.create_default_context(cafile=cert)
                connection = http.client.HTTPSConnection("127.0.0.1", fake.port, context=context,
                                                         timeout=20 * harness.SLOW)
                connection.request("GET", "/v1/models")
                self.assertEqual(connection.getresponse().status, 200)
                connection.close()
