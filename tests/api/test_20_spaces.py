"""Spaces: create, merge, show, list, delete."""
import harness


class Spaces(harness.DaemonTest):
    def names(self, **params):
        return [space["name"] for space in
                self.client.get("/v1/spaces", **params).expect(200)["spaces"]]

    def test_put_creates_and_shows(self):
        got = self.client.put("/v1/spaces/new").expect(201)
        self.assertEqual(got["name"], "new")
        self.assertEqual(got["settings"], {"timezone": "UTC", "language": "en"})
        self.assertEqual(got["seq"], 1)
        self.assertEqual(got["processed_seq"], 1)
        self.assertEqual(got["counts"], {"turns": 0, "facts": 0, "episodes": 0, "topics": 0})
        self.assertEqual((got["pending_turns"], got["open_turns"]), (0, 0))
        self.assertIsInstance(got["bytes"], int)
        self.assertRegex(got["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$")
        self.assertEqual(got["models"], {"chat": None, "embed": None, "rerank": None})
        self.assertEqual(set(got["stages"].values()), {"builtin"})
        again = self.client.get("/v1/spaces/new").expect(200)
        self.assertEqual(again, got)

    def test_put_merges(self):
        path = "/v1/spaces/merge"
        self.client.put(path, {"timezone": "Europe/Berlin"}).expect(201)
        got = self.client.put(path, {"language": "de"}).expect(200)
        self.assertEqual(got["settings"], {"timezone": "Europe/Berlin", "language": "de"})
        self.assertEqual(got["seq"], 2)
        # Nothing changes, so nothing is counted; null is the same as leaving it out.
        got = self.client.put(path, {"language": "de", "timezone": None}).expect(200)
        self.assertEqual(got["seq"], 2)
        self.assertEqual(self.client.call("PUT", path).expect(200)["seq"], 2)

    def test_bad_settings_are_named_and_create_nothing(self):
        path = "/v1/spaces/bad"
        for body, param in (({"timezone": "Mars/Olympus"}, "timezone"),
                            ({"timezone": "/etc/passwd"}, "timezone"),
                            ({"timezone": "../../etc/passwd"}, "timezone"),
                            ({"timezone": "+25:00"}, "timezone"),
                            ({"timezone": 5}, "timezone"),
                            ({"language": "xx"}, "language"),
                            ({"language": ["en"]}, "language"),
                            ({"colour": "red"}, "colour"),
                            ({"timezone": "UTC", "Language": "en"}, "Language"),
                            ([], "body")):
            self.assert_refused(self.client.put(path, body), 400, "invalid_argument", param)
        self.assert_refused(self.client.get(path), 404, "not_found", "space")

    def test_language_is_fixed_once_turns_exist(self):
        path = "/v1/spaces/fixed"
        self.client.put(path, {"language": "de"}).expect(201)
        self.client.put(path, {"language": "none"}).expect(200)
        self.client.post(path + "/turns", {"text": "Guten Tag"}).expect(202)
        self.assert_refused(self.client.put(path, {"language": "de"}), 409, "conflict", "language")
        self.client.put(path, {"language": "none", "timezone": "+02:00"}).expect(200)
        self.assertEqual(self.client.get(path).expect(200)["settings"],
                         {"timezone": "+02:00", "language": "none"})

    def test_timezone_is_used_for_turns_without_a_timestamp(self):
        path = "/v1/spaces/zone"
        self.client.put(path, {"timezone": "-03:30"}).expect(201)
        self.client.post(path + "/turns", {"id": "t", "text": "hello"}).expect(202)
        turn = self.client.get(path + "/turns/t").expect(200)
        self.assertEqual(turn["offset_min"], -210)
        self.assertEqual(turn["time_source"], "received")

    def test_reading_never_creates(self):
        for path in ("", "/turns", "/topics", "/episodes", "/facts", "/jobs", "/query?q=x",
                     "/turns/a", "/facts/fact_1", "/jobs/job_1"):
            self.assert_refused(self.client.get("/v1/spaces/typo" + path), 404, "not_found",
                                "space")
        self.assert_refused(self.client.post("/v1/spaces/typo/flush"), 404, "not_found", "space")
        self.assert_refused(self.client.post("/v1/spaces/typo/query", {"q": "x"}), 404)
        self.assert_refused(self.client.delete("/v1/spaces/typo/turns/a"), 404)
        self.assert_refused(self.client.delete("/v1/spaces/typo", confirm="typo"), 404)
        self.assertNotIn("typo", self.names())

    def test_an_empty_memory_is_no_error(self):
        self.client.put("/v1/spaces/empty").expect(201)
        for noun in ("turns", "topics", "episodes", "facts", "jobs"):
            self.assertEqual(self.client.get("/v1/spaces/empty/" + noun).expect(200), {noun: []})
        got = self.client.get("/v1/spaces/empty/query", q="anything").expect(200)
        for noun in ("topics", "episodes", "facts", "recent", "degraded"):
            self.assertEqual(got[noun], [])
        self.assertEqual(got["context"]["text"], "")
        self.assertEqual(self.client.post("/v1/spaces/empty/flush", wait=True).expect(200)
                         ["closed"], 0)

    def test_names(self):
        for name in ("a", "Z" * 128, "0.9", "a~b@c:d-e_f", "...", ".a", "-"):
            path = "/v1/spaces/" + harness.segment(name)
            self.assertEqual(self.client.put(path).expect(201)["name"], name)
            self.client.delete(path, confirm=name).expect(200)
        for name in ("a" * 129, "a b", "a+b", "ä", "a%b", "a\\b", "a*", "a,b", "(a)"):
            self.assert_refused(self.client.put("/v1/spaces/" + harness.segment(name)), 400,
                                "invalid_argument", "space")

    def test_list_pages_and_prefix(self):
        wanted = ["list-%02d" % i for i in range(25)]
        for name in reversed(wanted):
            self.client.put("/v1/spaces/" + name).expect(201)
        got, cursor = [], None
        while True:
            params = {"limit": 4, "prefix": "list-"}
            if cursor:
                params["cursor"] = cursor
            page = self.client.get("/v1/spaces", **params).expect(200)
            self.assertLessEqual(len(page["spaces"]), 4)
            got += [space["name"] for space in page["spaces"]]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
        self.assertEqual(got, wanted)
        self.assertEqual(self.names(prefix="list-1", limit=1000), wanted[10:20])
        self.assertEqual(self.names(prefix="nothing-"), [])
        self.assertEqual(self.names(limit=25, prefix="list-"), wanted)

    def test_delete_wants_the_name_again(self):
        path = "/v1/spaces/gone"
        self.client.post(path + "/turns", {"text": "We adopted a dog called Biscuit."}).expect(202)
        self.client.settle("gone")
        before = self.client.get(path).expect(200)
        self.assert_refused(self.client.delete(path), 400, "invalid_argument", "confirm")
        self.assert_refused(self.client.delete(path, confirm=""), 412, "failed_precondition",
                            "confirm")
        self.assert_refused(self.client.delete(path, confirm="GONE"), 412)
        self.assertEqual(self.client.get(path).expect(200)["counts"], before["counts"])
        got = self.client.delete(path, confirm="gone").expect(200)
        self.assertEqual(got["deleted"], before["counts"])
        self.assertEqual(got["deleted"]["turns"], 1)
        self.assertGreater(got["seq"], before["seq"])
        self.assert_refused(self.client.get(path), 404)
        self.assertNotIn("gone", self.names())
        # A name that comes again goes on above its old seq and knows nothing.
        again = self.client.post(path + "/turns", {"text": "hello"}).expect(202)
        self.assertGreater(again["seq"], got["seq"])
        self.assertEqual(again["turns"], [{"id": "turn_1", "n": 1}])
        found = self.client.get(path + "/query", q="dog Biscuit").expect(200)
        self.assertNotIn("Biscuit", found["context"]["text"])

    def test_methods(self):
        for method, path, allow in (
                ("POST", "/v1/spaces/a", "DELETE, GET, HEAD, OPTIONS, PUT"),
                ("PUT", "/v1/spaces", "GET, HEAD, OPTIONS"),
                ("GET", "/v1/spaces/a/flush", "OPTIONS, POST"),
                ("DELETE", "/v1/spaces/a/turns", "GET, HEAD, OPTIONS, POST")):
            reply = self.client.call(method, path)
            self.assert_refused(reply, 405, "method_not_allowed")
            self.assertEqual(", ".join(sorted(reply.header("Allow").split(", "))), allow)
        reply = self.client.call("OPTIONS", "/v1/spaces/a")
        self.assertEqual(reply.status, 204)
        self.assertIn("PUT", reply.header("Allow"))
        self.assertIsNone(reply.header("Access-Control-Allow-Origin"))
        reply = self.client.head("/v1/spaces")
        self.assertEqual((reply.status, reply.body), (200, b""))
        for path in ("/v1/spaces/a/turns/x", "/v1/spaces/a/facts/fact_1",
                     "/v1/spaces/a/topics/topic_1", "/v1/spaces/a/episodes/episode_1"):
            self.assert_refused(self.client.patch(path, {}), 501, "unimplemented")

    def test_unknown_parameters_are_named(self):
        self.client.put("/v1/spaces/params").expect(201)
        for path in ("/v1/spaces", "/v1/spaces/params", "/v1/spaces/params/turns",
                     "/v1/spaces/params/facts", "/v1/spaces/params/query?q=x",
                     "/v1/spaces/params/jobs/job_1", "/healthz", "/metrics", "/version"):
            self.assert_refused(self.client.get(path, nosuch=1), 400, "invalid_argument", "nosuch")
        self.assert_refused(self.client.get("/v1/spaces", limit=[1, 2]), 400, None, "limit")
        self.assert_refused(self.client.get("/v1/spaces?limit=%zz"), 400, None, "limit")
        self.assert_refused(self.client.get("/v1/spaces?%zz=1"), 400, None, "query")

    def test_request_ids(self):
        reply = self.client.call("GET", "/v1/spaces", headers={"X-Request-ID": "mine-7"})
        self.assertEqual(reply.header("X-Request-ID"), "mine-7")
        reply = self.client.call("GET", "/nothing", headers={"X-Request-ID": "mine-8"})
        self.assertEqual(reply.data["request_id"], "mine-8")
        made = {self.client.get("/v1/spaces").header("X-Request-ID") for _ in range(20)}
        self.assertEqual(len(made), 20)
        reply = self.client.call("GET", "/v1/spaces", headers={"X-Request-ID": "x" * 500})
        self.assertLess(len(reply.header("X-Request-ID")), 129)
        self.assertEqual([name for name, _ in reply.all_headers
                          if name.lower() == "x-request-id"].__len__(), 1)


class NoAutoCreate(harness.DaemonTest):
    OPTIONS = ("--auto-create=false",)

    def test_posting_to_an_unknown_space(self):
        self.assert_refused(self.client.post("/v1/spaces/a/turns", {"text": "x"}), 404,
                            "not_found", "space")
        self.client.put("/v1/spaces/a").expect(201)
        self.client.post("/v1/spaces/a/turns", {"text": "x"}).expect(202)


class WithKey(harness.DaemonTest):
    KEY = "s3cret-key"

    def test_three_forms_of_the_key(self):
        client = self.daemon.client(key="")
        self.addCleanup(client.close)
        for headers, status in (({}, 401), ({"Authorization": "Bearer s3cret-key"}, 200),
                                ({"Authorization": "Token s3cret-key"}, 200),
                                ({"X-API-Key": "s3cret-key"}, 200),
                                ({"Authorization": "Bearer s3cret-kex"}, 401),
                                ({"Authorization": "Bearer s3cret-ke"}, 401),
                                ({"Authorization": "Bearer"}, 401),
                                ({"Authorization": "Basic s3cret-key"}, 401),
                                ({"Authorization": "s3cret-key"}, 401)):
            reply = client.call("GET", "/v1/spaces", headers=headers)
            self.assertEqual(reply.status, status, (headers, reply))
            if status == 401:
                self.assert_refused(reply, 401, "unauthenticated")
                self.assertIn("Bearer", reply.header("WWW-Authenticate"))
                self.assertNotIn("s3cret", reply.text)

    def test_nothing_is_told_without_it(self):
        client = self.daemon.client(key="")
        self.addCleanup(client.close)
        self.client.put("/v1/spaces/there").expect(201)
        replies = [client.get(path) for path in
                   ("/v1/spaces/there", "/v1/spaces/missing", "/v1/spaces/a%00b", "/nothing",
                    "/metrics")]
        self.assertEqual({reply.status for reply in replies}, {401})
        self.assertEqual(len({reply.data["error"]["message"] for reply in replies}), 1)
        self.assertEqual(client.put("/v1/spaces/mine").status, 401)
        for path in ("/health/live", "/health/ready", "/healthz", "/version"):
            self.assertEqual(client.get(path).status, 200)
