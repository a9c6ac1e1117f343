"""POST answer: text, citations, context, usage; events as the model speaks; failures as statuses or
as an event; clients that leave."""
import json
import threading
import unittest

import harness
from model_server import ModelServer

TURNS = [
    {"session": "s", "speaker": "Caroline",
     "text": "I adopted a spotted dog called Rex in Hamburg."},
    {"session": "s", "speaker": "Melanie", "text": "The wooden boat at the lake needs new sails."},
    {"session": "s", "speaker": "Caroline", "text": "My grandmother bakes rye bread on Sundays."},
    {"id": "t-climb", "session": "s", "speaker": "Melanie",
     "text": "We climbed a mountain near Salzburg in May."},
]


def events_of(text):
    """[(name, data)] of a whole event stream."""
    found = []
    for block in text.split("\n\n"):
        if not block:
            continue
        lines = block.split("\n")
        assert len(lines) == 2 and lines[0].startswith("event: ") \
            and lines[1].startswith("data: "), block
        found.append((lines[0][7:], json.loads(lines[1][6:])))
    return found


class AnswerTest(harness.LoggedTest):
    """A daemon whose only model answers; the stages are built in."""

    ENV = {}

    def setUp(self):
        self.models = ModelServer(answer="best")
        self.addCleanup(self.models.close)
        env = dict({"HYPERMEM_LLM_ANSWER_BASE_URL": self.models.url,
                    "HYPERMEM_LLM_ATTEMPTS": "1"}, **self.ENV)
        self.daemon = harness.Daemon(env=env)
        self.addCleanup(self.daemon.close)
        self.daemons = (self.daemon,)
        self.client = self.daemon.client(seconds=30)
        self.client.post("/v1/spaces/a/turns", {"turns": TURNS}).expect(202)
        self.space = self.client.settle("a")

    def answer(self, question="What is the dog of Caroline called?", events=False, **params):
        headers = {"Accept": "text/event-stream"} if events else None
        return self.client.call("POST", "/v1/spaces/a/answer", dict(question=question, **params),
                                headers)

    def open_stream(self, question="What is the dog of Caroline called?"):
        sock = self.daemon.raw()
        self.addCleanup(sock.close)
        body = json.dumps({"question": question}).encode()
        sock.send(b"POST /v1/spaces/a/answer HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Type: application/json\r\nAccept: text/event-stream\r\n"
                  b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return sock

    def metric(self, name):
        for line in self.client.get("/metrics").text.splitlines():
            if line.startswith(name + " "):
                return int(line.split()[-1])
        raise AssertionError("no series %s" % name)

    def stop_cleanly(self):
        self.assertEqual(self.daemon.stop(), 0)


class Answers(AnswerTest):
    def test_text_citations_context_and_usage(self):
        got = self.answer().expect(200)
        self.assertEqual(sorted(got),
                         ["answer", "citations", "context", "degraded", "seq", "usage"])
        self.assertIn("Rex", got["answer"])
        self.assertIn("[turn_1]", got["answer"])
        self.assertEqual(got["citations"], [{"id": "turn_1", "kind": "turn"}])
        self.assertEqual(got["usage"]["calls"], 1)
        self.assertGreater(got["usage"]["tokens_in"], 50)
        self.assertGreater(got["usage"]["tokens_out"], 3)
        self.assertEqual(got["degraded"], [])
        self.assertEqual(got["seq"], self.space["seq"])
        self.assertEqual(self.metric('hypermem_answers_total{outcome="ok"}'), 1)

    def test_lines_end_in_ids_only_here(self):
        got = self.answer().expect(200)
        self.assertIn("I adopted a spotted dog called Rex in Hamburg. [turn_1]",
                      got["context"]["text"])
        self.assertIn("near Salzburg in May. [t-climb]", got["context"]["text"])
        sent = self.models.of("answer")[0].user
        self.assertIn("called Rex in Hamburg. [turn_1]", sent)
        self.assertIn("Question: What is the dog of Caroline called?", sent)
        plain = self.client.get("/v1/spaces/a/query", q="dog Rex").expect(200)["context"]["text"]
        self.assertNotIn("[", plain)

    def test_the_client_s_own_ids_are_cited(self):
        said = "Rex [t-climb, turn_2]. And [turn_99], [fact_12], [nothing]."
        self.models.script({"purpose": "answer", "content": said})
        got = self.answer("mountain boat").expect(200)
        self.assertEqual(got["answer"], said)
        self.assertEqual([one["id"] for one in got["citations"]], ["t-climb", "turn_2"])
        self.assertEqual({one["kind"] for one in got["citations"]}, {"turn"})

    def test_budget_holds_with_marks(self):
        for tokens in (0, 5, 20, 60, 200):
            context = self.answer("dog boat bread mountain", max_tokens=tokens).expect(
                200)["context"]
            self.assertLessEqual(len(context["text"]), 4 * tokens)
        self.assertEqual(self.answer("dog", max_tokens=0).expect(200)["context"]["text"], "")

    def test_parameters_are_those_of_query(self):
        got = self.answer("dog boat", speaker="Melanie", summaries="off").expect(200)
        self.assertNotIn("Rex", got["context"]["text"])
        for name, value in (("nonsense", 1), ("q", "x"), ("explain", True), ("format", "text")):
            self.assert_refused(self.answer(**{name: value}), 400, param=name)
        self.assert_refused(self.client.post("/v1/spaces/a/answer", {}), 400, param="question")
        self.assert_refused(self.answer("  "), 400, param="question")
        self.assert_refused(self.client.post("/v1/spaces/zz/answer", {"question": "x"}), 404)
        self.assertEqual(self.client.get("/v1/spaces/a/answer").status, 405)
        waited = self.answer(min_seq=self.space["seq"]).expect(200)
        self.assertEqual(waited["degraded"], [])
        self.assertEqual(len(self.models.of("answer")), 2)

    def test_failures_are_statuses(self):
        # Of a connection that had been idle a close means nothing: it is asked once more.
        for rule, status in (({"do": "status", "status": 500}, 502),
                             ({"do": "status", "status": 401}, 502),
                             ({"do": "close", "times": 2}, 503),
                             ({"do": "empty_choices"}, 502)):
            self.models.script(dict(rule, purpose="answer"))
            reply = self.answer()
            self.assertEqual(reply.status, status, (rule, reply))
            self.assertTrue(reply.data["error"]["message"])
        self.assertEqual(self.answer().status, 200)
        self.assertEqual(self.metric('hypermem_answers_total{outcome="failed"}'), 4)

    def test_down(self):
        self.models.close()
        self.assertEqual(self.answer().status, 503)
        self.assertEqual(self.answer(events=True).status, 503)


class Slow(AnswerTest):
    ENV = {"HYPERMEM_LLM_TIMEOUT_MS": "300"}

    def test_a_silent_model_is_504(self):
        self.models.script({"purpose": "answer", "do": "hang"})
        self.assert_refused(self.answer(), 504, "deadline_exceeded")


class NoModel(harness.DaemonTest):
    def test_501_with_a_reason(self):
        self.client.post("/v1/spaces/a/turns", {"text": "hello"}).expect(202)
        reply = self.client.post("/v1/spaces/a/answer", {"question": "who?"})
        self.assert_refused(reply, 501, "unimplemented")
        self.assertIn("llm_base_url", reply.data["error"]["message"])


class Events(AnswerTest):
    def test_the_same_answer_in_pieces(self):
        whole = self.answer().expect(200)
        reply = self.answer(events=True)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply.header("content-type"), "text/event-stream")
        self.assertEqual(reply.header("cache-control"), "no-store")
        self.assertTrue(reply.header("x-request-id"))
        events = events_of(reply.text)
        deltas = [data["text"] for name, data in events[:-1] if name == "delta"]
        self.assertGreater(len(deltas), 2)
        self.assertEqual(len(deltas), len(events) - 1)
        self.assertEqual("".join(deltas), whole["answer"])
        name, done = events[-1]
        self.assertEqual(name, "done")
        self.assertEqual(done["citations"], whole["citations"])
        self.assertEqual(done["context"], whole["context"])
        self.assertEqual(done["seq"], whole["seq"])
        self.assertEqual(done["usage"]["calls"], 1)
        # The connection serves on.
        self.assertEqual(self.client.get("/version").status, 200)

    def test_pieces_arrive_while_the_model_speaks(self):
        self.models.script({"purpose": "answer", "do": "stream_stall", "stall_events": 2})
        sock = self.open_stream()
        head = sock.read_until(b"\r\n\r\n").decode()
        self.assertIn("200 OK", head)
        first = sock.read_until(b"\n\n").decode()
        self.assertIn("event: delta", first)
        self.assertEqual(self.models.stats()["in_flight"], 1)  # it has not ended
        sock.close()
        harness.wait_until(lambda: self.models.stats()["abandoned"] == 1, 10,
                           "the call is cancelled when its client leaves")
        self.stop_cleanly()

    def test_a_model_that_does_not_stream(self):
        self.models.script({"purpose": "answer", "do": "stream_ignored"})
        events = events_of(self.answer(events=True).text)
        self.assertEqual([name for name, _ in events], ["delta", "done"])
        self.assertIn("Rex", events[0][1]["text"])

    def test_before_the_first_piece_a_failure_is_a_status(self):
        self.models.script({"purpose": "answer", "do": "status", "status": 500})
        self.assert_refused(self.answer(events=True), 502, "upstream")

    def test_afterwards_it_is_an_event(self):
        for rule in ({"do": "stream_cut", "cut_events": 3}, {"do": "stream_error"}):
            self.models.script(dict(rule, purpose="answer"))
            reply = self.answer(events=True)
            self.assertEqual(reply.status, 200)
            events = events_of(reply.text)
            self.assertEqual(events[0][0], "delta")
            self.assertEqual(events[-1][0], "error")
            self.assertIn(events[-1][1]["code"], ("upstream", "unavailable"))
            self.assertEqual(self.client.get("/version").status, 200)

    def test_many_at_once(self):
        self.models.set(event_s=0.01)
        texts, threads = [], []

        def ask():
            client = self.daemon.client(seconds=60)
            reply = client.call("POST", "/v1/spaces/a/answer", {"question": "dog Rex"},
                                {"Accept": "text/event-stream"})
            texts.append(events_of(reply.text))
        for _ in range(24):
            threads.append(threading.Thread(target=ask))
            threads[-1].start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(texts), 24)
        for events in texts:
            self.assertEqual(events[-1][0], "done")
            self.assertIn("Rex", "".join(data.get("text", "") for _, data in events))
        self.stop_cleanly()


