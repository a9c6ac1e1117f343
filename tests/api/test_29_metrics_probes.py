"""Probes tell no secrets and need no key; metrics are well-formed, bounded and right."""
import re

import harness

SAMPLE = re.compile(r'^([a-z_]+)(\{((?:[a-z_]+="[^"\\\n]*",?)*)\})? (-?[0-9.e+-]+|NaN|\+Inf)$')


def parse(text):
    """{(name, labels): value}, checked against the rules of the text format."""
    types, samples, family = {}, {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            assert family not in types, "two heads of " + family
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == family, line
            types[name] = kind
        else:
            match = SAMPLE.match(line)
            assert match, line
            name, labels = match.group(1), match.group(3) or ""
            base = re.sub(r"_(bucket|sum|count)$", "", name) if types.get(family) == "histogram" \
                else name
            assert base == family, "%s stands below %s" % (name, family)
            assert (name, labels) not in samples, line
            samples[name, labels] = float(match.group(4))
    for name, kind in types.items():
        if kind == "counter":
            assert name.endswith("_total"), name
    return types, samples


class Metrics(harness.DaemonTest):
    def scrape(self):
        reply = self.client.get("/metrics")
        self.assertEqual(reply.status, 200)
        self.assertTrue(reply.header("Content-Type").startswith("text/plain; version=0.0.4"))
        return parse(reply.text)

    def test_format_and_histograms(self):
        self.client.post("/v1/spaces/m/turns", {"text": "Hello Ann."}, wait=True).expect(202)
        self.client.get("/v1/spaces/m/query", q="Ann").expect(200)
        types, samples = self.scrape()
        for name, kind in types.items():
            if kind != "histogram":
                continue
            series = {}
            for (sample, labels), value in samples.items():
                if sample == name + "_bucket":
                    rest, bound = re.match(r'(.*?),?le="([^"]+)"$', labels).groups()
                    series.setdefault(rest, []).append((float(bound.replace("+Inf", "inf")), value))
            for rest, buckets in series.items():
                self.assertEqual(buckets, sorted(buckets), name)
                values = [value for _, value in buckets]
                self.assertEqual(values, sorted(values), name)
                self.assertEqual(buckets[-1][0], float("inf"))
                self.assertEqual(samples[name + "_count", rest], values[-1])
                self.assertIn((name + "_sum", rest), samples)
        for name in ("hypermem_http_requests_total", "hypermem_http_request_duration_seconds",
                     "hypermem_jobs", "hypermem_job_oldest_pending_seconds",
                     "hypermem_job_duration_seconds", "hypermem_ingest_turns_total",
                     "hypermem_facts_total", "hypermem_query_duration_seconds",
                     "hypermem_store_bytes", "hypermem_store_map_used_ratio",
                     "hypermem_store_readers", "hypermem_store_commits_total",
                     "hypermem_build_info", "process_cpu_seconds_total",
                     "process_resident_memory_bytes", "process_open_fds",
                     "process_start_time_seconds"):
            self.assertIn(name, types)

    def test_counts(self):
        def get(name, labels=""):
            return self.scrape()[1].get((name, labels), 0)
        stored, duplicate = 'outcome="stored"', 'outcome="duplicate"'
        before = [get("hypermem_ingest_turns_total", stored),
                  get("hypermem_ingest_turns_total", duplicate)]
        route = 'route="/v1/spaces/{space}/turns",method="POST",code="%d"'
        accepted = get("hypermem_http_requests_total", route % 202)
        refused = get("hypermem_http_requests_total", route % 400)
        for _ in range(3):
            self.client.post("/v1/spaces/c/turns", {"id": "x", "text": "hello"}).expect(202)
        self.client.post("/v1/spaces/c/turns", {"text": ""})
        self.assertEqual(get("hypermem_ingest_turns_total", stored), before[0] + 1)
        self.assertEqual(get("hypermem_ingest_turns_total", duplicate), before[1] + 2)
        self.assertEqual(get("hypermem_http_requests_total", route % 202), accepted + 3)
        self.assertEqual(get("hypermem_http_requests_total", route % 400), refused + 1)
        facts = get("hypermem_facts_total", stored)
        self.client.post("/v1/spaces/c/turns", {
            "text": "Ann moved to Porto in May because of her job at the bakery."}).expect(202)
        self.client.settle("c")
        self.assertGreater(get("hypermem_facts_total", stored), facts)
        queries = get("hypermem_queries_total")
        self.client.get("/v1/spaces/c/query", q="Porto").expect(200)
        self.assertEqual(get("hypermem_queries_total"), queries + 1)
        unknown = get("hypermem_http_requests_total", 'route="none",method="other",code="404"')
        self.client.get("/no/such/path")
        self.assertEqual(get("hypermem_http_requests_total",
                             'route="none",method="other",code="404"'), unknown + 1)

    def test_no_label_grows_with_spaces(self):
        for i in range(5):
            self.client.put("/v1/spaces/labelspace%d" % i).expect(201, 200)
            self.client.get("/v1/spaces/labelspace%d/turns" % i, session="labelsession")
        before = len(self.scrape()[1])
        for i in range(5, 60):
            self.client.put("/v1/spaces/labelspace%d" % i).expect(201, 200)
            self.client.get("/v1/spaces/labelspace%d/turns/t%d" % (i, i))
            self.client.call("GET", "/path/%d" % i)
        text = self.client.get("/metrics").text
        self.assertNotIn("labelspace", text)
        self.assertNotIn("labelsession", text)
        self.assertLess(len(self.scrape()[1]), before + 60)  # a few new routes and codes

    def test_gauges_of_the_process(self):
        _, samples = self.scrape()
        with open("/proc/%d/status" % self.daemon.pid, encoding="utf-8") as file:
            rss = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) * 1024
        self.assertLess(abs(samples["process_resident_memory_bytes", ""] - rss), max(rss, 1 << 24))
        self.assertGreater(samples["process_open_fds", ""], 3)
        self.assertGreater(samples["process_start_time_seconds", ""], 1.6e9)
        self.assertEqual(samples["hypermem_store_writable", ""], 1)

    def test_probes(self):
        for path in ("/health/ready", "/healthz"):
            got = self.client.get(path).expect(200)
            self.assertEqual((got["status"], got["store"]), ("ready", "ok"))
            self.assertIsInstance(got["oldest_job_age_ms"], int)
        self.assertEqual(self.client.get("/health/live").expect(200), {"status": "live"})
        got = self.client.get("/version").expect(200)
        self.assertEqual(got["name"], "hypermem")
        self.assertTrue(got["version"])
        for path in ("/health/live", "/health/ready", "/healthz", "/version", "/metrics"):
            self.assertEqual(self.client.head(path).status, 200)
            self.assertEqual(self.client.post(path, {}).status, 405)
            self.assert_refused(self.client.get(path, x=1), 400, None, "x")


class NotReady(harness.DaemonTest):
    OPTIONS = ("--ready-min-disk-mib=1048576",)

    def test_too_little_disk(self):
        reply = self.client.get("/health/ready")
        self.assertEqual(reply.status, 503)
        self.assertIn("disk", reply.data["reason"])
        self.client.get("/health/live").expect(200)
        self.client.post("/v1/spaces/a/turns", {"text": "x"}).expect(202)


class Secrets(harness.DaemonTest):
    KEY = "very-secret-key"

    def test_nothing_is_told(self):
        self.client.post("/v1/spaces/private-space/turns", {"text": "private words"}).expect(202)
        texts = [self.client.get(path).text for path in
                 ("/health/live", "/health/ready", "/healthz", "/version", "/metrics")]
        for text in texts:
            self.assertNotIn(self.daemon.data_dir, text)
        for text in texts + [self.daemon.log()]:
            for secret in (self.KEY, "private-space", "private words"):
                self.assertNotIn(secret, text)
