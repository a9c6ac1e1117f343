"""Deleting: what rests on a thing goes with it, the rest stays, and no live value holds it any more
(DESIGN 13; PITFALLS 16, 17)."""
import datetime
import json

import harness

T0 = datetime.datetime(2023, 5, 1, 9, 0, tzinfo=datetime.timezone.utc)
TALK = (
    ("Ann", "My cousin Wilhelmina moved to Reykjavik last week."),
    ("Bob", "Wilhelmina always wanted to see the northern lights in Reykjavik."),
    ("Ann", "She rents a flat near the harbour with her dog Pumpernickel."),
    ("Bob", "I sold my old Volkswagen to pay for the pottery course."),
    ("Ann", "The pottery course on Tuesdays sounds like fun, enjoy the clay."),
)


class Delete(harness.DaemonTest):
    def setUp(self):
        super().setUp()
        self.space = "d-" + self.id().rsplit(".", 1)[1].replace("_", "-")
        self.path = "/v1/spaces/" + self.space

    def fill(self, flush=True, session="s", day=0, talk=TALK):
        turns = [{"id": "%s%d/%d" % (session, day, i), "session": session, "speaker": who,
                  "text": text, "timestamp": (T0 + datetime.timedelta(days=day, minutes=i)
                                              ).isoformat()}
                 for i, (who, text) in enumerate(talk)]
        self.client.post(self.path + "/turns", {"turns": turns}, wait=True).expect(202)
        if flush:
            self.client.settle(self.space)
        return [turn["id"] for turn in turns]

    def delete(self, noun, node, **params):
        got = self.client.delete(self.path + "/%s/%s" % (noun, harness.segment(node)), **params
                                 ).expect(200)
        self.assertEqual(set(got), {"seq", "deleted"})
        self.assertEqual(set(got["deleted"]), {"turns", "facts", "episodes", "topics"})
        return got

    def counts(self):
        return self.client.get(self.path).expect(200)["counts"]

    def all(self, noun, **params):
        return self.client.get(self.path + "/" + noun, limit=1000, **params).expect(200)[noun]

    def everything(self):
        texts = [self.client.get(self.path + "/" + noun, limit=1000).text
                 for noun in ("turns", "facts", "episodes", "topics")]
        got = self.client.get(self.path + "/query", q="cousin moved flat harbour dog course",
                              facts=200, max_tokens=8000).expect(200)
        got.pop("query")
        return "".join(texts) + json.dumps(got, ensure_ascii=False)

    def assert_gone(self, *words):
        """Neither a reply nor a live value holds the word, and the invariants hold."""
        everything = self.everything()
        for word in words:
            self.assertFalse(word in everything, "%s is still told" % word)
            found = harness.run("fsck", "--data-dir", self.daemon.data_dir, "--find", word)
            self.assertEqual(found.returncode, 0, found.stdout[-1000:] + found.stderr[-1000:])
        self.check()

    def check(self):
        fsck = harness.run("fsck", "--data-dir", self.daemon.data_dir)
        self.assertEqual(fsck.returncode, 0, fsck.stdout[-2000:] + fsck.stderr[-2000:])

    def assert_found(self, word):
        found = harness.run("fsck", "--data-dir", self.daemon.data_dir, "--find", word)
        self.assertEqual(found.returncode, 3, found.stdout[-1000:] + found.stderr[-1000:])

    def test_a_turn_and_what_rests_on_it(self):
        talk = [(who, text.replace("Pumpernickel", "Pumpernickelq")) for who, text in TALK]
        ids = self.fill(talk=talk)
        self.assert_found("Pumpernickelq")
        before = self.counts()
        got = self.delete("turns", ids[2])
        self.assertEqual(got["deleted"]["turns"], 1)
        self.assertGreaterEqual(got["deleted"]["facts"], 1)
        self.assertEqual(got["deleted"]["episodes"], 0)
        after = self.counts()
        for noun in before:
            self.assertEqual(after[noun], before[noun] - got["deleted"][noun], noun)
        self.assert_gone("Pumpernickelq")
        self.assertIn("Wilhelmina", self.everything())
        self.assert_refused(self.client.get(self.path + "/turns/" + harness.segment(ids[2])), 404)
        self.assert_refused(self.client.delete(self.path + "/turns/" + harness.segment(ids[2])),
                            404)
        # The client's id is free again; our number is not used again.
        again = self.client.post(self.path + "/turns", {"id": ids[2], "text": "Other words."}
                                 ).expect(202)
        self.assertEqual(again["turns"], [{"id": ids[2], "n": 6}])

    def test_an_open_turn_and_one_by_number(self):
        ids = self.fill(flush=False)
        got = self.delete("turns", ids[2])
        self.assertEqual(got["deleted"], {"turns": 1, "facts": 0, "episodes": 0, "topics": 0})
        self.delete("turns", "turn_1")
        self.client.settle(self.space)
        everything = self.everything()
        self.assertNotIn("Pumpernickel", everything)
        self.assertNotIn("My cousin", everything)
        self.assertEqual(self.counts()["turns"], 3)
        self.check()

    def test_all_turns_one_by_one_leave_nothing(self):
        talk = [(who, text + " zanzibarq") for who, text in TALK]
        for turn in self.fill(talk=talk):
            self.delete("turns", turn)
            self.check()
        self.assertEqual(self.counts(), {"turns": 0, "facts": 0, "episodes": 0, "topics": 0})
        self.assert_gone("zanzibarq")
        self.assertEqual(self.all("episodes"), [])
        self.assertEqual(self.all("topics"), [])

    def test_a_fact_alone(self):
        self.fill()
        fact = next(f for f in self.all("facts") if "Pumpernickel" in f["content"])
        before = self.counts()
        got = self.delete("facts", fact["id"])
        self.assertEqual(got["deleted"], {"turns": 0, "facts": 1, "episodes": 0, "topics": 0})
        self.assertEqual(self.counts()["turns"], before["turns"])
        self.assertNotIn(fact["id"], [f["id"] for f in self.all("facts")])
        # Its turns stay and are found; no redo makes it again.
        got = self.client.get(self.path + "/query", q="Pumpernickel").expect(200)
        self.assertIn(fact["turn_ids"][0], got["context"]["turn_ids"])
        self.client.settle(self.space)
        self.assertFalse([f for f in self.all("facts") if f["content"] == fact["content"]])
        self.fill(day=1)
        self.assertFalse([f for f in self.all("facts") if f["content"] == fact["content"]
                          and f["speaker"] == fact["speaker"] and f["time"] == fact["time"]])
        self.check()

    def test_an_episode_takes_its_turns(self):
        kept = self.fill(session="kept", talk=TALK[3:])
        talk = [(who, text + " quetzalq") for who, text in TALK[:3]]
        self.fill(session="gone", day=1, talk=talk)
        episode = next(e for e in self.all("episodes") if e["session"] == "gone")
        got = self.delete("episodes", episode["id"])
        self.assertEqual(got["deleted"]["episodes"], 1)
        self.assertEqual(got["deleted"]["turns"], len(episode["turn_ids"]))
        self.assert_gone("quetzalq")
        self.assertEqual([t["id"] for t in self.all("turns")], kept)
        for topic in self.all("topics"):
            self.assertNotIn(episode["id"], topic["episode_ids"])
            self.assertTrue(topic["episode_ids"])

    def test_a_topic_wants_its_id_again(self):
        self.fill()
        topic = self.all("topics")[0]
        path = self.path + "/topics/" + topic["id"]
        self.assert_refused(self.client.delete(path), 400, "invalid_argument", "confirm")
        self.assert_refused(self.client.delete(path, confirm="topic_99"), 412,
                            "failed_precondition", "confirm")
        self.assert_refused(self.client.delete(path, confirm=topic["id"].upper()), 412)
        alone = [e["id"] for e in self.all("episodes") if e["topic_ids"] == [topic["id"]]]
        got = self.delete("topics", topic["id"], confirm=topic["id"])
        self.assertEqual(got["deleted"]["topics"], 1)
        self.assertEqual(got["deleted"]["episodes"], len(alone))
        left = [e["id"] for e in self.all("episodes")]
        self.assertFalse(set(alone) & set(left))
        self.assertNotIn(topic["id"], [t["id"] for t in self.all("topics")])
        self.check()

    def test_a_repeated_fact_lives_on_its_other_source(self):
        said = (("Ann", "My sister Guinevereq plays the violin in the city orchestra."),)
        first = self.fill(session="a", talk=said)
        second = self.fill(session="b", talk=said, day=1)
        facts = [f for f in self.all("facts") if "Guinevereq" in f["content"]]
        self.assertEqual(len(facts), 1)
        self.assertEqual(facts[0]["turn_ids"], first + second)
        got = self.delete("turns", first[0])
        self.assertEqual(got["deleted"]["facts"], 0)
        fact = self.client.get(self.path + "/facts/" + facts[0]["id"]).expect(200)
        self.assertEqual(fact["turn_ids"], second)
        self.check()
        self.delete("turns", second[0])
        self.assert_gone("Guinevereq")

    def test_a_long_turn(self):
        text = "The archive holds a xylographyq on shelf nine. " * 3000
        self.client.post(self.path + "/turns", {"id": "long", "text": text}).expect(202)
        self.client.settle(self.space)
        self.delete("turns", "long")
        self.assert_gone("xylographyq")

    def test_a_space(self):
        talk = [(who, text + " ptarmiganq") for who, text in TALK]
        self.fill(talk=talk)
        counts = self.counts()
        got = self.client.delete(self.path, confirm=self.space).expect(200)
        self.assertEqual(got["deleted"], counts)

        def purged():
            return harness.run("fsck", "--data-dir", self.daemon.data_dir, "--find",
                               "ptarmiganq").returncode == 0
        harness.wait_until(purged, 20, "the purge of the space")
        self.check()

    def test_metrics_and_duplicates_after_a_delete(self):
        ids = self.fill()
        self.delete("turns", ids[0])
        # The same text under the free id is a new turn.
        got = self.client.post(self.path + "/turns", {
            "id": ids[0], "session": "s", "speaker": "Ann", "text": TALK[0][1],
            "timestamp": T0.isoformat()}).expect(202)
        self.assertEqual((got["accepted"], got["duplicates"]), (1, 0))

    def test_deletes_beside_posts(self):
        """Deletes wait for the lane, posts do not; nothing is lost and the invariants hold."""
        for i in range(60):
            self.client.post(self.path + "/turns", {
                "id": "m%d" % i, "session": "s%d" % (i % 4), "speaker": "Ann",
                "text": "Remark %d about the %s." % (i, ("garden", "car", "trip")[i % 3])}
                             ).expect(202)
            if i % 9 == 8:
                self.client.post(self.path + "/flush").expect(202)
            if i % 3 == 2:
                self.delete("turns", "m%d" % (i - 1))
        self.client.settle(self.space)
        left = [t["id"] for t in self.all("turns")]
        self.assertEqual(left, ["m%d" % i for i in range(60) if i % 3 != 1])
        self.check()
