"""Vectors in a query: what is found without a shared word, gates and filters, the cache, failures,
generations; and that a daemon without models answers as before.

The fake's vectors come from words. A question whose words nobody said gets a near vector by the
query prefix, which is put before it for the model and for nobody else."""
import json
import unittest

import harness
from model_server import ModelServer

PREFIX = "spotted dog Rex adopted: "
TURNS = [
    {"id": "dog", "session": "s1", "speaker": "Ann", "timestamp": "2023-05-01T10:00:00Z",
     "text": "I adopted a spotted dog called Rex in Hamburg."},
    {"session": "s1", "speaker": "Bob", "timestamp": "2023-05-01T10:01:00Z",
     "text": "The wooden boat at the lake needs new sails."},
    {"session": "s2", "speaker": "Ann", "timestamp": "2023-06-01T10:00:00Z",
     "text": "My grandmother bakes rye bread every Sunday morning."},
    {"session": "s2", "speaker": "Bob", "timestamp": "2023-06-01T10:01:00Z",
     "text": "We climbed a steep mountain near Salzburg last autumn."},
]
STAGES = ("facts", "episodes", "topics")


class VectorsTest(harness.LoggedTest):
    ENV = {}
    MODEL = {"dimension": 256}

    def setUp(self):
        self.models = ModelServer(**self.MODEL)
        self.addCleanup(self.models.close)
        env = dict({"HYPERMEM_EMBED_BASE_URL": self.models.url,
                    "HYPERMEM_EMBED_ATTEMPTS": "1",
                    "HYPERMEM_EMBED_QUERY_PREFIX": PREFIX}, **self.ENV)
        self.daemon = harness.Daemon(env=env)
        self.addCleanup(self.daemon.close)
        self.daemons = (self.daemon,)
        self.client = self.daemon.client(seconds=30)
        self.prepare()

    def prepare(self):
        self.tell()

    def tell(self, space="a", turns=None):
        self.client.post("/v1/spaces/%s/turns" % space, {"turns": turns or TURNS}).expect(202)
        self.client.settle(space)
        self.embedded(space)

    def embedded(self, space="a", client=None):
        """Until every document of the space has its vector in an active generation."""
        def ready():
            vectors = (client or self.client).get("/v1/spaces/" + space).expect(200)["vectors"]
            return vectors["state"] == "active" and vectors["behind"] == 0
        harness.wait_until(ready, 30, "vectors of " + space)

    def settled(self, client=None):
        """And until hyperedges have theirs, which housekeeping makes a moment later."""
        def ready():
            got = [(client or self.client).get("/v1/spaces/a/query", q="zyzzyva", explain=True,
                                               **{"lambda": value}).expect(200)["explain"]
                   for value in (0, 5)]
            return got[0] != got[1]
        harness.wait_until(ready, 30, "vectors of hyperedges")

    def query(self, q="zyzzyva", **params):
        return self.client.get("/v1/spaces/a/query", q=q, **params).expect(200)

    def questions(self):
        """Requests that embedded a question."""
        return [one for one in self.models.of("embed") if one.texts[0].startswith(PREFIX)]

    def metric(self, name):
        for line in self.client.get("/metrics").text.splitlines():
            if line.startswith(name + " "):
                return int(line.split()[-1])
        raise AssertionError("no series %s" % name)


