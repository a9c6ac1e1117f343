"""The faults of the fake model server (tests/fakes), each looked at with a raw HTTP client.

A test that scripts a fault which the fake does not show would prove nothing of the daemon. So a
fault that no test here looks at is a failure."""
import base64
import email.utils
import gzip
import http.client
import json
import struct
import time
import unittest

import harness
import model_faults
from model_case import BOUNDARY, DESCRIBE, FACTS, KNOWN, MEMORY, TALK, FakeTest, chat_body


class Failures(FakeTest):
    """Faults of status and connection."""

    def test_status(self):
        for number in (400, 401, 403, 404, 408, 413, 422, 424, 500, 503, 529):
            self.use("status", status=number)
            error = self.chat(schema=DESCRIBE).expect(number)["error"]
            self.assertTrue(error["message"], error)
        self.use("status", status=400, message="no", param="top_p", code="c")
        self.assertEqual(self.chat().expect(400)["error"], {
            "message": "no", "type": "server_error", "param": "top_p", "code": "c"})
        self.use("status", status=500, body={"detail": "x"})
        self.assertEqual(self.embed("a").expect(500), {"detail": "x"})
        self.use("html", status=503)
        reply = self.chat()
        self.assertEqual((reply.status, reply.header("content-type")), (503, "text/html"))
        self.assertIn("<h1>503 Service Unavailable</h1>", reply.text)
        self.use("html", status=200)
        self.assertTrue(self.chat().text.startswith("<!DOCTYPE html>"))
        self.use("redirect", location="http://127.0.0.1:9/x")
        reply = self.chat()
        self.assertEqual((reply.status, reply.header("location")), (302, "http://127.0.0.1:9/x"))

    def test_unsupported(self):
        self.use("unsupported", param="top_p", style="value")
        self.assertEqual(self.chat().expect(400)["error"]["code"], "unsupported_value")
        self.use("context_length", style="llama", limit=7)
        error = self.chat().expect(400)["error"]
        self.assertEqual((error["type"], error["n_ctx"]), ("exceed_context_size_error", 7))

    def test_rate(self):
        self.use("status", status=429)
        reply = self.chat()
        self.assertEqual((reply.status, reply.header("retry-after")), (429, None))
        self.use("status", status=429, retry_after=7)
        self.assertEqual(self.chat().header("retry-after"), "7")
        self.use("status", status=503, retry_after="date", retry_after_s=30)
        at = email.utils.parsedate_to_datetime(self.chat().header("retry-after")).timestamp()
        self.assertTrue(20 < at - time.time() < 40, at)
        self.use("status", status=429, retry_after_ms=250)
        self.assertEqual(self.chat().header("retry-after-ms"), "250")
        self.use("quota", retry_after=3600)
        reply = self.chat()
        self.assertEqual(reply.expect(429)["error"]["code"], "insufficient_quota")
        self.assertEqual(reply.header("retry-after"), "3600")

    def test_slow(self):
        self.use("slow", delay_s=0.25)
        start = time.monotonic()
        self.chat(schema=DESCRIBE).expect(200)
        self.assertGreaterEqual(time.monotonic() - start, 0.25)

    def test_hang(self):
        """Nothing comes, and a client that goes away is noticed."""
        self.use("hang")
        sock = self.raw_chat()
        harness.wait_until(lambda: self.fake.stats()["in_flight"] == 1)
        sock.sock.setblocking(False)
        self.assertRaises(BlockingIOError, sock.sock.recv, 1)
        sock.close()
        harness.wait_until(lambda: self.fake.stats()["in_flight"] == 0)
        self.assertEqual(self.fake.stats()["abandoned"], 1)
        self.assertTrue(self.fake.requests[0].abandoned)

    def test_close(self):
        self.use("close")
        self.assertEqual(self.everything(self.raw_chat()), b"")
        self.use("reset")
        sock = self.raw_chat()
        self.assertRaises(ConnectionResetError, sock.sock.recv, 1)
        self.use("close_in_head")
        got = self.everything(self.raw_chat())
        self.assertTrue(got.startswith(b"HTTP/1.1 200 OK\r\n") and b"\r\n\r\n" not in got, got)
        self.use("close_in_body", cut_at=30)
        head, _, body = self.everything(self.raw_chat()).partition(b"\r\n\r\n")
        self.assertEqual(len(body), 30)
        self.assertIn(b"Content-Length: ", head)
        self.use("close_in_body")
        self.assertRaises(http.client.IncompleteRead, self.chat, schema=DESCRIBE)

    def test_forms(self):
        want = self.chat(schema=DESCRIBE).data["choices"]
        self.use("gzip")
        reply = self.chat(schema=DESCRIBE)
        self.assertEqual(reply.header("content-encoding"), "gzip")
        self.assertEqual(json.loads(gzip.decompress(reply.body))["choices"], want)
        self.use("chunked", piece=50)
        reply = self.chat(schema=DESCRIBE)
        self.assertEqual(reply.header("transfer-encoding"), "chunked")
        self.assertEqual(reply.data["choices"], want)
        self.use("until_close")
        head, _, body = self.everything(self.raw_chat()).partition(b"\r\n\r\n")
        self.assertNotIn(b"Content-Length", head)
        self.assertEqual(json.loads(body)["choices"], want)
        self.use("last")
        self.assertIn(b"Connection: close", self.everything(self.raw_chat()))
        self.use("dribble", piece=200, pause_s=0.01)
        start = time.monotonic()
        reply = self.chat(schema=DESCRIBE)
        self.assertEqual(reply.data["choices"], want)
        self.assertGreaterEqual(time.monotonic() - start, 0.01 * (len(reply.body) // 200))

    def test_bodies(self):
        self.use("cut_json", keep=0.5)
        reply = self.chat(schema=DESCRIBE)
        self.assertEqual(reply.status, 200)
        self.assertRaises(ValueError, lambda: reply.data)
        self.use("huge", bytes=5 << 20)
        reply = self.chat(schema=DESCRIBE)
        self.assertEqual(len(reply.body), 5 << 20)
        self.assertEqual(len(reply.data["choices"]), 1)
        self.use("no_body")
        reply = self.chat(schema=DESCRIBE)
        self.assertEqual((reply.status, reply.body), (200, b""))
        self.use("with_bom")
        self.assertTrue(self.chat().body.startswith(b"\xef\xbb\xbf{"))
        self.use("invalid_utf8")
        body = self.chat(schema=DESCRIBE).body
        self.assertRaises(UnicodeDecodeError, body.decode, "utf-8")
        value = json.loads(body.decode("utf-8", "replace"))
        self.assertIn("\ufffd", value["choices"][0]["message"]["content"])


class Chat(FakeTest):
    """Faults of the reply's content."""

    def faulty(self, name, schema=FACTS, **options):
        """(message, finish_reason) of a reply with the fault."""
        self.use(name, **options)
        choice = self.chat(KNOWN + TALK, schema).expect(200)["choices"][0]
        return choice["message"], choice["finish_reason"]

    def text(self, name, schema=FACTS, **options):
        message, finish = self.faulty(name, schema, **options)
        self.assertEqual(finish, "stop")
        return message["content"]

    def setUp(self):
        super().setUp()
        self.good = self.content(KNOWN + TALK, FACTS)

    def test_thinking(self):
        text = self.text("think_closed")
        self.assertTrue(text.startswith("<think>") and text.endswith("</think>\n\n" + self.good))
        text = self.text("think_open")
        self.assertTrue(text.startswith("<think>") and "</think>" not in text)
        text = self.text("think_end")
        self.assertTrue("<think>" not in text and text.endswith("</think>\n" + self.good))

    def test_wrapped(self):
        self.assertEqual(self.text("fences"), "```json\n" + self.good + "\n```")
        text = self.text("around")
        self.assertTrue(self.good in text and not text.startswith("{") and not text.endswith("}"))
        text = self.text("trailing_commas")
        self.assertRaises(ValueError, json.loads, text)
        self.assertEqual(json.loads(text.replace(",}", "}").replace(",]", "]")),
                         json.loads(self.good))
        text = self.text("truncated", keep=0.6)
        self.assertTrue(self.good.startswith(text))
        self.assertEqual(len(text), int(0.6 * len(self.good)))
        text = self.text("bad_escape")
        self.assertRaises(ValueError, json.loads, text)
        self.assertIn("\\u12 ", text)

    def test_other_value(self):
        self.assertEqual(json.loads(self.text("bare")), json.loads(self.good)["facts"])
        self.assertEqual(json.loads(self.text("echo_schema")), FACTS)
        self.assertEqual(self.text("empty"), "")
        self.assertEqual(self.text("empty_object"), "{}")
        self.assertRaises(ValueError, json.loads, self.text("not_json"))
        self.assertEqual(json.loads(self.text("nulls", DESCRIBE)), {"title": None, "summary": None})

    def test_values(self):
        fact = json.loads(self.text("wrong_types"))["facts"][0]
        self.assertEqual((fact["content"], fact["turns"], fact["same_as"]), (7, ["12"], "0"))
        fact = json.loads(self.text("strings"))["facts"][0]
        self.assertEqual((fact["content"][:8], fact["turns"]), ("Caroline", ["12"]))
        facts = json.loads(self.text("unknown_ids", id=777))["facts"]
        self.assertEqual((facts[0]["turns"], facts[3]["supersedes"], facts[0]["supersedes"]),
                         ([777], 777, 0))
        self.assertEqual(json.loads(self.text("weights"))["facts"][0]["weight"], 1e300)
        self.assertIn("\"weight\": NaN", self.text("weights", weight="nan"))
        self.assertIn("\"weight\": -3", self.text("weights", weight=-3))
        long = json.loads(self.text("long_texts", factor=50))["facts"][0]["content"]
        self.assertEqual(long, json.loads(self.good)["facts"][0]["content"] * 50)

    def test_messages(self):
        message, _ = self.faulty("reasoning", field="reasoning")
        self.assertEqual(message["content"], self.good)
        self.assertTrue(message["reasoning"])
        message, finish = self.faulty("reasoning_only")
        self.assertEqual((message["content"], finish), (None, "length"))
        self.assertTrue(message["reasoning_content"])
        message, finish = self.faulty("null_content")
        self.assertEqual((message["content"], finish), (None, "stop"))
        message, _ = self.faulty("parts")
        self.assertEqual("".join(part["text"] for part in message["content"]), self.good)
        self.assertEqual({part["type"] for part in message["content"]}, {"text"})
        message, finish = self.faulty("tool_calls")
        self.assertEqual((message["content"], finish), (None, "tool_calls"))
        self.assertEqual(message["tool_calls"][0]["function"]["arguments"], self.good)
        message, _ = self.faulty("refusal")
        self.assertEqual(message["content"], None)
        self.assertTrue(message["refusal"])

    def test_finish(self):
        message, finish = self.faulty("length", keep=0.25)
        self.assertEqual((message["content"], finish),
                         (self.good[:len(self.good) // 4], "length"))
        message, finish = self.faulty("content_filter")
        self.assertEqual((message["content"], finish), ("", "content_filter"))
        message, finish = self.faulty("finish_null")
        self.assertEqual((message["content"], finish), (self.good, None))

    def test_whole(self):
        self.use("error_in_200", message="down", code=502)
        self.assertEqual(self.chat().expect(200)["error"]["message"], "down")
        self.use("empty_choices")
        self.assertEqual(self.chat().expect(200)["choices"], [])
        self.use("no_choices")
        self.assertNotIn("choices", self.chat().expect(200))
        self.use("no_usage")
        self.assertNotIn("usage", self.chat().expect(200))
        self.use("odd_usage")
        self.assertEqual(self.chat().expect(200)["usage"]["prompt_tokens"], -5)
        self.use("not_an_object")
        self.assertEqual(self.chat().expect(200), "done")
        self.fake.set(usage=False)
        self.assertNotIn("usage", self.chat().expect(200))

    def test_several(self):
        self.fake.script({"do": ["fences", "think_closed", "no_usage", "gzip"]})
        reply = json.loads(gzip.decompress(self.chat(schema=DESCRIBE).body))
        self.assertNotIn("usage", reply)
        text = reply["choices"][0]["message"]["content"]
        self.assertTrue(text.startswith("<think>") and text.endswith("\n```"))

    def test_given(self):
        """A reply of the test's own."""
        self.fake.script({"content": {"facts": []}}, {"content": "plain"},
                         {"patch": {"should_wait": True}},
                         {"answer": lambda request: request.user[:11]})
        self.assertEqual(self.content(schema=FACTS), "{\"facts\": []}")
        self.assertEqual(self.content(schema=FACTS), "plain")
        self.assertEqual(json.loads(self.content(schema=BOUNDARY)),
                         {"cuts": [13], "should_wait": True})
        self.assertEqual(self.content(), "<<<9c41d07e")


class Streams(FakeTest):
    def events(self, body, line="\n"):
        out = []
        for block in body.decode("utf-8").split(2 * line):
            if block.startswith("data: "):
                out.append(block[6:] if block[6:] == "[DONE]" else json.loads(block[6:]))
        return out

    def stream(self, user=MEMORY, **more):
        reply = self.chat(user, stream=True, **more)
        self.assertEqual((reply.status, reply.header("content-type")), (200, "text/event-stream"))
        return reply

    def joined(self, events):
        return "".join(one["choices"][0]["delta"].get("content") or "" for one in events
                       if one != "[DONE]" and one["choices"])

    def setUp(self):
        super().setUp()
        self.good = self.content(MEMORY)

    def test_plain(self):
        events = self.events(self.stream().body)
        self.assertEqual(self.joined(events), self.good)
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual(events[-2]["choices"][0]["finish_reason"], "stop")
        self.assertGreater(len(events), 4)
        self.assertFalse([one for one in events[:-1] if "usage" in one])
        events = self.events(self.stream(stream_options={"include_usage": True}).body)
        self.assertEqual(events[-2]["choices"], [])
        self.assertGreater(events[-2]["usage"]["prompt_tokens"], 10)

    def test_forms(self):
        self.use("stream_crlf")
        self.assertEqual(self.joined(self.events(self.stream().body, "\r\n")), self.good)
        self.use("stream_comments")
        body = self.stream().body
        self.assertEqual(self.joined(self.events(body)), self.good)
        self.assertIn(b"\n\n: keep-alive\n\n", body)
        self.use("stream_reasoning")
        events = self.events(self.stream().body)
        self.assertIn("reasoning_content", events[1]["choices"][0]["delta"])
        self.assertEqual(self.joined(events), self.good)
        self.use("stream_no_usage")
        body = self.stream(stream_options={"include_usage": True}).body
        self.assertNotIn(b"usage", body)
        self.use("stream_no_done")
        self.assertNotIn(b"[DONE]", self.stream().body)
        self.use("stream_split", split=7)
        sock = self.raw("/v1/chat/completions", chat_body(MEMORY, stream=True))
        sock.read_until(b"\r\n\r\n")
        self.assertEqual(sock.read_until(b"\r\n"), b"7\r\n")
        self.use("stream_ignored")
        reply = self.chat(MEMORY, stream=True)
        self.assertEqual(reply.expect(200)["choices"][0]["message"]["content"], self.good)

    def test_ends(self):
        self.use("stream_cut", cut_events=3)
        self.assertRaises(http.client.IncompleteRead, self.stream)
        self.use("stream_error", error_event=3)
        events = self.events(self.stream().body)
        self.assertEqual((len(events), "error" in events[3]), (4, True))
        self.use("stream_stall", stall_events=3)
        sock = self.raw("/v1/chat/completions", chat_body(MEMORY, stream=True))
        for _ in range(3):
            sock.read_until(b"\n\n\r\n")
        sock.sock.setblocking(False)
        self.assertRaises(BlockingIOError, sock.sock.recv, 1)

    def test_pace(self):
        self.fake.set(event_s=0.02, event_chars=5)
        start = time.monotonic()
        events = self.events(self.stream().body)
        self.assertGreaterEqual(time.monotonic() - start, 0.02 * (len(events) - 1))


class Embeddings(FakeTest):
    def rows(self, *texts, **more):
        return self.embed(*texts, **more).expect(200)["data"]

    def vectors(self, *texts, **more):
        return [row["embedding"] for row in self.rows(*texts, **more)]

    def test_vectors(self):
        dog, dogs, boat = self.vectors("a spotted dog", "the spotted dogs", "wooden boats")

        def dot(left, right):
            return sum(a * b for a, b in zip(left, right))
        self.assertEqual(len(dog), 64)
        self.assertAlmostEqual(dot(dog, dog), 1.0, places=6)
        self.assertGreater(dot(dog, dogs), 0.8)
        self.assertLess(abs(dot(dog, boat)), 0.5)
        self.assertEqual(self.vectors("a spotted dog"), [dog])
        self.assertEqual(len(self.vectors("x", dimensions=16)[0]), 16)
        self.fake.set(dimension=1024, scale=3.0, dimensions="ignore")
        wide = self.vectors("x", dimensions=16)[0]
        self.assertEqual(len(wide), 1024)
        self.assertAlmostEqual(dot(wide, wide), 9.0, places=5)

    def test_base64(self):
        plain = self.vectors("a dog")[0]
        packed = self.vectors("a dog", encoding_format="base64")[0]
        values = struct.unpack("<64f", base64.b64decode(packed))
        for a, b in zip(plain, values):
            self.assertAlmostEqual(a, b, places=6)
        for asked, kind in (("float", str), ("base64", list)):
            self.use("encoding", encoding="opposite")
            self.assertIsInstance(self.vectors("a dog", encoding_format=asked)[0], kind)
        self.fake.set(encoding="base64")
        self.assertIsInstance(self.vectors("a dog", encoding_format="float")[0], str)
        self.use("encoding", encoding="odd")
        self.assertEqual(len(base64.b64decode(self.vectors("a dog")[0])), 4 * 64 + 1)

    def test_rows(self):
        want = self.rows("a", "b", "c")
        self.assertEqual([row["index"] for row in want], [0, 1, 2])
        self.use("reversed_order")
        self.assertEqual(self.rows("a", "b", "c"), want[::-1])
        self.use("missing_row")
        self.assertEqual(self.rows("a", "b", "c"), want[:2])
        self.use("extra_row")
        self.assertEqual([row["index"] for row in self.rows("a", "b", "c")], [0, 1, 2, 3])
        self.use("same_index")
        self.assertEqual([row["index"] for row in self.rows("a", "b", "c")], [0, 0, 0])
        self.use("no_index")
        self.assertEqual([row["embedding"] for row in self.rows("a", "b", "c")],
                         [row["embedding"] for row in want])
        self.use("no_rows")
        self.assertEqual(self.rows("a"), [])

    def test_values(self):
        self.use("other_dimension", dimension=32, row=1)
        self.assertEqual([len(v) for v in self.vectors("a", "b")], [64, 32])
        self.use("other_dimension", dimension=768)
        self.assertEqual([len(v) for v in self.vectors("a", "b")], [768, 768])
        self.use("vector_values", row=0)
        self.assertEqual(self.vectors("a", "b")[0], [0.0] * 64)
        self.use("vector_values", value="nan", row=0, at=3)
        body = self.embed("a", "b").body
        self.assertEqual(body.count(b"NaN"), 1)
        self.use("vector_values", value="inf", at=0)
        self.assertEqual(self.embed("a", "b").body.count(b"Infinity"), 2)
        self.use("vector_values", value="null", at=0)
        self.assertEqual(self.vectors("a")[0][0], None)
        self.fake.script({"do": ["vector_values", "encoding"], "value": "nan", "at": 0,
                          "encoding": "base64"})
        first = struct.unpack("<f", base64.b64decode(self.vectors("a")[0])[:4])[0]
        self.assertNotEqual(first, first)


class Rerank(FakeTest):
    QUERY, DOCUMENTS = "red boat", ["a dog", "the red boat", "boats"]

    def scores(self, **more):
        body = dict({"query": self.QUERY, "documents": self.DOCUMENTS, "model": "m"}, **more)
        return [(row["index"], row["relevance_score"])
                for row in self.rerank(**body).expect(200)["results"]]

    def test_any(self):
        got = self.scores()
        self.assertEqual([index for index, _ in got], [1, 2, 0])
        self.assertTrue(all(0 < score < 1 for _, score in got), got)
        self.assertGreater(got[0][1], got[1][1] + 0.2)
        self.assertEqual([index for index, _ in self.scores(top_n=1)], [1])
        for path in ("/rerank", "/v2/rerank", "/reranking", "/v1/reranking",
                     "/compatible-api/v1/reranks"):
            self.rerank(path, query="a", documents=["b"]).expect(200)
        self.assertEqual(self.fake.requests[0].texts, self.DOCUMENTS)
        self.assertEqual(self.fake.requests[0].asked, self.QUERY)

    def test_forms(self):
        """Each service's own request and reply."""
        flat = {"model": "m", "query": self.QUERY, "documents": self.DOCUMENTS}
        nested = {"model": "m", "input": {"query": self.QUERY, "documents": self.DOCUMENTS},
                  "parameters": {"return_documents": True}}
        texts = {"query": self.QUERY, "texts": self.DOCUMENTS}
        for form, body, find in (
                ("cohere", flat, lambda d: d["results"]), ("jina", flat, lambda d: d["results"]),
                ("vllm", flat, lambda d: d["results"]), ("llama", flat, lambda d: d["results"]),
                ("llama", texts, lambda d: d), ("siliconflow", flat, lambda d: d["results"]),
                ("infinity", flat, lambda d: d["results"]), ("tei", texts, lambda d: d),
                ("voyage", flat, lambda d: d["data"]),
                ("dashscope", nested, lambda d: d["output"]["results"])):
            with self.subTest(form=form, body=body):
                self.fake.set(rerank=form)
                rows = find(self.rerank(**body).expect(200))
                self.assertEqual([row["index"] for row in rows], [1, 2, 0])
                name = "score" if isinstance(rows[0].get("score"), float) else "relevance_score"
                self.assertGreater(rows[0][name], rows[1][name])
                self.assertEqual("document" in rows[0], form in ("jina", "vllm", "dashscope"))
        self.fake.set(rerank="deepinfra")
        got = self.rerank("/v1/inference/some/model", queries=[self.QUERY],
                          documents=self.DOCUMENTS).expect(200)["scores"]
        self.assertEqual(sorted(range(3), key=lambda i: -got[i]), [1, 2, 0])

    def test_any_form(self):
        """Without a form set, the request decides."""
        self.assertIsInstance(self.rerank(query="a", texts=["b"]).expect(200), list)
        self.assertIn("data", self.rerank(query="a", documents=["b"], top_k=1).expect(200))
        self.assertIn("output", self.rerank(input={"query": "a", "documents": ["b"]}).expect(200))
        self.assertIn("scores", self.rerank(queries=["a"], documents=["b"]).expect(200))

    def test_refused(self):
        flat = {"model": "m", "query": self.QUERY, "documents": self.DOCUMENTS}
        self.fake.set(rerank="cohere")
        self.assertIn("top_k", self.rerank(top_k=1, **flat).expect(422)["message"])
        self.rerank(query="a", texts=["b"]).expect(422)
        self.fake.set(rerank="tei", rerank_most=2)
        reply = self.rerank(**flat)
        self.assertEqual(reply.status, 422)
        self.assertIn("missing field `texts`", reply.text)
        self.rerank(query="a", texts=["b", "c", "d"]).expect(413)
        self.rerank(query="a", texts=["b", ""]).expect(422)
        self.fake.set(rerank="llama", document_tokens=5, rerank_most=0)
        self.assertIn("too large", self.rerank(query="a", documents=["word " * 9]).expect(500)[
            "error"]["message"])
        self.fake.set(rerank_paths=["/v2/rerank"])
        self.rerank(**flat).expect(404)

    def test_faults(self):
        want = self.scores()
        self.use("logits")
        got = self.scores()
        self.assertEqual([index for index, _ in got], [1, 2, 0])
        self.assertTrue(got[0][1] > 1 and got[2][1] < 0, got)
        self.use("missing_scores", n=2)
        self.assertEqual(self.scores(), want[:1])
        self.use("unsorted")
        self.assertEqual(self.scores(), sorted(want))
        self.use("repeated_score")
        self.assertEqual(self.scores(), want + want[:1])
        self.use("unknown_index")
        self.assertEqual(self.scores()[3], (3, 0.99))
        self.use("unknown_index", index=-1)
        self.assertEqual(self.scores(return_documents=True)[3], (-1, 0.99))
        self.use("score_values", value="nan")
        body = {"query": self.QUERY, "documents": self.DOCUMENTS}
        self.assertEqual(self.rerank(**body).body.count(b"NaN"), 3)
        self.use("score_values", value="string")
        self.assertEqual([score for _, score in self.scores()], ["0.5"] * 3)


class ZEveryFault(unittest.TestCase):
    """Runs last: unittest takes the classes of a module in order of their names."""

    def test_every_fault_was_looked_at(self):
        self.assertEqual(set(model_faults.FAULTS) - FakeTest.tested, set())
