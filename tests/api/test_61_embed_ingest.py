"""Vectors on the way in: what a space gets from an embed provider, and what happens when that does
not do its part. The provider is tests/fakes/model_server.py."""
import concurrent.futures
import unittest

import harness
from harness import wait_until
from model_server import ModelServer
from test_65_model_stages import DOG, MOVE, RUN, turns

LAYERS = ("turns", "facts", "episodes", "topics")
DIMENSION = 24
ONE_ATTEMPT = {"HYPERMEM_EMBED_ATTEMPTS": "1"}


class Embedded(unittest.TestCase):
    """One daemon and one provider a test: rules must not leak."""

    def provide(self, **settings):
        models = ModelServer(**dict({"dimension": DIMENSION}, **settings))
        self.addCleanup(models.__exit__, None, None, None)
        return models.__enter__()

    def env(self, model="e1", **more):
        return dict({"HYPERMEM_EMBED_BASE_URL": self.models.url, "HYPERMEM_EMBED_MODEL": model,
                     "HYPERMEM_STAGE_PACE_MS": "0"}, **more)

    def start(self, settings=None, fault=False, **env):
        self.models = self.provide(**(settings or {}))
        self.daemon = harness.Daemon(env=self.env(**env), fault=fault)
        self.addCleanup(self.daemon.close)
        return self.daemon.client()

    def again(self, **env):
        """The next start, with other settings."""
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log())
        self.daemon.env = self.env(**env)
        self.daemon.start()
        return self.daemon.client()

    def post(self, client, space, some):
        return client.post("/v1/spaces/%s/turns" % space, {"turns": some}).expect(202)

    def vectors(self, client, space):
        return client.get("/v1/spaces/" + space).expect(200)["vectors"]

    def complete(self, client, space, seconds=30):
        """Waits until nothing is behind, and returns what the space tells of its vectors."""
        def look():
            told = self.vectors(client, space)
            return told if told["state"] == "active" and told["behind"] == 0 and \
                "next" not in told else None
        return wait_until(look, seconds, "the vectors of " + space)

    def metric(self, client, outcome):
        name = 'hypermem_embedding_texts_total{outcome="%s"} ' % outcome
        lines = client.get("/metrics").text.splitlines()
        return int(next(line for line in lines if line.startswith(name)).split()[-1])

    def fsck(self):
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log())
        done = harness.run("fsck", "--data-dir", self.daemon.data_dir)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def digest(self):
        done = harness.run("fsck", "--digest", "--data-dir", self.daemon.data_dir)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class Layers(Embedded):
    def test_every_layer_has_vectors(self):
        client = self.start()
        self.post(client, "a", turns(RUN + MOVE + DOG))
        client.settle("a")
        told = self.complete(client, "a")
        counts = client.get("/v1/spaces/a").expect(200)["counts"]
        self.assertEqual(told["embedded"], counts)
        self.assertEqual(told["dimension"], DIMENSION)
        self.assertIn('model="e1"', told["identity"])
        texts = [text for request in self.models.of("embed") for text in request.texts]
        self.assertIn("Nora: " + RUN[0], texts)
        self.assertTrue(any("Hamburg yesterday (1 March 2026)" in text for text in texts))
        self.assertEqual(self.metric(client, "stored"), len(texts))
        self.assertEqual(self.metric(client, "failed"), 0)
        self.fsck()

    def test_turns_do_not_wait_for_vectors(self):
        client = self.start(settings={"delays_s": {"embed": 3.0}})
        self.post(client, "a", turns(RUN))
        client.settle("a")
        space = client.get("/v1/spaces/a").expect(200)
        self.assertEqual(space["processed_seq"], space["seq"])
        self.assertGreater(space["counts"]["facts"], 0)
        self.assertGreater(space["vectors"]["behind"], 0)
        self.assertTrue(client.get("/v1/spaces/a/query", q="marathon").expect(200)["facts"])
        self.complete(client, "a")

    def test_without_a_provider_nothing_is_stored(self):
        client = self.start()
        client = self.again(HYPERMEM_EMBED_BASE_URL="", model="")
        self.post(client, "a", turns(RUN))
        client.settle("a")
        told = self.vectors(client, "a")
        self.assertEqual(told["state"], "none")
        self.assertEqual(set(told["embedded"].values()), {0})
        self.assertEqual(self.metric(client, "stored") + self.metric(client, "failed"), 0)
        self.assertEqual(self.models.requests, [])
        self.fsck()

    def test_the_digest_does_not_see_vectors(self):
        client = self.start()
        self.post(client, "a", turns(RUN))
        client.settle("a")
        self.complete(client, "a")
        self.assertEqual(self.daemon.stop(), 0)
        with_vectors = self.digest()
        bare = harness.Daemon(env={"HYPERMEM_STAGE_PACE_MS": "0"})
        self.addCleanup(bare.close)
        client = bare.client()
        self.post(client, "a", turns(RUN))
        client.settle("a")
        self.assertEqual(bare.stop(), 0)
        self.daemon = bare
        self.assertEqual(self.digest(), with_vectors)


