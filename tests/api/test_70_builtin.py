"""Models of this process: the encoder and the cross-encoder beside everything that providers do.

The tiny models have random weights: what they say means nothing, but it is theirs. What vectors are
for is tested with the real one, which `make model` has put beside the binary."""
import json
import os
import shutil
import signal
import tempfile
import threading
import unittest

import harness
from harness import wait_until
from test_65_model_stages import DOG, MOVE, RUN, turns

GOLDEN = os.path.join(harness.ROOT, "tests", "data", "golden")
DEFAULT = "all-MiniLM-L6-v2"
MEAN, CLS, CROSS = (os.path.join(GOLDEN, "tiny-" + name)
                    for name in ("bert-mean", "bert-cls", "cross"))


def copy_of(model):
    """A copy of a model, in a directory of its own."""
    copy = os.path.join(tempfile.mkdtemp(prefix="hmtest-"), "copy")
    shutil.copytree(model, copy)
    return copy


class Builtin(harness.LoggedTest):
    def start(self, **env):
        self.daemon = harness.Daemon(env=env)
        self.addCleanup(self.daemon.close)
        self.daemons = (self.daemon,)
        return self.daemon.client(seconds=60)

    def again(self, **env):
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log())
        self.daemon.env = env
        self.daemon.start()
        return self.daemon.client(seconds=60)

    def refused(self, **env):
        """The log of a start that fails."""
        daemon = harness.Daemon(env=env, start=False)
        self.addCleanup(daemon.close)
        daemon.spawn()
        self.assertEqual(daemon.wait(), 1)
        return daemon.log()

    def space(self, client, name="a"):
        return client.get("/v1/spaces/" + name).expect(200)

    def complete(self, client, name="a", seconds=60):
        def look():
            told = self.space(client, name)["vectors"]
            return told if told["state"] == "active" and told["behind"] == 0 and \
                "next" not in told else None
        return wait_until(look, seconds, "the vectors of " + name)

    def tell(self, client, name="a", stories=(DOG, RUN, MOVE)):
        for number, story in enumerate(stories):
            client.post("/v1/spaces/%s/turns" % name,
                        {"turns": turns(story, session="s%d" % number)}).expect(202)
        client.settle(name)
        return self.complete(client, name)


