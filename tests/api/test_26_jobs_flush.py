"""Flush, jobs, processed_seq."""
import harness


class Flush(harness.DaemonTest):
    def setUp(self):
        super().setUp()
        self.path = "/v1/spaces/f-" + self.id().rsplit(".", 1)[1].replace("_", "-")

    def post(self, text, session, wait=True):
        return self.client.post(self.path + "/turns", {"text": text, "session": session},
                                wait=wait).expect(202)

    def space(self):
        return self.client.get(self.path).expect(200)

    def test_closes_all_sessions(self):
        self.post("Ann moved to Porto in May.", "a")
        self.post("Bob bought a red bicycle.", "b")
        self.assertEqual(self.space()["open_turns"], 2)
        reply = self.client.post(self.path + "/flush", wait=True)
        got = reply.expect(200)
        self.assertEqual(got["closed"], 2)
        self.assertEqual(got["pending_turns"], 0)
        self.assertEqual(got["job"], "job_%d" % got["seq"])
        self.assertEqual(reply.header("Location"), self.path + "/jobs/" + got["job"])
        space = self.space()
        self.assertEqual(space["open_turns"], 0)
        self.assertEqual(space["counts"]["episodes"], 2)
        self.assertGreaterEqual(space["counts"]["facts"], 2)
        self.assertGreaterEqual(space["processed_seq"], got["seq"])
        again = self.client.post(self.path + "/flush", wait=True).expect(200)
        self.assertEqual(again["closed"], 0)

    def test_closes_one_session(self):
        self.post("Ann moved to Porto in May.", "a")
        self.post("Bob bought a red bicycle.", "b")
        self.client.post(self.path + "/turns", {"text": "Nobody's session."}, wait=True)
        got = self.client.post(self.path + "/flush", {"session": "a"}, wait=True).expect(200)
        self.assertEqual(got["closed"], 1)
        self.assertEqual(self.space()["open_turns"], 2)
        got = self.client.post(self.path + "/flush", {"session": "nosuch"}, wait=True).expect(200)
        self.assertEqual(got["closed"], 0)
        got = self.client.post(self.path + "/flush", {"session": ""}, wait=True).expect(200)
        self.assertEqual(got["closed"], 1)
        self.assertEqual(self.space()["open_turns"], 1)

    def test_is_ordered_after_the_turns_before_it(self):
        for i in range(40):
            self.post("Remark number %d about the garden." % i, "s%d" % (i % 5), wait=False)
        got = self.client.post(self.path + "/flush", wait=True).expect(200)
        self.assertEqual(got["pending_turns"], 0)
        self.assertEqual(self.space()["open_turns"], 0)
        self.assertGreaterEqual(self.space()["counts"]["episodes"], 5)

    def test_without_waiting_it_is_a_job(self):
        posted = self.post("Ann moved to Porto in May.", "a", wait=False)
        reply = self.client.post(self.path + "/flush", {})
        got = reply.expect(202)
        self.assertIsInstance(got["closed"], int)

        def done():
            job = self.client.get(self.path + "/jobs/" + got["job"]).expect(200)
            return job if job["state"] == "completed" else None
        job = harness.wait_until(done, 10, "the flush")
        self.assertEqual(job["id"], got["job"])
        self.assertEqual(job["kind"], "flush")
        self.assertEqual(job["result"], {"closed": 1})
        self.assertFalse(job["degraded"])
        self.assertLessEqual(job["created"], job["updated"])
        turns = self.client.get(self.path + "/jobs/" + posted["job"]).expect(200)
        self.assertEqual((turns["kind"], turns["state"]), ("turns", "completed"))
        listed = self.client.get(self.path + "/jobs").expect(200)["jobs"]
        self.assertEqual(listed, [job])

    def test_jobs_are_paged(self):
        self.post("Hello there.", "a")
        want = [self.client.post(self.path + "/flush", wait=True).expect(200)["job"]
                for _ in range(7)]
        got, params = [], {"limit": 3}
        while True:
            page = self.client.get(self.path + "/jobs", **params).expect(200)
            got += [job["id"] for job in page["jobs"]]
            if "next_cursor" not in page:
                break
            params["cursor"] = page["next_cursor"]
        self.assertEqual(got, want)

    def test_retry_is_for_failed_jobs(self):
        posted = self.post("Hello there.", "a")
        flushed = self.client.post(self.path + "/flush", wait=True).expect(200)
        for job in (posted["job"], flushed["job"]):
            self.assert_refused(self.client.post(self.path + "/jobs/%s/retry" % job), 409,
                                "conflict", "job")
        for job in ("job_999", "x", "job_0"):
            self.assert_refused(self.client.post(self.path + "/jobs/%s/retry" % job), 404)

    def test_processed_seq_never_falls(self):
        seen = 0
        for i in range(60):
            got = self.post("Remark %d." % i, "s", wait=False)
            if i % 10 == 9:
                self.client.post(self.path + "/flush").expect(202)
            space = self.space()
            self.assertGreaterEqual(space["processed_seq"], seen)
            self.assertLessEqual(space["processed_seq"], space["seq"])
            self.assertGreaterEqual(space["seq"], got["seq"])
            seen = space["processed_seq"]
        self.client.post(self.path + "/flush", wait=True).expect(200)
        space = self.space()
        self.assertEqual(space["processed_seq"], space["seq"])

    def test_timeout_of_zero_does_not_wait(self):
        self.post("Hello there.", "a", wait=False)
        self.client.post(self.path + "/flush", wait=True, timeout_ms=0).expect(200, 202)


class Idle(harness.DaemonTest):
    OPTIONS = ("--idle-close-s=1",)

    def test_a_quiet_session_closes_by_itself(self):
        self.client.post("/v1/spaces/i/turns", {"text": "Ann moved to Porto."}).expect(202)

        def closed():
            space = self.client.get("/v1/spaces/i").expect(200)
            return space["open_turns"] == 0 and space["counts"]["episodes"] == 1
        harness.wait_until(closed, 15, "idle closing")


class Restart(harness.LoggedTest):
    def test_a_flush_survives_a_kill(self):
        with harness.Daemon() as daemon:
            self.daemons = (daemon,)
            with daemon.client() as client:
                for i in range(30):
                    client.post("/v1/spaces/k/turns", {"text": "Remark %d." % i,
                                                       "session": "s%d" % i}).expect(202)
                job = client.post("/v1/spaces/k/flush").expect(202)["job"]
            daemon.kill()
            daemon.start()
            with daemon.client() as client:
                harness.wait_until(
                    lambda: client.get("/v1/spaces/k/jobs/" + job).expect(200)["state"] ==
                    "completed", 20, "the flush after a restart")
                space = client.get("/v1/spaces/k").expect(200)
                self.assertEqual(space["open_turns"], 0)
                self.assertEqual(space["counts"]["episodes"], 30)
