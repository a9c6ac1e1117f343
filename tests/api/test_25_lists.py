"""Lists: order, pages without a cap on depth, filters; and each node by itself."""
import datetime

import harness

T0 = datetime.datetime(2023, 5, 1, 9, 0, tzinfo=datetime.timezone.utc)
DAYS = (
    ("Ann", "Bob", "I started training for the Berlin marathon with my sister.",
     "Great, the marathon training plan has three runs a week."),
    ("Ann", "Cleo", "The product launch slipped, so we work overtime until June.",
     "Overtime again? The launch team needs a new manager."),
    ("Bob", "Cleo", "We adopted a puppy named Biscuit from the shelter.",
     "Biscuit is a lovely name for a puppy."),
)


class Lists(harness.DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with cls.daemon.client() as client:
            for day in range(12):
                first, second, said, answered = DAYS[day % 3]
                at = T0 + datetime.timedelta(days=day)
                client.post("/v1/spaces/n/turns", {"turns": [
                    {"id": "d%d/%d" % (day, i), "session": "s%d" % (day % 3), "speaker": who,
                     "text": text + " Day %d, part %d." % (day, i),
                     "timestamp": (at + datetime.timedelta(minutes=i)).isoformat()}
                    for i, (who, text) in enumerate(((first, said), (second, answered)))]}
                            ).expect(202)
            cls.space = client.settle("n")

    def page(self, noun, **params):
        return self.client.get("/v1/spaces/n/" + noun, **params).expect(200)

    def all(self, noun, limit=1000, **params):
        """All records, page by page."""
        got = []
        for _ in range(10000):
            page = self.page(noun, limit=limit, **params)
            self.assertLessEqual(len(page[noun]), limit)
            got += page[noun]
            if "next_cursor" not in page:
                return got
            self.assertTrue(page[noun], "an empty page with a cursor")
            params["cursor"] = page["next_cursor"]
        raise AssertionError("the pages never end")

    def ids(self, noun, **params):
        return [node["id"] for node in self.all(noun, **params)]

    def test_counts_agree(self):
        for noun in ("turns", "facts", "episodes", "topics"):
            self.assertEqual(len(self.all(noun)), self.space["counts"][noun], noun)
        self.assertEqual(self.space["counts"]["turns"], 24)
        self.assertGreaterEqual(self.space["counts"]["episodes"], 12)

    def test_pages_of_every_size(self):
        for noun in ("turns", "facts", "episodes", "topics"):
            want = self.ids(noun)
            self.assertEqual(len(want), len(set(want)))
            for limit in (1, 2, 3, 7, len(want)):
                self.assertEqual(self.ids(noun, limit=limit), want, (noun, limit))
            numbers = [int(node["n"]) if noun == "turns" else int(node["id"].split("_")[1])
                       for node in self.all(noun)]
            self.assertEqual(numbers, sorted(numbers))

    def test_the_last_page_has_no_cursor(self):
        for noun in ("turns", "facts", "episodes", "topics"):
            n = self.space["counts"][noun]
            self.assertNotIn("next_cursor", self.page(noun, limit=n))
            if n > 1:
                self.assertIn("next_cursor", self.page(noun, limit=n - 1))

    def test_cursors_are_for_their_own_list(self):
        cursor = self.page("turns", limit=1)["next_cursor"]
        for noun in ("facts", "episodes", "topics", "jobs"):
            self.assert_refused(self.client.get("/v1/spaces/n/" + noun, cursor=cursor), 400,
                                "invalid_argument", "cursor")
        self.assert_refused(self.client.get("/v1/spaces", cursor=cursor), 400, None, "cursor")

    def test_turn_filters(self):
        self.assertEqual(len(self.all("turns", session="s1", limit=3)), 8)
        self.assertEqual({t["session"] for t in self.all("turns", session="s1")}, {"s1"})
        self.assertEqual({t["speaker"] for t in self.all("turns", speaker="Cleo")}, {"Cleo"})
        self.assertEqual(len(self.all("turns", speaker="Cleo", limit=1)), 8)
        self.assertEqual(self.ids("turns", session="s0", speaker="Bob", limit=1),
                         ["d0/1", "d3/1", "d6/1", "d9/1"])
        since, until = "2023-05-03T09:00:00Z", "2023-05-04T09:00:00Z"
        self.assertEqual(self.ids("turns", since=since, until=until), ["d2/0", "d2/1", "d3/0"])
        self.assertEqual(self.ids("turns", since="2023-05-12T11:01:00+02:00"), ["d11/1"])
        for nothing in ({"session": "none"}, {"speaker": "cleo"}, {"session": ""},
                        {"since": until, "until": since}):
            self.assertEqual(self.page("turns", **nothing), {"turns": []})

    def test_episode_filters(self):
        for episode in self.all("episodes", session="s2"):
            self.assertEqual(episode["session"], "s2")
        self.assertEqual(len(self.all("episodes", session="s2", limit=1)), 4)
        for episode in self.all("episodes", speaker="Ann"):
            self.assertIn("Ann", episode["participants"])
        got = self.ids("episodes", since="2023-05-03T09:00:30Z", until="2023-05-04T09:00:00Z")
        want = [e["id"] for e in self.all("episodes")
                if e["end"] >= "2023-05-03T09:00:30Z" and e["start"] <= "2023-05-04T09:00:00Z"]
        self.assertEqual(got, want)
        self.assertEqual(len(got), 2)
        topics = self.all("topics")
        for topic in topics:
            self.assertEqual(self.ids("episodes", topic=topic["id"], limit=2),
                             topic["episode_ids"])
        self.assertEqual(self.ids("episodes", topic="topic_4000000000"), [])
        for bad in ("3", "episode_3", "topic_0", "topic_x", ""):
            self.assert_refused(self.client.get("/v1/spaces/n/episodes", topic=bad), 400, None,
                                "topic")

    def test_fact_filters(self):
        facts = self.all("facts")
        self.assertEqual(self.ids("facts", speaker="Bob"),
                         [f["id"] for f in facts if f["speaker"] == "Bob"])
        turns = {turn["id"]: turn for turn in self.all("turns")}
        for fact in facts:
            self.assertTrue(fact["turn_ids"], fact)
            for turn in fact["turn_ids"]:
                self.assertIn(turn, turns)
        got = self.all("facts", session="s1", limit=1)
        self.assertEqual([f["id"] for f in got],
                         [f["id"] for f in facts if turns[f["turn_ids"][0]]["session"] == "s1"])
        self.assertTrue(got)
        got = self.ids("facts", since="2023-05-05T00:00:00Z", until="2023-05-06T00:00:00Z")
        self.assertEqual(got, [f["id"] for f in facts
                               if f["valid_from"].startswith("2023-05-05")])
        for episode in self.all("episodes")[:3]:
            got = self.ids("facts", episode=episode["id"], limit=1)
            self.assertEqual(got, [f["id"] for f in facts if episode["id"] in f["episode_ids"]])
        for bad in ("5", "fact_5", "episode_", "episode_01"):
            self.assert_refused(self.client.get("/v1/spaces/n/facts", episode=bad), 400, None,
                                "episode")

    def test_one_by_one_and_references(self):
        """Each node by itself is as in its list, and references agree both ways (DESIGN 5)."""
        for noun in ("turns", "facts", "episodes", "topics"):
            for node in self.all(noun):
                got = self.client.get("/v1/spaces/n/%s/%s" % (noun, harness.segment(node["id"]))
                                      ).expect(200)
                self.assertEqual({k: got[k] for k in node}, node)
        episodes = {e["id"]: e for e in self.all("episodes")}
        topics = {t["id"]: t for t in self.all("topics")}
        turns = []
        for episode in episodes.values():
            self.assertTrue(episode["topic_ids"])
            for topic in episode["topic_ids"]:
                self.assertIn(episode["id"], topics[topic]["episode_ids"])
            one = self.client.get("/v1/spaces/n/episodes/" + episode["id"]).expect(200)
            self.assertEqual([m["id"] for m in one["members"]], one["fact_ids"])
            for member in one["members"]:
                self.assertTrue(0 <= member["weight"] <= 1, member)
                fact = self.client.get("/v1/spaces/n/facts/" + member["id"]).expect(200)
                self.assertIn(episode["id"], fact["episode_ids"])
            turns += episode["turn_ids"]
        self.assertEqual(sorted(turns), sorted(t["id"] for t in self.all("turns")))
        for topic in topics.values():
            one = self.client.get("/v1/spaces/n/topics/" + topic["id"]).expect(200)
            self.assertEqual([m["id"] for m in one["members"]], topic["episode_ids"])
            for episode in topic["episode_ids"]:
                self.assertIn(topic["id"], episodes[episode]["topic_ids"])

    def test_what_is_not_there(self):
        for noun, node in (("turns", "d99/0"), ("turns", "turn_99"), ("turns", "turn_01"),
                           ("facts", "fact_99999"), ("facts", "99"), ("facts", "d0/0"),
                           ("episodes", "episode_0"), ("episodes", "fact_1"),
                           ("topics", "topic_99999999999"), ("topics", "Topic_1"),
                           ("jobs", "job_0"), ("jobs", "job_99999"), ("jobs", "flush_1")):
            self.assert_refused(self.client.get("/v1/spaces/n/%s/%s" % (
                noun, harness.segment(node))), 404, "not_found")

    def test_unknown_filters_are_named(self):
        for noun, name in (("turns", "topic"), ("turns", "episode"), ("episodes", "episode"),
                           ("facts", "topic"), ("topics", "session"), ("jobs", "state"),
                           ("turns", "offset"), ("facts", "order")):
            self.assert_refused(self.client.get("/v1/spaces/n/" + noun, **{name: "x"}), 400,
                                "invalid_argument", name)


class DeepList(harness.DaemonTest):
    def test_what_comes_and_goes_between_pages(self):
        for i in range(30):
            self.client.post("/v1/spaces/p/turns", {"id": "t%02d" % i, "text": "text %d" % i}
                             ).expect(202)
        first = self.client.get("/v1/spaces/p/turns", limit=10).expect(200)
        self.client.delete("/v1/spaces/p/turns/t09").expect(200)
        self.client.delete("/v1/spaces/p/turns/t15").expect(200)
        self.client.post("/v1/spaces/p/turns", {"id": "t99", "text": "new"}).expect(202)
        rest = self.client.get("/v1/spaces/p/turns", limit=1000, cursor=first["next_cursor"]
                               ).expect(200)
        self.assertEqual([t["id"] for t in rest["turns"]],
                         ["t%02d" % i for i in range(10, 30) if i != 15] + ["t99"])

    def test_a_page_of_large_turns_is_bounded(self):
        text = "word " * 200000
        for i in range(20):
            self.client.post("/v1/spaces/big/turns", {"text": text}).expect(202)
        got, params = 0, {"limit": 1000}
        while True:
            reply = self.client.get("/v1/spaces/big/turns", **params)
            self.assertLess(len(reply.body), 12 << 20)
            page = reply.expect(200)
            got += len(page["turns"])
            if "next_cursor" not in page:
                break
            params["cursor"] = page["next_cursor"]
        self.assertEqual(got, 20)
