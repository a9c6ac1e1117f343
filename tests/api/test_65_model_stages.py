"""Stages with a chat model: what an episode becomes, and what happens when the model does not do
its part. The model is tests/fakes/model_server.py."""
import datetime
import unittest

import harness
from harness import wait_until
from model_server import ModelServer

BASE = datetime.datetime(2026, 3, 2, 9, 0, tzinfo=datetime.timezone.utc)

RUN = ["I signed up for the spring marathon in Hamburg yesterday.",
       "That is a long way to run, how do you train?",
       "Four times a week along the river, with the club on Thursdays.",
       "My knees would never forgive me for that."]
MOVE = ["New subject: we are moving to Leipzig in June.",
        "Have you found a flat there already?",
        "Yes, three rooms with a balcony near the old mill.",
        "I will help you carry the piano upstairs."]
DOG = ["New subject: Marta adopted a small brown dog named Pickle.",
       "Does Pickle get along with the cat?",
       "They sleep on the same blanket since Sunday.",
       "Send me a picture of both of them."]


def turns(texts, session="s1", day=0, first=0):
    return [{"id": "%s-%d" % (session, first + i), "session": session,
             "speaker": ("Nora", "Idris")[(first + i) % 2], "text": text,
             "timestamp": (BASE + datetime.timedelta(days=day, minutes=first + i)).isoformat()}
            for i, text in enumerate(texts)]


def env_of(models, **more):
    env = {"HYPERMEM_LLM_BASE_URL": models.url, "HYPERMEM_LLM_MODEL": "fake",
           "HYPERMEM_STAGE_PACE_MS": "0"}
    env.update(more)
    return env


GIVES_UP = {"HYPERMEM_LLM_PATIENCE_S": "0", "HYPERMEM_LLM_ATTEMPTS": "1"}


class Told(unittest.TestCase):
    """One daemon and one model a test: rules must not leak."""

    def start(self, *options, settings=None, **env):
        self.models = ModelServer(**(settings or {}))
        self.models.__enter__()
        self.addCleanup(self.models.__exit__, None, None, None)
        self.daemon = harness.Daemon(*options, env=env_of(self.models, **env))
        self.addCleanup(self.daemon.close)
        self.client = self.daemon.client()
        return self.client

    def post(self, space, some, **params):
        return self.client.post("/v1/spaces/%s/turns" % space, {"turns": some},
                                **params).expect(202)

    def all(self, space, noun, **params):
        return self.client.get("/v1/spaces/%s/%s" % (space, noun), limit=1000,
                               **params).expect(200)[noun]

    def jobs(self, space, kind="episode", **params):
        return [job for job in self.all(space, "jobs", **params) if job["kind"] == kind]

    def ended(self, space, *states):
        """All episode jobs, once there is one and each has ended."""
        def look():
            jobs = self.jobs(space)
            return jobs if jobs and all(job["state"] in states for job in jobs) else None
        return wait_until(look, 60, "jobs of %s are %s" % (space, "/".join(states)))

    def fsck(self):
        self.assertEqual(self.daemon.stop(), 0)
        done = harness.run("fsck", "--data-dir", self.daemon.data_dir)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Pipeline(Told):
    def test_an_episode_is_told_by_the_model(self):
        client = self.start()
        self.post("a", turns(RUN + MOVE + DOG))
        client.settle("a")
        space = client.get("/v1/spaces/a").expect(200)
        self.assertEqual(set(space["stages"].values()), {"remote"})
        self.assertEqual(space["models"]["chat"]["model"], "fake")
        episodes = self.all("a", "episodes")
        self.assertEqual([len(e["turn_ids"]) for e in episodes], [4, 4, 4])
        for episode in episodes:
            self.assertFalse(episode["degraded"])
            self.assertIn("talked about", episode["summary"])
            self.assertTrue(episode["topic_ids"])
        facts = self.all("a", "facts")
        said = [f for f in facts if " said: " in f["content"]]
        self.assertGreaterEqual(len(said), 10)
        for fact in said:
            self.assertTrue(fact["potential"] and fact["keywords"] and fact["turn_ids"], fact)
            self.assertTrue(0 <= fact["weight"] <= 1)
        marathon = next(f for f in said if "marathon" in f["content"])
        self.assertEqual(marathon["time"]["from"], "2026-03-01")
        self.assertEqual(marathon["turn_ids"], ["s1-0"])
        for job in self.jobs("a"):
            self.assertEqual(job["state"], "completed")
            # A flush that came first has left the question where it ends to the job.
            self.assertIn(job["usage"]["calls"], (3, 4))
            self.assertGreater(job["usage"]["tokens_in"], 0)
        query = client.get("/v1/spaces/a/query", q="Which dog did Marta adopt?").expect(200)
        self.assertIn("Pickle", query["facts"][0]["content"])
        self.assertEqual(query["degraded"], [])
        self.fsck()

    def test_few_calls(self):
        client = self.start(settings={"cut_every": 10})
        some = turns(["Turn number %d tells of plan %d and of nothing else." % (i, i)
                      for i in range(60)])
        for i in range(0, 60, 3):
            self.post("a", some[i:i + 3])
        client.settle("a")
        by = self.models.stats()["by_purpose"]
        self.assertLessEqual(by["boundary"], 0.2 * 60)
        episodes = len(self.all("a", "episodes"))
        for purpose in ("describe", "topic", "facts"):
            self.assertEqual(by[purpose], episodes)

    def test_turns_that_no_fact_cites_have_their_own(self):
        client = self.start(settings={"facts_most": 1})
        self.post("a", turns(RUN))
        client.settle("a")
        facts = self.all("a", "facts")
        cited = {turn for fact in facts for turn in fact["turn_ids"]}
        self.assertEqual(cited, {"s1-%d" % i for i in range(4)})
        built = [f for f in facts if f["content"].startswith(("Nora: ", "Idris: "))]
        self.assertEqual(len(built), 3)
        self.assertTrue(all(f["weight"] <= 0.31 for f in built))

    def test_a_correction_supersedes(self):
        client = self.start()
        self.post("a", turns(["The party is on Friday in the garden."]), wait="false")
        client.settle("a")
        self.post("a", turns(["Correction: the party is on Saturday in the garden."], "s2", day=3))
        client.settle("a")
        facts = self.all("a", "facts")
        old = next(f for f in facts if "Friday" in f["content"])
        new = next(f for f in facts if "Saturday" in f["content"])
        self.assertEqual(old["superseded_by"], new["id"])
        self.assertEqual(old["valid_to"], new["valid_from"])
        self.assertIsNone(new["valid_to"])
        before = client.get("/v1/spaces/a/query", q="When is the party?",
                            as_of="2026-03-03T00:00:00Z").expect(200)
        self.assertEqual([f["id"] for f in before["facts"]], [old["id"]])
        after = client.get("/v1/spaces/a/query", q="When is the party?",
                           as_of="2026-03-09T00:00:00Z").expect(200)
        self.assertEqual([f["id"] for f in after["facts"]], [new["id"]])
        self.fsck()

    def test_what_is_said_again_is_a_source(self):
        client = self.start()
        line = "Our cat Minka weighs four kilos and hates the rain."
        self.post("a", turns([line]))
        client.settle("a")
        self.post("a", turns([line], "s2", day=2))
        client.settle("a")
        facts = [f for f in self.all("a", "facts") if "Minka" in f["content"]]
        self.assertEqual([f["turn_ids"] for f in facts], [["s1-0", "s2-0"]])
        self.assertEqual(len(facts[0]["episode_ids"]), 2)
        self.fsck()