class Vectors(VectorsTest):
    def test_found_without_a_shared_word(self):
        self.assertEqual(self.query(vectors=False)["facts"], [])
        got = self.query(explain=True)
        self.assertEqual(got["degraded"], [])
        self.assertIn("Rex", got["facts"][0]["content"])
        self.assertIn("Rex", got["context"]["text"])
        self.assertEqual(got["context"]["turn_ids"][0], "dog")
        self.assertTrue(got["episodes"] and got["topics"])
        self.assertTrue(all(0 <= one["score"] <= 1 for name in STAGES for one in got[name]))
        self.assertGreaterEqual(got["timings_ms"]["vectors"], 0)
        first = got["explain"]["stages"]["facts"][0]
        self.assertEqual(sorted(first["signals"]), ["turn_vector", "vector"])
        self.assertEqual(first["signals"]["vector"]["rank"], 1)
        self.assertGreater(first["signals"]["vector"]["score"], 0.3)
        for name in ("episodes", "topics"):
            self.assertIn("vector", got["explain"]["stages"][name][0]["signals"])

    def test_the_sum_is_of_words_and_vectors(self):
        got = self.query("the boat", explain=True)
        self.assertIn("boat", got["facts"][0]["content"] + got["facts"][1]["content"])
        weights = {"own": 0.5, "turn": 1, "window1": 1, "window2": 1, "window4": 1, "episode": 1,
                   "vector": 1, "turn_vector": 2}
        for fact in got["explain"]["stages"]["facts"]:
            total = sum(weights[name] * one["score"] for name, one in fact["signals"].items())
            self.assertAlmostEqual(fact["score"], total * fact["factor"] / (5.5 + 3), 4)

    def test_recent_turns_have_vectors_too(self):
        self.client.post("/v1/spaces/a/turns", {
            "session": "s9", "speaker": "Ann", "text": "The spotted dog adopted us, Rex did."}
        ).expect(202)
        self.embedded()
        got = self.query(explain=True)
        self.assertTrue(got["recent"], got)
        self.assertIn("dog adopted us", got["recent"][0]["text"])
        self.assertEqual(list(got["explain"]["stages"]["recent"][0]["signals"]), ["vector"])

    def test_filters_and_gate(self):
        got = self.query(speaker="Bob")
        self.assertFalse(any("Rex" in fact["content"] for fact in got["facts"]))
        got = self.query(since="2023-05-20T00:00:00Z", session="s2")
        self.assertFalse(any("Rex" in fact["content"] for fact in got["facts"]))
        got = self.query(gate="strict", topics=1, episodes=1, explain=True)
        self.assertEqual(len(got["episodes"]), 1)
        for fact in got["facts"]:
            self.assertIn(got["episodes"][0]["id"], fact["episode_ids"])

    def test_fusions(self):
        for fusion in ("score", "max", "rrf"):
            got = self.query(fusion=fusion)
            self.assertTrue(any("Rex" in fact["content"] for fact in got["facts"]), fusion)
            self.assertTrue(all(0 <= fact["score"] <= 1 for fact in got["facts"]))

    def test_lambda(self):
        self.settled()

        def own(**params):
            stage = self.query(explain=True, **params)["explain"]["stages"]["facts"]
            return {fact["id"]: fact["signals"].get("vector", {"score": 0})["score"]
                    for fact in stage}
        self.assertEqual(own(), own(**{"lambda": "0.5"}))
        self.assertNotEqual(own(), own(**{"lambda": "0"}))
        self.assertNotEqual(own(), own(**{"lambda": "2.5"}))
        for bad in ("-1", "11", "x", "nan", ""):
            self.assert_refused(self.client.get("/v1/spaces/a/query", q="x", **{"lambda": bad}),
                                400, param="lambda")
        body = {"q": "zyzzyva", "lambda": 0.25, "vectors": True}
        self.client.post("/v1/spaces/a/query", body).expect(200)
        self.assert_refused(self.client.post("/v1/spaces/a/query", {"q": "x", "lambda": "1"}), 400,
                            param="lambda")
        self.assert_refused(self.client.get("/v1/spaces/a/query", q="x", vectors="maybe"), 400,
                            param="vectors")

    def test_a_question_is_embedded_once(self):
        for _ in range(5):
            self.query("one and the same")
        self.assertEqual(len(self.questions()), 1)
        self.assertEqual(self.questions()[0].texts, [PREFIX + "one and the same"])
        self.assertEqual(self.metric('hypermem_embed_cache_total{outcome="hit"}'), 4)
        self.assertEqual(self.metric('hypermem_embed_cache_total{outcome="miss"}'), 1)
        self.tell("b", [{"text": "A second space with a dog."}])
        self.client.get("/v1/spaces/b/query", q="one and the same").expect(200)
        self.assertEqual(len(self.questions()), 1)  # of all spaces
        self.query("another", vectors=False)
        self.assertEqual(len(self.questions()), 1)

    def test_speakers_names_are_not_embedded(self):
        self.query("What did Bob say of Ann's boat?")
        self.query("What did say of boat?")
        self.query("Ann")
        self.assertEqual([one.texts for one in self.questions()],
                         [[PREFIX + "What did say of boat?"], [PREFIX + "Ann"]])

    def test_a_long_question_is_cut_for_the_model(self):
        self.query("dog " * 1000)
        self.assertLess(len(self.questions()[0].texts[0]), 2100)

    def test_what_fails_costs_its_part_alone(self):
        plain = self.query("the boat", vectors=False)
        for n, rule in enumerate(({"do": "status", "status": 500}, {"do": "vector_values"},
                                  {"do": "other_dimension"}, {"do": "not_an_object"})):
            self.models.clear()
            self.models.script(dict(rule, purpose="embed"))
            got = self.query("the boat")
            self.assertEqual(got["degraded"], ["embed"], rule)
            for name in STAGES + ("recent", "context"):
                self.assertEqual(got[name], plain[name], rule)
            # Nothing of it was kept: the same question is embedded anew.
            self.assertEqual(self.query("the boat %d" % n)["degraded"], [])
        self.assertEqual(self.query("the boat")["degraded"], [])
        self.assertEqual(self.metric('hypermem_query_degraded_total{reason="embed"}'), 4)

    def test_down(self):
        plain = self.query("the boat", vectors=False)
        self.query("known")
        self.models.close()
        got = self.query("the boat")
        self.assertEqual(got["degraded"], ["embed"])
        self.assertEqual(got["facts"], plain["facts"])
        self.assertEqual(self.query("known")["degraded"], [])  # from memory
        self.assertEqual(self.daemon.stop(), 0)

    def test_min_seq_then_vector(self):
        seq = self.client.post("/v1/spaces/a/turns", {
            "session": "s7", "text": "A parrot sang in the kitchen."}).expect(202)["seq"]
        got = self.query("parrot", min_seq=seq, wait_ms=10000)
        self.assertNotIn("behind", got["degraded"])
        self.assertTrue(any("parrot" in one.get("text", "") for one in got["recent"])
                        or any("parrot" in one["content"] for one in got["facts"]))

    def test_as_text(self):
        reply = self.client.get("/v1/spaces/a/query", q="zyzzyva", format="text")
        self.assertEqual(reply.status, 200)
        self.assertIn("Rex", reply.text)

    def test_space_says_so(self):
        got = self.client.get("/v1/spaces/a").expect(200)
        self.assertEqual(got["degraded"], [])
        self.assertEqual(got["vectors"]["dimension"], 256)


