"""Random operations on spaces whose episodes a chat model tells, while that model fails, hangs and
answers at random. After each round all is settled and everything must agree. HMTEST_SEED and
HMTEST_ROUNDS choose another walk."""
import datetime
import os
import random
import unittest

import harness
from harness import wait_until
from model_server import ModelServer

BASE = datetime.datetime(2026, 3, 2, 9, 0, tzinfo=datetime.timezone.utc)
SPACES = ("r0", "r1", "r2")
SESSIONS = ("s1", "s2", "s3")
PEOPLE = ("Nora", "Idris", "assistant")
THINGS = ("the marathon in Hamburg", "the flat in Leipzig", "a small brown dog", "the old piano",
          "the choir of Graz", "the vegetable garden", "a broken bicycle", "the tax return")
ENDED = ("completed", "failed", "cancelled")
SEED = int(os.environ.get("HMTEST_SEED") or 7)
ROUNDS = int(os.environ.get("HMTEST_ROUNDS") or 6)


class Trouble:
    """What the model does wrong, drawn anew for each request while it is on."""

    FAULTS = ({"do": "status", "status": 503}, {"do": "status", "status": 400}, {"do": "hang"},
              {"content": "I would rather not."}, {"do": "empty_choices"}, {"do": "unknown_ids"},
              {"do": "empty_object"}, {"do": "close_in_body"})

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.share = 0.0

    def draws(self, _):
        return self.random.random() < self.share / len(self.FAULTS)

    def rules(self):
        return [dict(fault, when=self.draws, times=None) for fault in self.FAULTS]