class Failing(Told):
    def test_a_model_that_fails_leaves_the_built_in_form(self):
        client = self.start(**GIVES_UP)
        self.models.script({"purpose": "facts", "do": "status", "status": 500, "times": None})
        self.post("a", turns(RUN))
        client.settle("a")
        job = self.ended("a", "failed")[0]
        self.assertTrue(job["degraded"])
        self.assertIn("500", job["error"])
        self.assertEqual([j["id"] for j in self.jobs("a", state="failed")], [job["id"]])
        episode = self.all("a", "episodes")[0]
        self.assertTrue(episode["degraded"])
        built = self.all("a", "facts")
        self.assertTrue(built and all(f["potential"] == [] for f in built))
        # again, when the model is well
        self.models.clear()
        client.post("/v1/spaces/a/jobs/%s/retry" % job["id"], {}).expect(202)
        job = self.ended("a", "completed")[0]
        self.assertFalse(job["degraded"])
        episode = self.all("a", "episodes")[0]
        self.assertFalse(episode["degraded"])
        facts = self.all("a", "facts")
        self.assertTrue(all(f["potential"] for f in facts), facts)
        self.assertEqual(client.get("/v1/spaces/a").expect(200)["pending_turns"], 0)
        self.assertEqual(client.post("/v1/spaces/a/jobs/%s/retry" % job["id"], {}).status, 409)
        self.fsck()

    def test_each_stage_may_fail(self):
        client = self.start(**GIVES_UP)
        for purpose in ("boundary", "describe", "topic", "facts"):
            self.models.clear()
            self.models.script({"purpose": purpose, "do": "status", "status": 503, "times": None})
            self.post(purpose, turns(RUN + MOVE))
            client.settle(purpose)
            self.assertTrue(self.all(purpose, "facts"), purpose)
            self.assertEqual(sum(len(e["turn_ids"]) for e in self.all(purpose, "episodes")), 8)
            self.assertTrue(all(e["topic_ids"] for e in self.all(purpose, "episodes")))
        self.fsck()

    def test_it_waits_and_tries_again(self):
        client = self.start(HYPERMEM_LLM_ATTEMPTS="1")
        self.models.script({"purpose": "describe", "do": "status", "status": 503, "times": 1})
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        found = client.get("/v1/spaces/a/query", q="marathon in Hamburg").expect(200)
        self.assertTrue(found["recent"] or found["facts"])
        job = self.ended("a", "completed")[0]
        self.assertFalse(job["degraded"])
        self.assertGreaterEqual(job["usage"]["calls"], 4)
        self.fsck()

    def test_cancel_ends_the_wait(self):
        client = self.start()
        self.models.script({"purpose": "describe", "do": "hang", "times": None})
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        job = wait_until(lambda: next(iter(self.jobs("a")), None), 20, "a job")
        wait_until(lambda: self.models.stats()["in_flight"], 20, "the call")
        self.assertEqual(client.get("/v1/spaces/a").expect(200)["pending_turns"], 4)
        client.post("/v1/spaces/a/jobs/%s/cancel" % job["id"], {}).expect(202)
        self.ended("a", "cancelled")
        client.settle("a", flush=False)
        self.assertTrue(self.all("a", "facts"))
        self.assertEqual(client.post("/v1/spaces/a/jobs/%s/cancel" % job["id"], {}).status, 409)
        self.fsck()

    def test_a_hanging_model_holds_up_nobody_else(self):
        client = self.start()
        self.models.script({"purpose": "describe", "text": "marathon", "do": "hang",
                            "times": None})
        self.post("slow", turns(RUN))
        client.post("/v1/spaces/slow/flush").expect(202)
        wait_until(lambda: self.jobs("slow"), 20, "a job")
        self.post("quick", turns(MOVE))
        client.settle("quick")
        self.assertTrue(self.all("quick", "facts"))
        # another session of the slow space: described meanwhile, its topic waits for its turn
        self.post("slow", turns(DOG, "s2", day=1))
        client.post("/v1/spaces/slow/flush").expect(202)
        wait_until(lambda: client.get("/v1/spaces/slow").expect(200)["pending_turns"] == 8, 20,
                   "both wait")
        self.fsck()

    def test_a_deleted_episode_ends_its_job(self):
        client = self.start()
        self.models.script({"purpose": "topic", "do": "hang", "times": None})
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        wait_until(lambda: [j for j in self.jobs("a") if j["stage"] == "topic"], 20, "topic")
        client.delete("/v1/spaces/a/turns/s1-1").expect(200)
        self.assertEqual(client.get("/v1/spaces/a").expect(200)["pending_turns"], 3)
        client.delete("/v1/spaces/a/episodes/episode_1").expect(200)
        self.assertEqual(client.get("/v1/spaces/a").expect(200)["pending_turns"], 0)
        self.assertEqual(self.all("a", "turns"), [])
        self.fsck()

    def test_a_restart_goes_on(self):
        client = self.start()
        self.models.script({"purpose": "facts", "do": "hang", "times": 1})
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        wait_until(lambda: [j for j in self.jobs("a") if j["stage"] == "facts"], 20, "facts")
        wait_until(lambda: not self.models.unused(), 20, "the question")
        self.daemon.kill()
        self.daemon.start()
        self.client = self.daemon.client()
        self.ended("a", "completed")
        self.assertTrue(all(f["potential"] for f in self.all("a", "facts")))
        self.fsck()

    def test_without_the_provider_it_is_finished_built_in(self):
        client = self.start()
        self.models.script({"purpose": "describe", "do": "hang", "times": None})
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        wait_until(lambda: self.jobs("a"), 20, "a job")
        self.daemon.kill()
        self.daemon.env = {}
        self.daemon.start()
        self.client = client = self.daemon.client()
        self.ended("a", "completed")
        client.settle("a", flush=False)
        self.assertTrue(self.all("a", "facts"))
        self.assertFalse(self.all("a", "episodes")[0]["degraded"])
        self.fsck()


