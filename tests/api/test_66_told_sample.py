"""The sample conversation told by the fake model: every record shows the paper's own fields, and
the run is the recorded one (tests/data/sample_told.json; write it anew with HMTEST_RECORD=1).

Ids of facts follow the order in which their episodes' answers came, so the record has none."""
import json
import os
import unittest

import harness
from model_server import ModelServer

DATA = os.path.join(harness.ROOT, "tests", "data")
RECORD = os.path.join(DATA, "sample_told.json")
SESSIONS = 5
TOPIC_ROLES = {"initiating", "developing", "climax", "concluding", "recurring", "background",
               "key_moment", "transition"}
FACT_ROLES = {"core", "context", "detail", "temporal", "spatial", "causal"}


def sample_turns():
    with open(os.path.join(DATA, "sample.json"), encoding="utf-8") as file:
        conversation = json.load(file)["conversations"][0]
    for session in conversation["sessions"][:SESSIONS]:
        for turn in session["turns"]:
            yield {"id": turn["id"], "speaker": turn["speaker"], "text": turn["text"],
                   "session": session["id"],
                   "timestamp": turn.get("time") or session["time"]}


class ToldSample(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        with ModelServer() as models, harness.Daemon(env={
                "HYPERMEM_LLM_BASE_URL": models.url, "HYPERMEM_LLM_MODEL": "fake"}) as daemon:
            client = daemon.client()
            for turn in sample_turns():
                client.post("/v1/spaces/sample/turns", {"turns": [turn]}).expect(202)
            client.settle("sample", 60)
            cls.n_turns = client.get("/v1/spaces/sample").expect(200)["counts"]["turns"]
            cls.topics, cls.episodes, cls.facts = (
                cls.load(client, noun) for noun in ("topics", "episodes", "facts"))
            cls.stats = models.stats()

    @staticmethod
    def load(client, noun):
        path = "/v1/spaces/sample/" + noun
        listed = client.get(path, limit=1000).expect(200)[noun]
        return [client.get(path + "/" + one["id"]).expect(200) for one in listed]

    def told(self):
        """The run without ids of facts, seqs and what is built of them."""
        def members(node, names):
            return sorted([names[m["id"]], m["role"], m["weight"]] for m in node["members"])
        fact = {f["id"]: f["content"] for f in self.facts}
        episode = {e["id"]: e["title"] for e in self.episodes}
        return {
            "topics": [{"title": t["title"], "summary": t["summary"], "keywords": t["keywords"],
                        "start": t["start"], "end": t["end"], "members": members(t, episode)}
                       for t in self.topics],
            "episodes": [{"title": e["title"], "summary": e["summary"], "start": e["start"],
                          "end": e["end"], "participants": e["participants"],
                          "session": e["session"], "turns": e["turn_ids"],
                          "members": members(e, fact)} for e in self.episodes],
            "facts": sorted(({key: f[key] for key in (
                "content", "potential", "keywords", "weight", "speaker", "role", "time",
                "valid_from", "valid_to", "turn_ids")} for f in self.facts),
                key=lambda f: (f["turn_ids"], f["content"])),
        }

    def test_topics_have_the_papers_fields(self):
        self.assertTrue(self.topics)
        for topic in self.topics:
            self.assertTrue(topic["title"] and topic["summary"] and topic["keywords"], topic)
            self.assertEqual([m["id"] for m in topic["members"]], topic["episode_ids"])
            for member in topic["members"]:
                self.assertIn(member["role"], TOPIC_ROLES)
                self.assertTrue(0 <= member["weight"] <= 1)

    def test_episodes_have_the_papers_fields(self):
        turns = [turn for episode in self.episodes for turn in episode["turn_ids"]]
        self.assertEqual(len(turns), self.n_turns)
        self.assertEqual(len(set(turns)), self.n_turns)
        for episode in self.episodes:
            self.assertTrue(episode["title"] and episode["summary"] and episode["topic_ids"])
            self.assertTrue(episode["participants"] and episode["members"], episode)
            self.assertFalse(episode["degraded"])
            for member in episode["members"]:
                self.assertIn(member["role"], FACT_ROLES)
                self.assertTrue(0 <= member["weight"] <= 1)

    def test_facts_have_the_papers_fields(self):
        told = [f for f in self.facts if f["potential"]]
        self.assertGreater(len(told), len(self.facts) / 2)
        for fact in told:
            self.assertTrue(fact["content"] and fact["keywords"] and fact["turn_ids"], fact)
            self.assertTrue(fact["episode_ids"] and 0 <= fact["weight"] <= 1, fact)

    def test_calls_a_turn(self):
        calls = sum(self.stats["by_purpose"].values())
        self.assertLess(calls, self.n_turns, "the research code makes 1.5 a turn")
        self.assertLessEqual(self.stats["by_purpose"].get("boundary", 0), 0.2 * self.n_turns)

    def test_it_is_the_recorded_run(self):
        told = self.told()
        if os.environ.get("HMTEST_RECORD"):
            with open(RECORD, "w", encoding="utf-8") as file:
                json.dump(told, file, ensure_ascii=False, indent=1, sort_keys=True)
                file.write("\n")
        with open(RECORD, encoding="utf-8") as file:
            self.assertEqual(told, json.load(file))


if __name__ == "__main__":
    unittest.main()