class Encoder(Builtin):
    def test_a_space_names_it(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        got = self.tell(client)
        space = self.space(client)
        self.assertEqual(space["models"]["embed"],
                         {"provider": "builtin", "model": "tiny-bert-mean"})
        self.assertEqual(space["search"], "words and vectors")
        self.assertEqual(got["dimension"], 32)
        self.assertTrue(all(got["embedded"].values()), got)
        self.assertIn('by="words and vectors"', self.daemon.log())
        self.assertIn("encoder=builtin", self.daemon.log())

    def test_the_receipt_says_when_vectors_are_there(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        some = turns(DOG)
        got = client.post("/v1/spaces/a/turns", {"turns": some}).expect(202)
        self.assertEqual(got["vectors"], "pending")
        facts = client.get("/v1/spaces/a/query", q=some[0]["text"]).expect(200)
        self.assertTrue(facts["recent"] or facts["facts"])  # by its words, at once
        client.settle("a")
        self.complete(client)
        got = client.post("/v1/spaces/a/turns", {"turns": some}).expect(202)
        self.assertEqual((got["duplicates"], got["vectors"]), (len(some), "ready"))

    def test_a_query_uses_it(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        self.tell(client)
        got = client.get("/v1/spaces/a/query", q="zyzzyva", explain=True).expect(200)
        self.assertEqual(got["degraded"], [])
        self.assertGreaterEqual(got["timings_ms"]["vectors"], 0)
        facts = got["explain"]["stages"]["facts"]
        self.assertTrue(facts and all("vector" in fact["signals"] for fact in facts), facts)
        words = client.get("/v1/spaces/a/query", q="zyzzyva", vectors=False).expect(200)
        self.assertEqual(words["facts"], [])

    def test_killed_while_it_encodes(self):
        env = {"HYPERMEM_EMBED_MODEL_DIR": "", "HYPERMEM_STAGE_PACE_MS": "0"}
        client = self.start(**env)
        for call in range(4):
            some = ["Chapter %d of story %d is about rivers." % (i, call) for i in range(40)]
            client.post("/v1/spaces/a/turns", {"turns": turns(some, "s%d" % call)}).expect(202)
            wait_until(lambda: self.space(client)["vectors"]["state"] != "none", 60, "vectors")
            self.daemon.kill()
            got = harness.run("fsck", "--data-dir", self.daemon.data_dir)
            self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
            self.daemon.start()
            client = self.daemon.client(seconds=60)
        client.settle("a")
        self.assertEqual(self.complete(client)["embedded"]["turns"], 160)

    def test_spaces_of_confusable_names(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        names = ("a", "A", "ab", "a:b", "a.b")
        for number, name in enumerate(names):
            some = ["The password of number %d is zebra%d." % (number, number)]
            client.post("/v1/spaces/%s/turns" % name, {"turns": turns(some)}).expect(202)
            client.settle(name)
        for name in names:
            self.complete(client, name)
        for number, name in enumerate(names):
            got = client.get("/v1/spaces/%s/query" % name, q="zyzzyva zebra0 zebra1").expect(200)
            self.assertEqual([fact["content"].count("zebra%d" % number) for fact in got["facts"]],
                             [1], got)

    def test_chinese(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR="")
        self.tell(client, stories=(["我昨天在柏林收养了一只叫小黑的狗。", "姐姐在交响乐团拉小提琴。"],
                                   ["他决定搬到上海工作。", "我们在湖边租了一条木船。"]))
        for question, answer in (("小提琴是谁拉的？", "小提琴"), ("搬到哪里工作？", "上海")):
            got = client.get("/v1/spaces/a/query", q=question).expect(200)
            self.assertEqual(got["degraded"], [])
            self.assertIn(answer, got["facts"][0]["content"])

    def test_a_client_that_leaves(self):
        """Nobody is there any more while its question is encoded; nobody else notices."""
        client = self.start(HYPERMEM_EMBED_MODEL_DIR="")
        self.tell(client)
        question = b"+".join([b"what+did+she+adopt"] * 60)
        for number in range(40):  # each leaves at another moment
            with self.daemon.raw() as sock:
                sock.send(b"GET /v1/spaces/a/query?q=%d+%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % (
                    number, question))
                threading.Event().wait(0.004 * (number % 8))
        self.assertTrue(client.get("/v1/spaces/a/query", q="the dog").expect(200)["facts"])

    def test_timings_have_its_part(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        self.tell(client)
        first, again = (client.get("/v1/spaces/a/query", q="zyzzyva").expect(200)["timings_ms"]
                        for _ in range(2))
        self.assertGreater(first["embed"], 0)
        self.assertGreaterEqual(first["total"], first["embed"])
        self.assertNotIn("embed", again)  # remembered
        self.assertNotIn("rerank", first)
        self.assertIn('hypermem_query_duration_seconds_count{stage="embed"} 1',
                      client.get("/metrics").text)

    def test_its_calls_are_counted(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        self.tell(client)
        client.get("/v1/spaces/a/query", q="zyzzyva").expect(200)
        lines = client.get("/metrics").text.splitlines()
        ok = [line for line in lines if line.startswith("hypermem_llm_requests_total{") and
              'purpose="embed"' in line and 'outcome="ok"' in line]
        self.assertEqual(len(ok), 1, ok)
        self.assertGreaterEqual(int(ok[0].split()[-1]), 2)

    def test_another_model_makes_vectors_anew(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        first = self.tell(client)
        client = self.again(HYPERMEM_EMBED_MODEL_DIR=CLS)
        self.assertIn("tiny-bert-mean", first["identity"])
        wait_until(lambda: "tiny-bert-cls" in self.space(client)["vectors"]["identity"], 60,
                   "vectors of the other model")
        self.assertEqual(self.complete(client)["dimension"], 48)
        self.assertEqual(self.space(client)["models"]["embed"]["model"], "tiny-bert-cls")
        self.assertEqual(client.get("/v1/spaces/a/query", q="zyzzyva").expect(200)["degraded"], [])

    def test_vectors_of_another_model_are_never_told_complete(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        names = ["s%d" % number for number in range(20)]
        for name in names:
            client.post("/v1/spaces/%s/turns" % name, {"turns": turns(DOG)}).expect(202)
        for name in names:
            client.settle(name)
            self.complete(client, name)
        client = self.again(HYPERMEM_EMBED_MODEL_DIR=CLS)
        for name in reversed(names):  # from the start on, whether they are made anew yet or not
            told = self.space(client, name)["vectors"]
            self.assertTrue("next" in told or "tiny-bert-cls" in told["identity"], told)
        for name in names:
            self.assertIn("tiny-bert-cls", self.complete(client, name)["identity"])

    def test_a_space_from_before_it(self):
        client = self.start()
        client.post("/v1/spaces/a/turns", {"turns": turns(DOG)}).expect(202)
        client.settle("a")
        client = self.again(HYPERMEM_EMBED_MODEL_DIR=MEAN)
        self.complete(client)

    def test_dimensions_are_cut(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN, HYPERMEM_EMBED_DIMENSIONS="16")
        self.assertEqual(self.tell(client)["dimension"], 16)
        self.assertIn("embed_dimensions", self.refused(HYPERMEM_EMBED_MODEL_DIR=MEAN,
                                                       HYPERMEM_EMBED_DIMENSIONS="33"))

    def test_prefixes(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN, HYPERMEM_EMBED_QUERY_PREFIX="query: ")
        self.assertIn('query_prefix="query: "', self.tell(client)["identity"])
        for name in ("query", "document"):
            param = "embed_%s_prefix" % name
            self.assertIn(param, self.refused(HYPERMEM_EMBED_MODEL_DIR=MEAN,
                                              **{"HYPERMEM_" + param.upper(): "query " * 100}))

    def test_prompts_that_a_model_brings(self):
        brought = copy_of(MEAN)
        self.addCleanup(shutil.rmtree, os.path.dirname(brought))
        with open(os.path.join(brought, "config_sentence_transformers.json"), "w",
                  encoding="utf-8") as file:
            json.dump({"prompts": {"query": "query " * 100, "document": "passage: "}}, file)
        self.assertIn("embed_query_prefix: the prompt that the model brings",
                      self.refused(HYPERMEM_EMBED_MODEL_DIR=brought))
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=brought, HYPERMEM_EMBED_QUERY_PREFIX="q: ")
        identity = self.tell(client)["identity"]
        self.assertIn('query_prefix="q: "', identity)
        self.assertIn('document_prefix="passage: "', identity)

    def test_a_stop_does_not_wait_for_it(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR=MEAN, HYPERMEM_ENCODERS="1")
        text = "The boat of number %d stands by the river and the harbour, painted anew. " * 40
        for call in range(20):
            some = [{"id": "t%d-%d" % (call, i), "speaker": "Ann", "session": "s%d" % call,
                     "text": text % tuple([i] * 40)} for i in range(20)]
            client.post("/v1/spaces/a/turns", {"turns": some}).expect(202)
        self.daemon.signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(), 0)
        self.daemon.start()
        client = self.daemon.client(seconds=60)
        self.assertEqual(self.space(client)["counts"]["turns"], 400)
        client.settle("a", seconds=120)
        self.complete(client, seconds=240)


class NoEncoder(Builtin):
    def test_words_alone(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR="none")
        got = client.post("/v1/spaces/a/turns", {"turns": turns(DOG)}).expect(202)
        self.assertEqual(got["vectors"], "off")
        space = self.space(client)
        self.assertEqual(space["search"], "words")
        self.assertIsNone(space["models"]["embed"])
        self.assertEqual(self.daemon.log().count("search by=words "), 1)

    def test_a_name_without_an_endpoint(self):
        for folder in ("none", MEAN):
            self.start(HYPERMEM_EMBED_MODEL_DIR=folder, HYPERMEM_EMBED_MODEL="bge-m3")
            self.assertIn("event=embed_model_unused embed_model=bge-m3", self.daemon.log())
            self.assertEqual(self.daemon.stop(), 0)

    def test_what_is_named_must_be_there(self):
        log = self.refused(HYPERMEM_EMBED_MODEL_DIR="/nowhere/at/all")
        self.assertIn("embed_model_dir", log)
        self.assertIn("/nowhere/at/all", log)

    def test_a_default_that_can_not_be_looked_at(self):
        daemon = harness.Daemon(env={"HYPERMEM_EMBED_MODEL_DIR": ""}, start=False)
        self.addCleanup(daemon.close)
        os.symlink("models", os.path.join(daemon.data_dir, "models"))
        daemon.spawn()
        self.assertEqual(daemon.wait(), 1)
        self.assertIn("symbolic links", daemon.log())

    def test_one_of_them(self):
        for name in ("embed", "rerank"):
            log = self.refused(**{"HYPERMEM_%s_MODEL_DIR" % name.upper(): CROSS,
                                  "HYPERMEM_%s_BASE_URL" % name.upper(): "http://127.0.0.1:9/v1"})
            self.assertIn("%s_model_dir" % name, log)

    def test_an_endpoint_keeps_the_default_from_being_used(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR="",
                            HYPERMEM_EMBED_BASE_URL="http://127.0.0.1:9/v1")
        client.put("/v1/spaces/a").expect(201)
        self.assertEqual(self.space(client)["models"]["embed"]["provider"], "remote")


class CrossEncoder(Builtin):
    def test_it_reranks(self):
        client = self.start(HYPERMEM_RERANK_MODEL_DIR=CROSS)
        for number, story in enumerate((DOG, RUN, MOVE)):
            client.post("/v1/spaces/a/turns",
                        {"turns": turns(story, session="s%d" % number)}).expect(202)
        client.settle("a")
        self.assertEqual(self.space(client)["models"]["rerank"],
                         {"provider": "builtin", "model": "tiny-cross"})
        got = client.get("/v1/spaces/a/query", q="the dog of Ann", rerank="on",
                         explain=True).expect(200)
        self.assertEqual(got["degraded"], [])
        facts = got["explain"]["stages"]["facts"]
        self.assertTrue(facts)
        self.assertIn("rerank", facts[0]["signals"])
        self.assertGreater(got["timings_ms"]["rerank"], 0)
        scores = [fact["score"] for fact in got["facts"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertTrue(all(0 <= score <= 1 for score in scores), scores)

    def test_an_encoder_is_none(self):
        self.assertIn("no cross-encoder", self.refused(HYPERMEM_RERANK_MODEL_DIR=MEAN))


class Doctor(Builtin):
    def test_it_is_called(self):
        got = harness.run("doctor", env={"HYPERMEM_EMBED_MODEL_DIR": MEAN,
                                         "HYPERMEM_RERANK_MODEL_DIR": CROSS})
        text = got.stdout
        self.assertEqual(got.returncode, 0, text)
        for part in ("tiny-bert-mean, built in", "dimension  32", "tiny-cross, built in",
                     "2 of 2 models work"):
            self.assertIn(part, text)


class Meaning(Builtin):
    """The default model, found beside the binary."""

    def test_found_by_meaning(self):
        client = self.start(HYPERMEM_EMBED_MODEL_DIR="")
        some = [{"speaker": "Ann", "session": "s1", "timestamp": "2024-03-01T10:00:00Z",
                 "text": "We adopted a puppy from the shelter last Saturday."},
                {"speaker": "Bob", "session": "s1", "timestamp": "2024-03-01T10:01:00Z",
                 "text": "The quarterly report about steel exports is due on Monday."},
                {"speaker": "Ann", "session": "s2", "timestamp": "2024-04-01T10:00:00Z",
                 "text": "My sister plays the violin in an orchestra."},
                {"speaker": "Bob", "session": "s2", "timestamp": "2024-04-01T10:01:00Z",
                 "text": "I sprained an ankle while climbing."}]
        client.post("/v1/spaces/a/turns", {"turns": some}).expect(202)
        client.settle("a")
        self.complete(client)
        self.assertEqual(self.space(client)["models"]["embed"],
                         {"provider": "builtin", "model": DEFAULT})
        asked = {"young canine pets": "puppy", "musical family member": "violin",
                 "injuries of athletes": "ankle", "metal trade": "steel"}
        for question, answer in asked.items():
            got = client.get("/v1/spaces/a/query", q=question).expect(200)
            self.assertEqual(got["degraded"], [])
            self.assertIn(answer, got["facts"][0]["content"], question)
            self.assertEqual(client.get("/v1/spaces/a/query", q=question, vectors=False)
                             .expect(200)["facts"], [], question)

    def test_ingest_does_not_wait_for_it(self):
        """Turns are acknowledged and their facts are made while hundreds of texts wait."""
        client = self.start(HYPERMEM_EMBED_MODEL_DIR="", HYPERMEM_STAGE_PACE_MS="0")
        for number in range(10):
            some = [{"speaker": "Ann", "session": "s%d" % number, "timestamp":
                     "2024-03-%02dT10:%02d:00Z" % (number + 1, i),
                     "text": "Story %d has a chapter %d about rivers and engines." % (number, i)}
                    for i in range(30)]
            client.post("/v1/spaces/a/turns", {"turns": some}).expect(202)
        client.settle("a")
        self.assertTrue(client.get("/v1/spaces/a/query", q="chapter 7").expect(200)["facts"])
        told = self.complete(client, seconds=240)
        self.assertEqual(told["embedded"]["turns"], 300)


if __name__ == "__main__":
    unittest.main()