class Replies(Embedded):
    """What a provider may answer instead of vectors."""

    def embeds_after(self, *rules, **settings):
        client = self.start(settings=settings, **ONE_ATTEMPT)
        self.models.script(*rules)
        self.post(client, "a", turns(RUN))
        client.settle("a")
        told = self.complete(client, "a")
        self.assertEqual(self.models.unused(), [])
        return client, told

    def test_bad_replies_are_asked_again(self):
        for rule in ({"do": "missing_row"}, {"do": "same_index"}, {"do": "no_rows"},
                     {"do": "vector_values", "value": "string"},
                     {"do": "vector_values", "value": "nan"},
                     {"do": "other_dimension", "row": 1},
                     {"do": "status", "status": 500}, {"do": "encoding", "encoding": "odd"}):
            with self.subTest(rule=rule):
                client, told = self.embeds_after(dict(rule, purpose="embed"))
                self.assertEqual(self.metric(client, "failed"), 0)
                self.assertEqual(told["embedded"]["turns"], 4)
                self.fsck()

    def test_values_that_are_no_vector_make_one_document_lexical(self):
        for value, encoding in ((0.0, "float"), ("null", "float"), ("nan", "base64"),
                                ("inf", "base64")):
            with self.subTest(value=value):
                client, told = self.embeds_after({"purpose": "embed", "do": "vector_values",
                                                  "value": value, "row": 2}, encoding=encoding)
                self.assertEqual(self.metric(client, "failed"), 1)
                self.assertEqual(told["behind"], 0)
                self.fsck()

    def test_a_text_that_is_refused_alone(self):
        client = self.start(settings={"input_tokens": 40})
        long_text = "One very long sentence about %s goes on without any stop" % " and ".join(
            "place%d" % i for i in range(300))
        some = turns(RUN)
        some[1]["text"] = long_text
        self.post(client, "a", some)
        client.settle("a")
        told = self.complete(client, "a")
        self.assertEqual(told["behind"], 0)
        self.assertGreater(self.metric(client, "failed"), 0)
        self.assertGreater(self.metric(client, "stored"), 6)
        self.fsck()

    def test_batches_are_halved(self):
        for settings in ({"inputs_most": 3}, {"inputs_most": 2, "inputs_status": 413},
                         {"batch_tokens": 160}):
            with self.subTest(settings=settings):
                client, _ = self.embeds_after(**settings)
                self.assertEqual(self.metric(client, "failed"), 0)
                self.fsck()

    def test_a_dimension_that_changes_is_not_mixed(self):
        client = self.start(**ONE_ATTEMPT)
        self.post(client, "a", turns(RUN))
        client.settle("a")
        self.complete(client, "a")
        self.models.script({"purpose": "embed", "do": "other_dimension", "dimension": 7})
        self.post(client, "a", turns(MOVE, "s2"))
        client.settle("a")
        told = self.complete(client, "a")
        self.assertEqual(told["dimension"], DIMENSION)
        self.assertIn("embedding_dimension_changed", self.daemon.log())
        self.fsck()

    def test_base64(self):
        client, told = self.embeds_after(encoding="opposite")
        self.assertEqual(told["embedded"]["turns"], 4)


class Outages(Embedded):
    def test_a_provider_that_comes_back(self):
        client = self.start(**ONE_ATTEMPT)
        self.models.script({"purpose": "embed", "do": "status", "status": 503, "times": 3})
        self.post(client, "a", turns(RUN + MOVE))
        client.settle("a")
        wait_until(lambda: len(self.models.of("embed")) >= 2, 30, "a second attempt")
        self.complete(client, "a", 60)
        self.fsck()

    def test_a_provider_that_was_never_there(self):
        client = self.start(**ONE_ATTEMPT)
        env = self.env(HYPERMEM_EMBED_BASE_URL="http://127.0.0.1:9/v1", **ONE_ATTEMPT)
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.env = env
        self.daemon.start()
        client = self.daemon.client()
        self.post(client, "a", turns(RUN))
        client.settle("a")
        self.assertEqual(self.vectors(client, "a")["state"], "none")
        client = self.again(**ONE_ATTEMPT)
        self.complete(client, "a", 60)
        self.fsck()

    def test_many_spaces(self):
        n = 300
        client = self.start(settings={"delays_s": {"embed": 0.01}})
        names = ["u%03d" % i for i in range(n)]

        def fill(name):
            with harness.Client(self.daemon.port) as own:
                self.post(own, name, turns(RUN[:2], name))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(fill, names))
        for name in names:
            self.complete(client, name, 120)
        self.assertLessEqual(self.models.stats()["max_in_flight"], 4)
        self.assertNotIn("stage_failed", self.daemon.log())
        self.fsck()


