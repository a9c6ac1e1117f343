"""Spaces share nothing, and names that are none touch nothing (DESIGN 4, 10)."""
import harness

NAMES = ("a", "A", "ab", "a:b", "a.b", "a-b", "aa", "a~", "a_b", "b")
BAD = ("a%00b", "a%2Fb", "a%2fb", ".", "..", "%2e", "%2E%2E", "a%", "a%4", "a%zz", "a%20b", "%00",
       "%2F", "a%00", "%ff", "a%C3%A9", "a%0Ab", "a%252F%")


def word(name):
    """A word that stands in one space only."""
    return "zebra" + "".join("%02x" % ord(c) for c in name).translate(str.maketrans(
        "0123456789", "ghijklmnop")) + "q"


class Isolation(harness.DaemonTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with cls.daemon.client() as client:
            for name in NAMES:
                path = "/v1/spaces/" + harness.segment(name)
                client.post(path + "/turns", {"turns": [
                    {"id": "one", "session": "s", "speaker": "Ann",
                     "text": "My password word is %s and I live in Lisbon." % word(name)},
                    {"id": "two", "session": "s", "speaker": "Bob",
                     "text": "The %s is a fine animal, said the owner." % word(name)}]}).expect(202)
            for name in NAMES:
                client.settle(name)

    def path(self, name, rest=""):
        return "/v1/spaces/" + harness.segment(name) + rest

    def everything(self, name):
        """All that a client can read of a space, as text."""
        texts = [self.client.get(self.path(name)).text]
        for noun in ("turns", "facts", "episodes", "topics", "jobs"):
            texts.append(self.client.get(self.path(name, "/" + noun), limit=1000).text)
        for other in NAMES:
            texts.append(self.client.get(self.path(name, "/query"), q=word(other) + " Lisbon",
                                         explain=True, facts=200).text.split("\"topics\"", 1)[1])
        return "".join(texts)

    def test_each_knows_only_its_own(self):
        for name in NAMES:
            text = self.everything(name)
            self.assertIn(word(name), text)
            for other in NAMES:
                if other != name:
                    # The words asked for stand in `explain.terms`, hence with quotes around.
                    rest = text.replace('"%s"' % word(other), "")
                    self.assertFalse(word(other) in rest, "%s knows %s" % (name, other))

    def test_counts_are_their_own(self):
        counts = [self.client.get(self.path(name)).expect(200)["counts"] for name in NAMES]
        for got in counts:
            self.assertEqual(got, counts[0])
        self.assertEqual(counts[0]["turns"], 2)

    def test_bad_names_touch_nothing(self):
        before = self.client.get("/v1/spaces", limit=1000).expect(200)
        requests = (("PUT", "", b"{}"), ("GET", "", b""), ("DELETE", "?confirm=a", b""),
                    ("POST", "/turns", b'{"text":"intruder"}'), ("GET", "/turns", b""),
                    ("GET", "/query?q=zebra", b""), ("POST", "/flush", b"{}"),
                    ("DELETE", "/turns/one", b""))
        for name in BAD:
            with self.daemon.raw() as raw:
                for method, rest, body in requests:
                    head = "%s /v1/spaces/%s%s HTTP/1.1\r\nHost: localhost\r\n" % (
                        method, name, rest)
                    if body:
                        head += "Content-Type: application/json\r\nContent-Length: %d\r\n" % (
                            len(body))
                    raw.send(head.encode() + b"\r\n" + body)
                    reply = raw.reply()
                    self.assertEqual(reply.status, 400, (method, name, rest, reply))
                    self.assertEqual(reply.data["error"]["code"], "invalid_argument", reply)
        self.assertEqual(self.client.get("/v1/spaces", limit=1000).expect(200), before)
        for name in NAMES:
            self.assertNotIn("intruder", self.everything(name))

    def test_ids_of_one_mean_nothing_in_another(self):
        self.client.put(self.path("stranger")).expect(201)
        for noun, node in (("turns", "one"), ("turns", "turn_1"), ("facts", "fact_1"),
                           ("episodes", "episode_1"), ("topics", "topic_1"), ("jobs", "job_1")):
            self.client.get(self.path("stranger", "/%s/%s" % (noun, node)))
            self.assert_refused(
                self.client.get(self.path("stranger", "/%s/%s" % (noun, node))), 404)
            if noun != "jobs":
                self.assert_refused(self.client.delete(
                    self.path("stranger", "/%s/%s" % (noun, node)),
                    **({"confirm": node} if noun == "topics" else {})), 404)

    def test_z_deleting_one_leaves_the_others(self):
        kept = {name: self.client.get(self.path(name)).expect(200) for name in NAMES}
        self.client.delete(self.path("a"), confirm="a").expect(200)
        self.assert_refused(self.client.get(self.path("a")), 404)
        for name in NAMES[1:]:
            got = self.client.get(self.path(name)).expect(200)
            self.assertEqual(got["counts"], kept[name]["counts"])
            self.assertIn(word(name), self.everything(name))