class Walk:
    """The operations on one space, and which turns it must have."""

    def __init__(self, test, space, seed):
        self.test, self.space, self.random = test, space, random.Random("%s %s" % (space, seed))
        self.path = "/v1/spaces/" + space
        self.client = test.client
        self.there, self.number, self.clock = set(), 0, BASE

    def turn(self):
        self.number += 1
        self.clock += datetime.timedelta(minutes=self.random.choice((1, 1, 1, 2, 60, 500)))
        subject = "New subject: " if self.random.random() < 0.2 else ""
        speaker = self.random.choice(PEOPLE)
        text = "%s%s came up again with number %d." % (
            subject, self.random.choice(THINGS), self.random.choice((7, self.number)))
        if self.random.random() < 0.1:
            text = "Correction: " + text
        return {"id": "t%d" % self.number, "session": self.random.choice(SESSIONS),
                "speaker": speaker, "text": text, "timestamp": self.clock.isoformat(),
                **({"role": "assistant"} if speaker == "assistant" else {})}

    def post(self):
        some = [self.turn() for _ in range(self.random.choice((1, 3, 8, 14, 45)))]
        self.client.post(self.path + "/turns", {"turns": some}).expect(202)
        self.there.update(turn["id"] for turn in some)

    def flush(self):
        body = {"session": self.random.choice(SESSIONS)} if self.random.random() < 0.5 else None
        self.client.post(self.path + "/flush", body).expect(202, 200)

    def rows(self, noun):
        rows, params = [], {"limit": 1000}
        while True:
            reply = self.client.get("%s/%s" % (self.path, noun), **params)
            if reply.status == 404:
                return []
            data = reply.expect(200)
            rows += data[noun]
            if "next_cursor" not in data:
                return rows
            params["cursor"] = data["next_cursor"]

    def delete_turn(self):
        if self.there:
            name = self.random.choice(sorted(self.there))
            self.client.delete("%s/turns/%s" % (self.path, name)).expect(200)
            self.there.discard(name)

    def delete_node(self, noun):
        rows = self.rows(noun)
        if not rows:
            return
        name = self.random.choice(rows)["id"]
        reply = self.client.delete("%s/%s/%s" % (self.path, noun, name), confirm=name) \
            if noun == "topics" else self.client.delete("%s/%s/%s" % (self.path, noun, name))
        reply.expect(200, 404)
        left = {turn["id"] for turn in self.rows("turns")}
        self.test.assertLessEqual(left, self.there)
        if noun == "facts":
            self.test.assertEqual(left, self.there)
        self.there = left

    def jobs(self):
        return [job for job in self.rows("jobs") if job["kind"] == "episode"]

    def of_job(self, verb, *states):
        jobs = [job for job in self.jobs() if job["state"] in states]
        if jobs:
            name = self.random.choice(jobs)["id"]
            self.client.post("%s/jobs/%s/%s" % (self.path, name, verb), {}).expect(202, 409, 404)

    def redo(self):
        if self.there:
            self.client.post(self.path + "/redo", {},
                             episodes=self.random.choice(("all", "untold"))).expect(202)

    def step(self):
        acts = ((10, self.post), (4, self.flush), (2, self.delete_turn),
                (1, lambda: self.delete_node("facts")), (1, lambda: self.delete_node("episodes")),
                (1, lambda: self.delete_node("topics")),
                (2, lambda: self.of_job("retry", "failed", "cancelled")),
                (2, lambda: self.of_job("cancel", "pending", "running", "waiting")),
                (1, self.redo))
        if not self.there:
            return self.post()
        return self.random.choices([act for _, act in acts], [n for n, _ in acts])[0]()

    # --- what must hold ---

    def settled(self):
        self.client.settle(self.space, 60)
        wait_until(lambda: all(job["state"] in ENDED for job in self.jobs()), 60,
                   "the jobs of %s have ended" % self.space)

    def check(self):
        test = self.test
        space = self.client.get(self.path).expect(200)
        test.assertEqual((space["pending_turns"], space["open_turns"]), (0, 0), space)
        test.assertEqual(space["processed_seq"], space["seq"], space)
        turns = {turn["id"] for turn in self.rows("turns")}
        test.assertEqual(turns, self.there)
        episodes, facts, topics = self.rows("episodes"), self.rows("facts"), self.rows("topics")
        told = [name for episode in episodes for name in episode["turn_ids"]]
        test.assertEqual(sorted(told), sorted(turns))
        names = {topic["id"] for topic in topics}
        for episode in episodes:
            test.assertTrue(episode["topic_ids"], episode)
            test.assertLessEqual(set(episode["topic_ids"]), names)
        ids = {fact["id"] for fact in facts}
        for fact in facts:
            test.assertTrue(fact["turn_ids"] and set(fact["turn_ids"]) <= turns, fact)
            if fact["superseded_by"]:
                test.assertIn(fact["superseded_by"], ids, fact)


class Random(unittest.TestCase):
    def test_everything_agrees_after_each_round(self):
        trouble = Trouble(SEED)
        with ModelServer() as models, harness.Daemon(env={
                "HYPERMEM_LLM_BASE_URL": models.url, "HYPERMEM_LLM_MODEL": "fake",
                "HYPERMEM_STAGE_PACE_MS": "0", "HYPERMEM_LLM_ATTEMPTS": "1",
                "HYPERMEM_LLM_PATIENCE_S": "2", "HYPERMEM_LLM_TIMEOUT_MS": "1500",
                "HYPERMEM_LLM_IDLE_TIMEOUT_MS": "1000"}) as daemon:
            self.client = daemon.client()
            walks = [Walk(self, space, SEED) for space in SPACES]
            for number in range(ROUNDS):
                trouble.share = (0.0, 0.1, 0.3, 0.8)[number % 4]
                models.script(*trouble.rules())
                for _ in range(12):
                    for walk in walks:
                        walk.step()
                trouble.share = 0.0
                models.clear()
                for walk in walks:
                    walk.settled()
                for walk in walks:
                    walk.check()
                done = harness.run("fsck", "--data-dir", daemon.data_dir)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertNotIn("stage_failed", daemon.log())
                self.assertNotIn("stage_stalled", daemon.log())
            self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    unittest.main()