class Generations(Embedded):
    def test_another_model_builds_anew(self):
        client = self.start()
        for name in ("a", "b", "c"):
            self.post(client, name, turns(RUN + MOVE, name))
            client.settle(name)
            self.complete(client, name)
        self.models.set(dimension=10)
        client = self.again(model="e2")
        for name in ("a", "b", "c"):
            told = wait_until(
                lambda name=name: (lambda v: v if v["dimension"] == 10 and v["behind"] == 0
                                   else None)(self.vectors(client, name)), 30, "the new vectors")
            self.assertIn('model="e2"', told["identity"])
        self.fsck()

    def test_the_old_one_serves_until_the_new_one_is_there(self):
        client = self.start()
        self.post(client, "a", turns(RUN))
        client.settle("a")
        self.complete(client, "a")
        self.models.script({"purpose": "embed", "do": "status", "status": 503, "times": None})
        client = self.again(model="e2", **ONE_ATTEMPT)
        wait_until(lambda: self.models.unused() == [], 30, "an attempt")
        told = self.vectors(client, "a")
        self.assertEqual(told["state"], "active")
        self.assertIn('model="e1"', told["identity"])
        self.fsck()

    def test_a_directory_that_had_no_provider(self):
        client = self.start()
        client = self.again(HYPERMEM_EMBED_BASE_URL="", model="")
        names = ["s%d" % i for i in range(70)]  # more than a page of the sweep
        for name in names:
            self.post(client, name, turns(RUN[:1], name))
            client.settle(name)
        for _ in range(4):
            client = self.again()  # each stop finds the sweep under way
        for name in names:
            self.complete(client, name, 60)
        calls = len(self.models.of("embed"))
        client = self.again()  # and the next start asks for nothing
        self.complete(client, "s0")
        self.assertEqual(len(self.models.of("embed")), calls)
        self.fsck()


class Deletes(Embedded):
    def test_what_goes_is_gone(self):
        client = self.start()
        self.post(client, "a", turns(RUN + MOVE))
        client.settle("a")
        self.complete(client, "a")
        facts = client.get("/v1/spaces/a/facts").expect(200)["facts"]
        client.delete("/v1/spaces/a/facts/" + facts[0]["id"]).expect(200)
        for name in ("s1-1", "s1-2", "s1-6"):
            client.delete("/v1/spaces/a/turns/" + name).expect(200)
        told = self.complete(client, "a")
        self.assertEqual(told["embedded"]["turns"], 5)
        self.post(client, "b", turns(DOG))
        client.settle("b")
        self.complete(client, "b")
        client.delete("/v1/spaces/b", confirm="b").expect(200)
        self.fsck()


class Crashes(Embedded):
    def test_a_kill_in_the_middle(self):
        client = self.start(settings={"delays_s": {"embed": 0.05}}, HYPERMEM_EMBED_BATCH="3")
        for i in range(6):
            some = turns(RUN + MOVE + DOG, "s%d" % i, day=i)
            self.post(client, "a", some)
            client.settle("a")
            before = len(self.models.of("embed"))
            wait_until(lambda before=before: len(self.models.of("embed")) > before or
                       self.vectors(client, "a")["behind"] == 0, 20, "a call")
            self.daemon.kill()
            done = harness.run("fsck", "--data-dir", self.daemon.data_dir)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.daemon.start()
            client = self.daemon.client()
        told = self.complete(client, "a", 60)
        self.assertEqual(told["embedded"]["turns"], 6 * 12)
        self.fsck()

    def test_a_kill_at_a_commit(self):
        """Around each of the first commits of rows: both are there, or neither."""
        for nth in (2, 4, 6, 8):
            for point in ("writer.before_commit", "writer.after_commit"):
                with self.subTest(point=point, nth=nth):
                    client = self.start(fault=True, HYPERMEM_FAULT="%s:%d:kill" % (point, nth))
                    try:
                        self.post(client, "a", turns(RUN))
                        client.settle("a", seconds=5)
                        self.complete(client, "a", 5)
                    except (OSError, AssertionError):
                        pass
                    self.daemon.kill()
                    done = harness.run("fsck", "--data-dir", self.daemon.data_dir)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.daemon.env = self.env()
                    self.daemon.start()
                    client = self.daemon.client()
                    client.post("/v1/spaces/a/turns", {"turns": turns(RUN)}).expect(202)
                    client.settle("a")
                    self.complete(client, "a")
                    self.fsck()


if __name__ == "__main__":
    unittest.main()
