"""Rerank in a query: its order in lists, gate and context, every form of provider, limits,
deadline and failures. No embedding model."""
import json
import unittest

import harness
from model_server import ModelServer

WORDS = ("garden", "violin", "harbour", "lantern", "engine", "painting", "river", "ticket")


def turns():
    """Thirty lines that all hold "boat", some more of the words; one names the Zanzibar boat."""
    made = []
    for i in range(30):
        a, b = WORDS[i % 8], WORDS[(i * 3 + 1) % 8]
        text = "The boat of number %d stands by the %s and the %s, painted anew." % (i, a, b)
        if i == 17:
            text = "Our boat went to Zanzibar past the coral reefs, and nobody was seasick there."
        made.append({"session": "s%d" % (i // 6), "speaker": "Ann" if i % 2 else "Bob",
                     "text": text, "timestamp": "2023-05-%02dT10:%02d:00Z" % (1 + i // 6, i)})
    return made


class RerankTest(harness.LoggedTest):
    ENV = {}

    def setUp(self):
        self.models = ModelServer()
        self.addCleanup(self.models.close)
        self.start()

    def start(self, **env):
        env = dict({"HYPERMEM_RERANK_BASE_URL": self.models.url}, **dict(self.ENV, **env))
        self.daemon = harness.Daemon(env=env)
        self.addCleanup(self.daemon.close)
        self.daemons = (self.daemon,)
        self.client = self.daemon.client(seconds=30)
        self.client.post("/v1/spaces/a/turns", {"turns": turns()}).expect(202)
        self.client.settle("a")

    def query(self, q="boat", **params):
        return self.client.get("/v1/spaces/a/query", q=q, **params).expect(200)


class Rerank(RerankTest):
    def test_the_order_is_the_reranker_s(self):
        plain = self.query("boat Zanzibar", rerank="off")
        self.assertEqual(self.models.of("rerank"), [])
        got = self.query("boat Zanzibar coral reefs seasick", rerank="on", explain=True)
        self.assertEqual(got["degraded"], [])
        asked = self.models.of("rerank")
        self.assertEqual(len(asked), 3)  # facts, episodes, topics
        self.assertIn("Zanzibar", got["facts"][0]["content"])
        scores = [fact["score"] for fact in got["facts"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertTrue(all(0 <= score <= 1 for score in scores))
        signals = got["explain"]["stages"]["facts"][0]["signals"]
        self.assertEqual(signals["rerank"]["rank"], 1)
        self.assertAlmostEqual(signals["rerank"]["score"], got["facts"][0]["score"], 5)
        self.assertEqual(len(got["facts"]), len(plain["facts"]))
        documents = asked[0].texts
        self.assertEqual(len(documents), len(set(documents)))
        self.assertTrue(all("May 2023" in text and ("Ann" in text or "Bob" in text)
                            for text in documents), documents[:3])
        self.assertEqual(asked[0].asked, "boat Zanzibar coral reefs seasick")

    def test_on_is_the_default(self):
        self.query()
        self.assertEqual(len(self.models.of("rerank")), 3)
        self.query(topics=0, episodes=0)
        self.assertEqual(len(self.models.of("rerank")), 4)
        self.query("zyzzyva")  # nothing is found, nothing is asked
        self.assertEqual(len(self.models.of("rerank")), 4)

    def test_logits_keep_their_order(self):
        question = "boat Zanzibar coral reefs garden violin"
        plain = self.query(question, topics=0, episodes=0)
        self.models.script({"purpose": "rerank", "do": "logits"})
        got = self.query(question, topics=0, episodes=0)
        self.assertEqual(self.models.unused(), [])
        self.assertEqual(got["degraded"], [])
        self.assertEqual([fact["id"] for fact in got["facts"]],
                         [fact["id"] for fact in plain["facts"]])
        self.assertTrue(all(0 <= fact["score"] <= 1 for fact in got["facts"]))
        self.assertNotEqual([fact["score"] for fact in got["facts"]],
                            [fact["score"] for fact in plain["facts"]])

    def test_context_follows(self):
        question = "painted boat coral reefs"
        plain = self.query(question, rerank="off", max_tokens=25, fusion="score")
        got = self.query(question, max_tokens=25)
        self.assertIn("coral", got["context"]["text"])
        self.assertLessEqual(len(got["context"]["text"]), 100)
        self.assertTrue(plain["context"]["text"])

    def test_all_forms(self):
        for form in ("cohere", "tei", "voyage", "dashscope", "deepinfra"):
            with self.subTest(form=form):
                self.daemon.close()
                self.models.clear()
                self.models.set(rerank=form, rerank_paths=None)
                self.start(HYPERMEM_RERANK_FORMAT=form, HYPERMEM_RERANK_MODEL="m")
                got = self.query("boat Zanzibar coral reefs seasick")
                self.assertEqual(got["degraded"], [], form)
                self.assertIn("Zanzibar", got["facts"][0]["content"])
                self.daemon.close()
                self.start(HYPERMEM_RERANK_MODEL="m")  # found by itself
                got = self.query("boat Zanzibar coral reefs seasick")
                self.assertEqual(got["degraded"], [], form)
                self.assertIn("Zanzibar", got["facts"][0]["content"])

    def test_failures_leave_the_fused_order(self):
        plain = self.query(rerank="off")
        for rule in ({"do": "status", "status": 500}, {"do": "not_an_object"}, {"do": "reset"},
                     {"do": "html"}):
            self.models.script(dict(rule, purpose="rerank", times=None))
            got = self.query()
            self.assertEqual(got["degraded"], ["rerank"], rule)
            for name in ("facts", "episodes", "topics", "recent", "context"):
                self.assertEqual(got[name], plain[name], rule)
            self.models.clear()
            # The breaker opens after five in a row; a good one closes the count.
            self.assertEqual(self.query()["degraded"], [])
        metrics = self.client.get("/metrics").text
        self.assertIn('hypermem_query_degraded_total{reason="rerank"} 4\n', metrics)

    def test_the_first_list_stands_when_a_later_one_fails(self):
        self.models.script({"purpose": "rerank", "nth": [2, 3, 4], "do": "status", "status": 500})
        got = self.query("boat Zanzibar coral reefs seasick", explain=True)
        self.assertEqual(got["degraded"], ["rerank"])
        self.assertIn("rerank", got["explain"]["stages"]["facts"][0]["signals"])
        self.assertNotIn("rerank", got["explain"]["stages"]["episodes"][0]["signals"])

    def test_missing_scores_rank_last(self):
        self.models.script({"purpose": "rerank", "do": "missing_scores", "times": 1, "n": 2})
        got = self.query(topics=0, episodes=0, explain=True)
        self.assertEqual(got["degraded"], [])
        facts = got["explain"]["stages"]["facts"]
        judged = ["rerank" in fact["signals"] for fact in facts]
        self.assertEqual(judged, sorted(judged, reverse=True))
        self.assertIn(False, judged)

    def test_parameters(self):
        self.assert_refused(self.client.get("/v1/spaces/a/query", q="x", rerank="maybe"), 501,
                            param="rerank")
        self.query(rerank="on")

    def test_text_format(self):
        reply = self.client.get("/v1/spaces/a/query", q="boat", format="text")
        self.assertEqual(reply.status, 200)
        self.assertIn("boat", reply.text)


class Limits(RerankTest):
    ENV = {"HYPERMEM_RERANK_CANDIDATES": "7", "HYPERMEM_RERANK_CHARS": "40"}

    def test_candidates_and_characters(self):
        got = self.query(topics=0, episodes=0)
        (asked,) = self.models.of("rerank")
        self.assertEqual(len(asked.texts), 7)
        self.assertTrue(all(len(text) <= 40 for text in asked.texts))
        self.assertEqual(len(got["facts"]), len(self.query(
            topics=0, episodes=0, rerank="off")["facts"]))


class Deadline(RerankTest):
    ENV = {"HYPERMEM_RERANK_DEADLINE_MS": "150"}

    def test_a_late_reranker_is_not_waited_for(self):
        plain = self.query(rerank="off")
        self.models.script({"purpose": "rerank", "do": "hang"})
        got = self.query()
        self.assertEqual(got["degraded"], ["rerank"])
        self.assertEqual(got["facts"], plain["facts"])
        self.assertEqual(len(self.models.of("rerank")), 1)
        self.assertEqual(self.daemon.stop(), 0)

    def test_one_deadline_for_all_lists(self):
        self.models.set(delays_s={"rerank": 0.1})
        got = self.query(explain=True)
        self.assertEqual(got["degraded"], ["rerank"])
        self.assertIn("rerank", got["explain"]["stages"]["facts"][0]["signals"])
        self.assertLess(len(self.models.of("rerank")), 3)

    def test_a_client_that_leaves(self):
        self.models.script({"purpose": "rerank", "do": "hang", "times": None})
        for _ in range(5):
            sock = self.daemon.raw()
            sock.send(b"GET /v1/spaces/a/query?q=boat HTTP/1.1\r\nHost: localhost\r\n\r\n")
            sock.close()
        harness.wait_until(lambda: self.models.stats()["in_flight"] == 0
                           and self.models.stats()["requests"] > 0, 10, "no call is left")
        self.assertEqual(self.query(rerank="off")["degraded"], [])
        self.assertEqual(self.daemon.stop(), 0)


class NoReranker(harness.DaemonTest):
    def test_off_is_fine_and_on_is_501(self):
        self.client.post("/v1/spaces/a/turns", {"text": "a boat"}).expect(202)
        self.assertEqual(self.client.get("/v1/spaces/a/query", q="boat", rerank="off").expect(
            200)["degraded"], [])
        self.assertEqual(self.client.get("/v1/spaces/a/query", q="boat").expect(
            200)["degraded"], [])
        self.assert_refused(self.client.get("/v1/spaces/a/query", q="boat", rerank="on"), 501,
                            "unimplemented", "rerank")
        body = json.dumps({"q": "boat", "rerank": "on"}).encode()
        self.assert_refused(self.client.post("/v1/spaces/a/query", body), 501, param="rerank")


if __name__ == "__main__":
    unittest.main()
