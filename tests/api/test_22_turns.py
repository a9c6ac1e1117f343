"""Posting turns in all forms, duplicates, times, and that they are found at once."""
import datetime
import json

import harness

T0 = datetime.datetime(2023, 5, 8, 13, 56, tzinfo=datetime.timezone.utc)


class Turns(harness.DaemonTest):
    def setUp(self):
        super().setUp()
        self.space = "t-" + self.id().rsplit(".", 1)[1].replace("_", "-")
        self.path = "/v1/spaces/" + self.space

    def post(self, body, **params):
        return self.client.post(self.path + "/turns", body, **params)

    def turn(self, shown):
        return self.client.get(self.path + "/turns/" + harness.segment(shown)).expect(200)

    def count(self):
        return self.client.get(self.path).expect(200)["counts"]["turns"]

    def test_array_of_turns(self):
        reply = self.post({"turns": [
            {"id": "x", "session": "s", "speaker": "Ann", "role": "user", "text": "Hello Bob!",
             "timestamp": "2023-05-08T15:56:00+02:00", "metadata": {"k": [1, {"z": None}]}},
            {"text": "Hi there."}]})
        got = reply.expect(202)
        self.assertEqual(got["accepted"], 2)
        self.assertEqual(got["duplicates"], 0)
        self.assertEqual(got["seq"], 1)
        self.assertEqual(got["turns"], [{"id": "x", "n": 1}, {"id": "turn_2", "n": 2}])
        self.assertEqual(got["job"], "job_1")
        self.assertIsInstance(got["pending_turns"], int)
        self.assertEqual(reply.header("Location"), self.path + "/jobs/job_1")
        turn = self.turn("x")
        self.assertEqual(turn["timestamp"], "2023-05-08T13:56:00Z")
        self.assertEqual(turn["offset_min"], 120)
        self.assertEqual(turn["time_source"], "given")
        self.assertEqual(turn["metadata"], {"k": [1, {"z": None}]})
        self.assertEqual((turn["session"], turn["speaker"], turn["role"], turn["n"]),
                         ("s", "Ann", "user", 1))
        self.assertEqual(self.turn("turn_1")["id"], "x")
        turn = self.turn("turn_2")
        self.assertIsNone(turn["session"])
        self.assertIsNone(turn["metadata"])
        self.assertEqual(turn["time_source"], "received")

    def test_one_turn(self):
        got = self.post({"id": "only", "text": "hello"}).expect(202)
        self.assertEqual(got["turns"], [{"id": "only", "n": 1}])

    def test_ndjson(self):
        body = b'{"text":"one","id":"a"}\r\n\n{"text":"two\xe2\x80\xa8still two"}\n{"text":"three"}'
        got = self.client.call("POST", self.path + "/turns", body, {
            "Content-Type": "application/x-ndjson; charset=utf-8"}).expect(202)
        self.assertEqual(got["accepted"], 3)
        self.assertEqual(self.turn("turn_2")["text"], "two\u2028still two")
        reply = self.client.call("POST", self.path + "/turns", b'{"text":"ok"}\n{"text":5}', {
            "Content-Type": "application/x-ndjson"})
        self.assert_refused(reply, 400, "invalid_argument", "turns[1].text")
        self.assertEqual(self.count(), 3)

    def test_messages(self):
        got = self.post({"session": "chat", "messages": [
            {"role": "system", "content": "You are kind."},
            {"role": "user", "name": "Ann", "content": [
                {"type": "text", "text": "Look at this."},
                {"type": "image_url", "image_url": {"url": "http://x"}},
                {"type": "text", "text": "My cat Momo."}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
            {"role": "tool", "content": "a cat", "tool_call_id": "c1"}]}).expect(202)
        self.assertEqual(got["accepted"], 3)
        turn = self.turn("turn_2")
        self.assertEqual(turn["text"], "Look at this.\nMy cat Momo.")
        self.assertEqual((turn["role"], turn["speaker"], turn["session"]), ("user", "Ann", "chat"))
        self.assertEqual(self.turn("turn_3")["role"], "tool")

    def test_messages_without_words_are_left_out(self):
        call = [{"id": "c1"}]
        got = self.post({"messages": [
            {"role": "user", "content": "What is the weather?"},
            {"role": "assistant", "content": "", "tool_calls": call},
            {"role": "assistant", "content": [], "tool_calls": call},
            {"role": "assistant", "content": None, "refusal": "no"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]},
            {"role": "assistant", "content": "Rain."}]}).expect(202)
        self.assertEqual(got["accepted"], 2)
        self.assert_refused(self.post({"messages": [{"role": "user", "content": " "}]}), 400,
                            "invalid_argument", "messages[0].content")

    def test_messages_with_members_of_a_turn(self):
        self.post({"session": "outer", "messages": [
            {"role": "user", "content": "I moved to Graz yesterday.", "id": "x1", "session": "s9",
             "timestamp": "2024-05-01T10:00:00Z", "metadata": {"a": 1}, "anything": [1]},
            {"role": "assistant", "content": "Nice!", "timestamp": 1714557600, "id": 7},
        ]}).expect(202)
        turn = self.turn("x1")
        self.assertEqual((turn["timestamp"], turn["session"], turn["metadata"]),
                         ("2024-05-01T10:00:00Z", "s9", {"a": 1}))
        turn = self.turn("turn_2")
        self.assertEqual((turn["session"], turn["time_source"]), ("outer", "received"))
        self.assert_refused(self.post({"messages": [
            {"role": "user", "content": "Hi there", "timestamp": "tomorrow"}]}), 400,
            "invalid_argument", "messages[0].timestamp")

    def test_a_resent_history_is_stored_once(self):
        history = [{"role": "user", "content": "I moved to Porto."}]
        for answer in ("Nice!", "Since when?", "And the job?", "Good luck."):
            self.post({"messages": history, "session": "h"}).expect(202)
            history += [{"role": "assistant", "content": answer},
                        {"role": "user", "content": "Yes, %s" % answer.lower()}]
        got = self.post({"messages": history, "session": "h"}).expect(202)
        self.assertEqual(got["duplicates"], len(history) - 2)
        self.assertEqual(self.count(), len(history))
        self.assertEqual([t["n"] for t in got["turns"]], list(range(1, len(history) + 1)))
        self.assertEqual([bool(t.get("duplicate")) for t in got["turns"]],
                         [True] * (len(history) - 2) + [False] * 2)
        # A short repeat is a new message: people do say "yes" twice.
        got = self.post({"messages": [history[-1]], "session": "h"}).expect(202)
        self.assertEqual(got["accepted"], 1)

    def test_duplicates_by_id(self):
        turn = {"id": "d", "session": "s", "speaker": "Ann", "role": "user", "text": "Hello.",
                "timestamp": "2023-05-08T13:56:00Z", "metadata": {"a": 1, "b": [2]}}
        first = self.post(turn).expect(202)
        again = self.post(turn).expect(202)
        self.assertEqual((again["accepted"], again["duplicates"]), (0, 1))
        self.assertEqual(again["turns"], [{"id": "d", "n": 1, "duplicate": True}])
        self.assertGreaterEqual(again["seq"], first["seq"])
        # The timestamp counts where both calls gave one; the same moment in another offset is one.
        self.post(dict(turn, timestamp="2023-05-08T15:56:00+02:00")).expect(202)
        self.post({k: v for k, v in turn.items() if k != "timestamp"}).expect(202)
        for name, value in (("text", "Hello!"), ("speaker", "Bob"), ("role", "assistant"),
                            ("session", "z"), ("metadata", {"a": 2}), ("metadata", None),
                            ("timestamp", "2023-05-08T13:56:01Z")):
            self.assert_refused(self.post(dict(turn, **{name: value})), 409, "conflict",
                                "turns[0].id")
        self.assertEqual(self.count(), 1)
        # The same id twice in one call follows the same rule.
        got = self.post({"turns": [{"id": "e", "text": "x"}, {"id": "e", "text": "x"}]}).expect(202)
        self.assertEqual((got["accepted"], got["duplicates"]), (1, 1))
        self.assertEqual([t["n"] for t in got["turns"]], [2, 2])
        self.assert_refused(self.post({"turns": [{"id": "f", "text": "x"},
                                                 {"id": "f", "text": "y"}]}), 409, "conflict",
                            "turns[1].id")

    def test_a_call_is_atomic(self):
        good = [{"text": "fine %d" % i} for i in range(5)]
        for bad, status, param in (({"text": ""}, 400, "turns[3].text"),
                                   ({"text": "x", "foo": 1}, 400, "turns[3].foo"),
                                   ({"text": "x", "timestamp": "later"}, 400, "turns[3].timestamp"),
                                   ({"text": "x", "id": "turn_9"}, 400, "turns[3].id"),
                                   ({"speaker": "Ann"}, 400, "turns[3].text")):
            self.assert_refused(self.post({"turns": good[:3] + [bad] + good[3:]}), status, None,
                                param)
        self.assert_refused(self.client.get(self.path), 404)
        self.post({"id": "taken", "text": "a"}).expect(202)
        self.assert_refused(self.post({"turns": good + [{"id": "taken", "text": "b"}]}), 409,
                            "conflict", "turns[5].id")
        self.assertEqual(self.count(), 1)

    def test_reserved_and_odd_ids(self):
        for bad in ("turn_1", "fact_7", "episode_1", "topic_007", "a\nb", "a\u0000b", "\u007f"):
            self.assert_refused(self.post({"id": bad, "text": "x"}), 400, None, "turns[0].id")
        for good in ("a/b/c", "..", "%41", "ä ö", "😀", "a?b#c", "turn_x", "TURN_1", "x" * 128):
            self.post({"id": good, "text": "text of " + good}).expect(202)
            self.assertEqual(self.turn(good)["text"], "text of " + good)
        self.assert_refused(self.client.get(self.path + "/turns/a%00b"), 400)
        self.assert_refused(self.client.get(self.path + "/turns/a%2Fb"), 404)

    def test_times(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        later = now + datetime.timedelta(minutes=30)
        self.post({"turns": [
            {"id": "old", "text": "x", "timestamp": "1969-07-20T20:17:40.123456Z"},
            {"id": "future", "text": "x", "timestamp": later.isoformat()},
            {"id": "space", "text": "x", "timestamp": "2023-05-08 13:56:00z"}]}).expect(202)
        self.assertEqual(self.turn("old")["timestamp"], "1969-07-20T20:17:40.123Z")
        self.assertEqual(self.turn("future")["time_source"], "future")
        self.assertEqual(self.turn("space")["timestamp"], "2023-05-08T13:56:00Z")
        for bad in ("", "yesterday", "2023-05-08", "2023-05-08T13:56:00", "2023-02-29T00:00:00Z",
                    "2023-05-08T24:00:00Z", "0000-01-01T00:00:00Z", "2023-05-08T13:56:00+25:00",
                    " 2023-05-08T13:56:00Z", 1683554160, True, {}):
            self.assert_refused(self.post({"text": "x", "timestamp": bad}), 400, None,
                                "turns[0].timestamp")

    def test_text_comes_back_as_it_was(self):
        texts = ("NUL \u0000 inside", "tabs\tand\nlines\r\n", "x\u2028\u2029\u0085x",
                 "👩‍👩‍👧‍👦 🏳️‍🌈",
                 "\"quotes\" \\ /", "\u202eright to left\u202c", "e\u0301 vs \u00e9",
                 "x" * 20000, "ÿ\U0010ffff\ufffd", "  leading and trailing  ", "</script><!--",
                 "x\u007f\u0080")
        for i, text in enumerate(texts):
            self.post({"id": "t%d" % i, "text": text, "speaker": "Zoë 😀"}).expect(202)
            turn = self.turn("t%d" % i)
            self.assertEqual(turn["text"], text)
            self.assertEqual(turn["speaker"], "Zoë 😀")
        reply = self.client.get(self.path + "/turns", limit=1000)
        self.assertEqual([t["text"] for t in reply.expect(200)["turns"]], list(texts))
        self.assertNotIn("\u2028", reply.text)
        self.assertNotIn("\n", reply.text)

    def test_metadata_keeps_order_and_numbers(self):
        body = (b'{"text":"x","id":"m","metadata":{"z":0.1,"a":1e-7,"big":9007199254740993,'
                b'"third":0.3333333333333333,"neg":-0.5,"s":"\\u2028\\u0000","e":{},"l":[[]]}}')
        self.client.call("POST", self.path + "/turns", body,
                         {"Content-Type": "application/json"}).expect(202)
        raw = self.client.get(self.path + "/turns/m")
        self.assertEqual(raw.data["metadata"], json.loads(body)["metadata"])
        self.assertEqual(list(raw.data["metadata"]), list(json.loads(body)["metadata"]))
        self.assertIn('"z":0.1,', raw.text)
        self.assertIn("9007199254740993", raw.text)

    def test_found_from_the_moment_of_the_reply(self):
        for i in range(30):
            word = "quokka%s" % chr(ord("a") + i % 26) * 2
            self.post({"id": "r%d" % i, "text": "Today I saw a %s near the lake." % word,
                       "session": "s%d" % i}).expect(202)
            got = self.client.get(self.path + "/query", q=word).expect(200)
            self.assertIn(word, json.dumps(got["recent"]) + json.dumps(got["facts"]))
            self.assertIn("r%d" % i, got["context"]["turn_ids"])

    def test_wait_returns_when_nothing_is_pending(self):
        got = self.post({"text": "Ann works in Leeds now."}, wait=True).expect(202)
        self.assertEqual(got["pending_turns"], 0)
        space = self.client.get(self.path).expect(200)
        self.assertGreaterEqual(space["processed_seq"], got["seq"])
        self.assertEqual(space["open_turns"], 1)
        job = self.client.get(self.path + "/jobs/" + got["job"]).expect(200)
        self.assertEqual((job["state"], job["kind"]), ("completed", "turns"))
        self.post({"text": "Again."}, wait=True, timeout_ms=0).expect(202)
        for bad in ("-1", "x", "300001", ""):
            self.assert_refused(self.post({"text": "x"}, timeout_ms=bad), 400, None, "timeout_ms")
        self.assert_refused(self.post({"text": "x"}, wait="maybe"), 400, None, "wait")
        self.assertEqual(self.count(), 2)

    def test_order_is_that_of_arrival(self):
        for i in range(20):
            at = T0 - datetime.timedelta(hours=i)
            self.post({"id": "o%d" % i, "text": "x %d" % i, "timestamp": at.isoformat()}
                      ).expect(202)
        got = self.client.get(self.path + "/turns").expect(200)["turns"]
        self.assertEqual([t["id"] for t in got], ["o%d" % i for i in range(20)])
        self.assertEqual([t["n"] for t in got], list(range(1, 21)))
        self.assertEqual([t["seq"] for t in got], sorted(t["seq"] for t in got))

    def test_content_types(self):
        for kind, status in (("application/json", 202), ("application/json; charset=utf-8", 202),
                             ("APPLICATION/JSON;charset=UTF-8", 202), ("text/plain", 415),
                             ("application/json; charset=latin-1", 415), ("", 415),
                             ("application/x-www-form-urlencoded", 415),
                             ("multipart/form-data; boundary=x", 415)):
            reply = self.client.call("POST", self.path + "/turns", b'{"text":"x"}',
                                     {"Content-Type": kind})
            self.assertEqual(reply.status, status, (kind, reply))
        reply = self.client.call("POST", self.path + "/turns", b"\x1f\x8b", {
            "Content-Encoding": "gzip"})
        self.assert_refused(reply, 415, "unsupported_media_type", "Content-Encoding")
        self.assertEqual(self.count(), 3)


class Restarted(harness.LoggedTest):
    def test_what_was_acknowledged_is_there(self):
        with harness.Daemon() as daemon:
            self.daemons = (daemon,)
            with daemon.client() as client:
                for i in range(50):
                    client.post("/v1/spaces/a/turns", {"id": "k%d" % i, "text": "turn %d" % i}
                                ).expect(202)
            daemon.kill()
            daemon.start()
            with daemon.client() as client:
                got = client.get("/v1/spaces/a/turns", limit=1000).expect(200)["turns"]
                self.assertEqual([t["id"] for t in got], ["k%d" % i for i in range(50)])
                client.settle("a")