class Deadline(VectorsTest):
    ENV = {"HYPERMEM_EMBED_QUERY_DEADLINE_MS": "150"}

    def test_a_late_model_is_not_waited_for(self):
        self.models.script({"purpose": "embed", "do": "hang"})
        got = self.query("the boat")
        self.assertEqual(got["degraded"], ["embed"])
        self.assertTrue(got["facts"])
        self.assertEqual(self.query("the boat")["degraded"], [])

    def test_a_client_that_leaves(self):
        self.models.script({"purpose": "embed", "do": "hang", "times": 3})
        before = self.models.stats()["requests"]
        for n in range(3):
            sock = self.daemon.raw()
            sock.send(b"GET /v1/spaces/a/query?q=gone%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % n)
            sock.close()
        harness.wait_until(lambda: self.models.stats()["requests"] == before + 3
                           and self.models.stats()["in_flight"] == 0, 10, "no call is left")
        self.assertEqual(self.daemon.stop(), 0)


class Generations(VectorsTest):
    def prepare(self):
        self.models.script({"purpose": "embed", "do": "status", "status": 500, "times": None})
        self.client.post("/v1/spaces/a/turns", {"turns": TURNS}).expect(202)
        self.client.settle("a")

    def test_reindex_until_they_are_there(self):
        got = self.query("the boat")
        self.assertEqual(got["degraded"], ["reindex"])
        self.assertTrue(got["facts"])
        self.assertEqual(self.client.get("/v1/spaces/a").expect(200)["degraded"], ["reindex"])
        self.client.put("/v1/spaces/empty").expect(200, 201)
        empty = self.client.get("/v1/spaces/empty/query", q="x").expect(200)
        self.assertEqual(empty["degraded"], [])

    def test_another_model_is_another_generation(self):
        self.check_switch("HYPERMEM_EMBED_MODEL", "another",
                          lambda before, after: after == before)  # the fake's vectors are the same

    def test_other_dimensions_are_another_generation(self):
        self.check_switch("HYPERMEM_EMBED_DIMENSIONS", "64",
                          lambda before, after: after and after[0]["id"] == before[0]["id"])
        told = self.daemon.client().get("/v1/spaces/a").expect(200)["vectors"]
        self.assertEqual(told["dimension"], 64)

    def check_switch(self, name, value, is_switched):
        self.models.clear()
        self.daemon.restart()  # a stage that has failed would be tried later
        client = self.daemon.client()
        self.embedded(client=client)
        self.settled(client)
        before = client.get("/v1/spaces/a/query", q="zyzzyva").expect(200)
        self.assertIn("Rex", before["facts"][0]["content"])
        # The next model is down: the old vectors are not used for its questions.
        self.models.script({"purpose": "embed", "do": "status", "status": 500, "times": None})
        self.daemon.env[name] = value
        self.daemon.restart()
        client = self.daemon.client()
        got = client.get("/v1/spaces/a/query", q="zyzzyva").expect(200)
        self.assertEqual(got["degraded"], ["reindex"])
        self.assertEqual(got["facts"], [])
        self.models.clear()
        self.daemon.restart()
        client = self.daemon.client()

        def switched():
            got = client.get("/v1/spaces/a/query", q="zyzzyva").expect(200)
            return got["degraded"] == [] and is_switched(before["facts"], got["facts"])
        harness.wait_until(switched, 30, "the new generation is used")


class WithReranker(VectorsTest):
    def prepare(self):
        self.tell()
        self.daemon.env["HYPERMEM_RERANK_BASE_URL"] = self.models.url
        self.daemon.restart()
        self.client = self.daemon.client()

    def test_both(self):
        got = self.query("mountain boat", explain=True)
        self.assertEqual(got["degraded"], [])
        signals = got["explain"]["stages"]["facts"][0]["signals"]
        self.assertIn("rerank", signals)
        self.assertIn("vector", signals)
        # What only its vector brought in is judged as well.
        documents = self.models.of("rerank")[0].texts
        self.assertTrue(any("Rex" in text for text in documents), documents)
        self.models.close()
        got = self.query("another mountain")
        self.assertEqual(got["degraded"], ["embed", "rerank"])


class NoModels(harness.DaemonTest):
    """No provider: not a trace of vectors in any reply."""

    def test_nothing_is_different(self):
        self.client.post("/v1/spaces/a/turns", {"turns": TURNS}).expect(202)
        self.client.settle("a")
        plain = self.client.get("/v1/spaces/a/query", q="the boat", explain=True).expect(200)
        switched = self.client.get("/v1/spaces/a/query", q="the boat", explain=True, vectors=True,
                                   **{"lambda": 2}).expect(200)
        for reply in (plain, switched):
            self.assertEqual(reply["degraded"], [])
            self.assertNotIn("vectors", reply["timings_ms"])
            self.assertNotIn("vector", json.dumps(reply))
            del reply["timings_ms"]
        self.assertEqual(plain, switched)
        self.assertEqual(self.client.get("/v1/spaces/a").expect(200)["degraded"], [])


if __name__ == "__main__":
    unittest.main()