class Leaving(AnswerTest):
    def test_before_the_first_piece(self):
        self.models.script({"purpose": "answer", "do": "hang", "times": None})
        for _ in range(3):
            sock = self.open_stream()
            harness.wait_until(lambda: self.models.stats()["in_flight"] > 0, 10, "the call")
            sock.close()
            harness.wait_until(lambda: self.models.stats()["in_flight"] == 0, 10,
                               "the call is cancelled")
        self.assertEqual(self.models.stats()["abandoned"], 3)
        self.stop_cleanly()

    def test_in_the_middle_many_times(self):
        self.models.set(event_s=0.005, event_chars=2)
        for n in range(20):
            sock = self.open_stream()
            for _ in range(n % 5):
                sock.read_until(b"event: delta")
            sock.close()
        harness.wait_until(lambda: self.models.stats()["in_flight"] == 0, 20, "no call is left")
        self.assertEqual(self.answer().status, 200)
        self.stop_cleanly()

    def test_stop_while_it_streams(self):
        self.models.script({"purpose": "answer", "do": "stream_stall"})
        sock = self.open_stream()
        sock.read_until(b"event: delta")
        self.daemon.signal()
        rest = b""
        while sock.more():
            rest = sock.have
        self.assertIn(b"event: error", rest)
        self.assertEqual(self.daemon.wait(), 0)

    def test_stop_while_it_waits(self):
        self.models.script({"purpose": "answer", "do": "hang"})
        sock = self.open_stream()
        harness.wait_until(lambda: self.models.stats()["in_flight"] == 1, 10, "the call")
        self.daemon.signal()
        self.assertEqual(sock.reply().status, 503)
        self.assertEqual(self.daemon.wait(), 0)


if __name__ == "__main__":
    unittest.main()