class Redo(Told):
    def test_a_space_is_told_afterwards(self):
        self.models = ModelServer()
        self.models.__enter__()
        self.addCleanup(self.models.__exit__, None, None, None)
        self.daemon = harness.Daemon()
        self.addCleanup(self.daemon.close)
        self.client = client = self.daemon.client()
        self.post("a", turns(RUN) + turns(MOVE, "s2", day=1) + turns(DOG, "s3", day=2))
        client.settle("a")
        self.assertEqual(client.post("/v1/spaces/a/redo", {}).status, 501)
        before = {e["id"]: e["title"] for e in self.all("a", "episodes")}
        self.daemon.stop()
        self.daemon.env = env_of(self.models)
        self.daemon.start()
        self.client = client = self.daemon.client()
        made = client.post("/v1/spaces/a/redo", {}).expect(202)
        self.assertEqual(made["jobs"], len(before))
        self.ended("a", "completed")
        after = {e["id"]: e["title"] for e in self.all("a", "episodes")}
        self.assertEqual(set(after), set(before))
        self.assertTrue(all(after[i] != before[i] for i in before))
        self.assertTrue(all(f["potential"] for f in self.all("a", "facts")))
        self.assertEqual(client.post("/v1/spaces/a/redo", {}).expect(202)["jobs"], 0)
        self.fsck()


if __name__ == "__main__":
    unittest.main()
