"""Idempotency-Key: replays, refusals, many at once, and a crash between effect and reply."""
import concurrent.futures
import http.client
import json
import os

import harness


def post(client, path, body, key):
    return client.call("POST", path, body, {"Idempotency-Key": key,
                                            "Content-Type": "application/json"})


class Keys(harness.DaemonTest):
    def setUp(self):
        super().setUp()
        self.path = "/v1/spaces/k-" + self.id().rsplit(".", 1)[1].replace("_", "-")
        self.turns = self.path + "/turns"

    def count(self):
        return self.client.get(self.path).expect(200)["counts"]["turns"]

    def test_a_replay_is_the_first_reply(self):
        body = {"turns": [{"text": "one"}, {"text": "two", "id": "x"}]}
        first = post(self.client, self.turns, body, "k1").expect(202)
        self.client.post(self.turns, {"text": "between"}).expect(202)
        reply = post(self.client, self.turns, body, "k1")
        again = reply.expect(202)
        self.assertEqual(reply.header("Idempotent-Replayed"), "true")
        for name in ("accepted", "duplicates", "seq", "turns", "job"):
            self.assertEqual(again[name], first[name])
        self.assertEqual(self.count(), 3)

    def test_another_body_is_422(self):
        post(self.client, self.turns, {"text": "one"}, "k").expect(202)
        self.assert_refused(post(self.client, self.turns, {"text": "two"}, "k"), 422,
                            "unprocessable", "Idempotency-Key")
        self.assertEqual(self.count(), 1)

    def test_keys_belong_to_a_space_and_a_route(self):
        post(self.client, self.turns, {"text": "one"}, "k").expect(202)
        post(self.client, self.path + "-b/turns", {"text": "two"}, "k").expect(202)
        first = post(self.client, self.path + "/flush?wait=true", {}, "k").expect(200)
        again = post(self.client, self.path + "/flush?wait=true", {}, "k").expect(200)
        self.assertEqual(again, first)
        self.assertEqual(len(self.client.get(self.path + "/jobs").expect(200)["jobs"]), 1)

    def test_a_refusal_keeps_nothing(self):
        self.assert_refused(post(self.client, self.turns, {"text": ""}, "k"), 400)
        post(self.client, self.turns, {"text": "better"}, "k").expect(202)
        self.assertEqual(self.count(), 1)

    def test_a_deleted_space_forgets_its_keys(self):
        post(self.client, self.turns, {"text": "one"}, "k").expect(202)
        name = self.path.rsplit("/", 1)[1]
        self.client.delete(self.path, confirm=name).expect(200)
        got = post(self.client, self.turns, {"text": "other"}, "k").expect(202)
        self.assertEqual(got["accepted"], 1)

    def test_a_replay_can_wait(self):
        post(self.client, self.turns, {"text": "one"}, "k").expect(202)
        got = post(self.client, self.turns + "?wait=true", {"text": "one"}, "k").expect(202)
        self.assertEqual(got["pending_turns"], 0)

    def test_many_at_once_store_once(self):
        body = json.dumps({"turns": [{"text": "turn %d " % i * 200} for i in range(50)]}).encode()

        def one(_):
            with self.daemon.client() as client:
                return post(client, self.turns, body, "same")
        for _ in range(5):
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                replies = list(pool.map(one, range(16)))
            statuses = {reply.status for reply in replies}
            self.assertLessEqual(statuses, {202, 409})
            self.assertIn(202, statuses)
            for reply in replies:
                if reply.status == 409:
                    self.assert_refused(reply, 409, "conflict", "Idempotency-Key")
            self.assertEqual(len({json.dumps(reply.data["turns"]) for reply in replies
                                  if reply.status == 202}), 1)
        self.assertEqual(self.count(), 50)

    def test_reading_ignores_the_key(self):
        post(self.client, self.turns, {"text": "hello"}, "k").expect(202)
        for q in ("hello", "there"):
            post(self.client, self.path + "/query", {"q": q}, "same").expect(200)


class Crash(harness.LoggedTest):
    """Killed after the commit, before the reply: the client asks again and nothing is doubled."""

    POINTS = ("writer.after_commit", "writer.before_notify", "reply.before_send",
              "writer.before_commit")

    def test_ask_again_after_a_kill(self):
        for point in self.POINTS:
            with self.subTest(point=point), \
                    harness.Daemon(fault=True, env={"HYPERMEM_FAULT": ""}) as daemon:
                self.daemons = (daemon,)
                with daemon.client() as client:
                    post(client, "/v1/spaces/a/turns", {"text": "before"}, "k0").expect(202)
                    client.settle("a")
                daemon.stop()
                daemon.env = {"HYPERMEM_FAULT": point + ":1:kill"}
                daemon.start()
                with daemon.client() as client:
                    with self.assertRaises((OSError, http.client.HTTPException)):
                        post(client, "/v1/spaces/a/turns", {"text": "precious"}, "k1")
                self.assertNotEqual(daemon.wait(), 0)
                daemon.env = None
                daemon.start()
                with daemon.client() as client:
                    got = post(client, "/v1/spaces/a/turns", {"text": "precious"}, "k1").expect(202)
                    self.assertEqual(got["accepted"], 1)
                    again = post(client, "/v1/spaces/a/turns", {"text": "precious"}, "k1")
                    self.assertEqual(again.expect(202)["turns"], got["turns"])
                    turns = client.get("/v1/spaces/a/turns").expect(200)["turns"]
                    self.assertEqual([turn["text"] for turn in turns], ["before", "precious"])


if not os.environ.get("HMTEST_FAULT_BIN") and not os.path.exists(harness.binary(fault=True)):
    del Crash  # the build with fault points is not there; `make api` makes it
