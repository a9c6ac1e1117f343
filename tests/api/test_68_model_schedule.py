"""When the work with models is looked at: nothing that is due waits for a call of something else,
nothing is lost for want of a place, and nothing spins."""
import unittest

from harness import wait_until
from test_65_model_stages import DOG, MOVE, RUN, Told, turns

WIDE = {"HYPERMEM_LLM_CONCURRENCY": "400", "HYPERMEM_LLM_ATTEMPTS": "1"}


class Schedule(Told):
    def hang(self, word, purpose="describe"):
        self.models.script({"purpose": purpose, "text": word, "do": "hang", "times": None})

    def calm(self):
        for word in ("stage_failed", "stage_stalled", "stages_paused"):
            self.assertNotIn(word, self.daemon.log())

    def in_flight(self, n=1):
        wait_until(lambda: self.models.stats()["in_flight"] >= n, 30, "%d calls" % n)

    def stages(self, space):
        return sorted(job["stage"] or "" for job in self.jobs(space))

    def test_a_retry_does_not_wait_for_another_call(self):
        client = self.start(**WIDE)
        self.hang("marathon")
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        self.in_flight()
        self.models.script({"purpose": "describe", "text": "piano", "do": "status", "status": 503,
                            "times": 2})
        self.post("a", turns(MOVE, "s2"))
        client.post("/v1/spaces/a/flush", {"session": "s2"}).expect(202)
        wait_until(lambda: self.stages("a") == ["describe", "topic"], 15, "the second is described")
        self.calm()

    def test_idle_closing_does_not_wait_for_a_call(self):
        client = self.start("--idle-close-s=2", **WIDE)
        self.hang("marathon")
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        self.in_flight()
        self.post("a", turns(MOVE, "s2"))
        wait_until(lambda: len(self.jobs("a")) == 2, 15, "the second session is closed")
        self.calm()

    def test_a_question_does_not_wait_for_a_call(self):
        client = self.start(**WIDE)
        self.hang("marathon")
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        self.in_flight()
        self.models.script({"purpose": "boundary", "do": "status", "status": 503, "times": 2})
        self.post("a", turns(MOVE + DOG, "s2"))
        wait_until(lambda: len(self.jobs("a")) == 2, 20, "the buffer is cut")
        self.calm()

    def test_many_episodes_of_one_space(self):
        client = self.start(HYPERMEM_STAGE_PACE_MS="400", **WIDE)
        self.hang("marathon")
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        self.in_flight()
        self.models.set(delays_s={"describe": 0.3})
        for i in range(60):
            self.post("a", turns(["Walk number %d went to the old harbour." % i], "t%d" % i))
        client.post("/v1/spaces/a/flush").expect(202)
        wait_until(lambda: self.stages("a") == ["describe"] + 60 * ["topic"], 30,
                   "all others are described")
        self.calm()

    def test_more_spaces_than_places(self):
        client = self.start(**WIDE)
        self.models.set(delays_s={"describe": 5.0})
        names = ["n%d" % i for i in range(300)]
        for name in names:
            self.post(name, turns(RUN[:1]))
        for name in names:
            client.post("/v1/spaces/%s/flush" % name, wait=False).expect(202)
        self.in_flight(256)
        wait_until(lambda: self.models.stats()["by_purpose"].get("facts", 0) == len(names), 60,
                   "facts of all spaces")
        for name in names:
            client.settle(name, flush=False)
        self.calm()
        self.fsck()

    def test_turns_that_a_question_was_about_are_deleted(self):
        client = self.start(**WIDE)
        self.models.script({"purpose": "boundary", "do": "status", "status": 503, "times": None})
        self.post("a", turns(MOVE + DOG))
        asked = lambda: self.models.stats()["by_purpose"].get("boundary", 0)
        wait_until(asked, 20, "the question")
        for row in self.all("a", "turns"):
            client.delete("/v1/spaces/a/turns/%s" % row["id"]).expect(200)
        self.post("b", turns(MOVE + DOG))
        before = asked()
        wait_until(lambda: asked() >= before + 4, 60, "b is asked about again and again")
        self.calm()
        self.models.clear()
        self.post("a", turns(RUN + MOVE, "s2"))
        for space in ("a", "b"):
            client.settle(space)
        self.assertEqual(len(self.all("a", "episodes")), 2)
        self.calm()
        self.fsck()

    def test_a_deleted_episode_holds_up_nobody(self):
        client = self.start(**WIDE)
        self.post("a", turns(RUN) + turns(MOVE, "s2"))
        self.models.script({"purpose": "describe", "text": "piano", "do": "hang", "times": 1},
                           {"purpose": "describe", "text": "marathon", "do": "status",
                            "status": 429, "retry_after": 300, "times": None})
        client.post("/v1/spaces/a/flush", {"session": "s2"}, wait=False).expect(202)
        self.in_flight()
        client.post("/v1/spaces/a/flush", wait=False).expect(202)
        wait_until(lambda: self.stages("a") == ["describe", "describe"] and
                   "waiting" in [job["state"] for job in self.jobs("a")], 20, "one waits")
        self.models.clear()
        waiting = next(job for job in self.jobs("a") if job["state"] == "waiting")
        client.delete("/v1/spaces/a/episodes/%s" % waiting["episode"]).expect(200)
        wait_until(lambda: self.stages("a") == ["", "describe"], 20, "its job has ended")
        other = next(job for job in self.jobs("a") if job["stage"])
        client.delete("/v1/spaces/a/episodes/%s" % other["episode"]).expect(200)
        space = client.get("/v1/spaces/a").expect(200)
        self.assertEqual((space["pending_turns"], space["processed_seq"]), (0, space["seq"]))
        self.calm()
        self.fsck()

    def test_nothing_spins_while_the_model_fails(self):
        client = self.start(**WIDE)
        self.models.script({"purpose": "describe", "do": "status", "status": 429,
                            "retry_after": 60, "times": None})
        names = ["n%d" % i for i in range(100)]
        for name in names:
            self.post(name, turns(RUN[:1]))
            client.post("/v1/spaces/%s/flush" % name, wait=False).expect(202)
        wait_until(lambda: all(job["state"] == "waiting" for name in names
                               for job in self.jobs(name)), 60, "all wait")
        used = self.cpu_s()
        later = turns(RUN[:1], "later")
        for i in range(20):  # some time passes, with others at work
            self.post("other%d" % i, later)
            client.settle("other%d" % i, flush=False)
        self.assertLess(self.cpu_s() - used, 2.0)
        self.calm()

    def test_a_space_that_is_deleted_during_a_call(self):
        client = self.start(**WIDE)
        for word in ("marathon", "piano"):
            self.hang(word)
        self.post("a", turns(RUN) + turns(MOVE, "s2"))
        client.post("/v1/spaces/a/flush").expect(202)
        self.in_flight(2)
        client.delete("/v1/spaces/a", confirm="a").expect(200)
        self.post("a", turns(DOG))  # of the same name, and another space
        client.settle("a")
        self.assertEqual(len(self.all("a", "episodes")), 1)
        self.assertEqual(self.ended("a", "completed")[0]["degraded"], False)
        self.calm()
        self.fsck()

    def test_a_turn_of_a_mebibyte(self):
        client = self.start(**WIDE)
        words = " ".join("The garden number %d is in bloom again." % i for i in range(30000))
        self.hang("marathon")
        self.post("a", turns(RUN))
        client.post("/v1/spaces/a/flush").expect(202)
        self.in_flight()
        self.post("a", turns([words[:1 << 20], "And then?"], "s2", day=1))
        self.models.clear()
        client.post("/v1/spaces/a/flush").expect(202)
        client.post("/v1/spaces/a/jobs/%s/cancel" % self.jobs("a")[0]["id"], {}).expect(202)
        client.settle("a", 60)
        self.ended("a", "completed", "cancelled")
        self.assertGreaterEqual(len(self.all("a", "episodes")), 3)
        self.calm()
        self.fsck()

    def test_forty_turns_are_cut_and_split(self):
        client = self.start(**WIDE)
        some = turns((RUN + MOVE + DOG) * 4)
        self.models.script({"purpose": "boundary", "do": "status", "status": 503, "times": 1})
        self.post("a", some)
        client.settle("a")
        episodes = self.all("a", "episodes")
        self.assertEqual(sorted(name for e in episodes for name in e["turn_ids"]),
                         sorted(turn["id"] for turn in some))
        self.assertLessEqual(max(len(e["turn_ids"]) for e in episodes), 8)
        self.ended("a", "completed")
        self.calm()
        self.fsck()

    def test_answers_of_nothing(self):
        client = self.start(HYPERMEM_LLM_PATIENCE_S="0", **WIDE)
        self.models.script({"content": "", "times": None})
        self.post("a", turns(RUN + MOVE))
        client.settle("a", 60)
        self.ended("a", "failed")
        self.assertTrue(self.all("a", "facts"))
        self.calm()
        self.fsck()

    def test_redo_while_jobs_wait(self):
        client = self.start(**WIDE)
        for i, some in enumerate((RUN, MOVE, DOG)):
            self.post("a", turns(some, "s%d" % i, day=i))
        client.settle("a")
        self.hang("marathon")
        made = client.post("/v1/spaces/a/redo", {}, episodes="all").expect(202)["jobs"]
        self.in_flight()
        self.assertEqual(made, len(self.all("a", "episodes")))
        again = client.post("/v1/spaces/a/redo", {}, episodes="all").expect(202)["jobs"]
        self.assertLess(again, made)  # those that are not done have a job
        self.models.clear()
        for job in self.jobs("a"):
            if job["stage"] == "describe":
                client.post("/v1/spaces/a/jobs/%s/cancel" % job["id"], {}).expect(202, 409)
        self.ended("a", "completed", "cancelled")
        self.calm()
        self.fsck()

    def cpu_s(self):
        with open("/proc/%d/stat" % self.daemon.pid, encoding="ascii") as file:
            fields = file.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100.0


del Told  # its tests are none of ours

if __name__ == "__main__":
    unittest.main()
