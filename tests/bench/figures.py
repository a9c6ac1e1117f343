"""The figures of `make bench`: each function measures one and returns its rows and notes.

A figure is a row of the table (what, reach, measured, ratio, met?, how often); notes are further
Markdown that belongs to it. How each is measured and why so is told in README.md.
"""
import asyncio
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import time

import ablate
import asking
import common
import encoder as encoder_bench
import harness
from model_server import ModelProcess
from common import Daemon, load, median, say, spread

Row = collections.namedtuple("Row", "what reach measured ratio met times")

CONNECTIONS = 32
MANY_SPACES, MANY_TURNS = 10000, 40
LARGE_TURNS = 41000
IDLE_NEVER = "--idle-close-s=604800"


def yes(met):
    return "yes" if met else "**no**"


def at_most(what, measured, limit, unit, times, form="%.2f"):
    """A row of a value that shall not be above `limit`; several measurements: their median."""
    return Row(what, "≤ %g %s" % (limit, unit), spread(measured, form) + " " + unit,
               "%.2f" % (median(measured) / limit), yes(median(measured) <= limit), times)


def at_least(what, measured, limit, unit, times):
    return Row(what, "≥ %s %s" % (format(limit, ",d"), unit), spread(measured) + " " + unit,
               "%.2f" % (median(measured) / limit), yes(median(measured) >= limit), times)


def flush_all(daemon, names):
    client = daemon.client(seconds=600)
    for name in names:
        client.settle(name, seconds=600)


# ---- Data that takes minutes to make is kept for the next run ---------------------------------


def cached(args, name, make):
    """A data directory made by make(folder) once a version of the binary; older ones go."""
    version = common.subcommand("version").split("\n")[0].split()[-1]
    folder = os.path.join(common.SCRATCH, "%s-%s" % (name, version))
    stamp = os.path.join(folder, "made.json")
    if args.fresh and name not in args.made or not os.path.isfile(stamp):
        for old in glob.glob(os.path.join(common.SCRATCH, name + "-*")):
            shutil.rmtree(old)
        os.makedirs(folder)
        say("making %s (kept for the next run)" % folder)
        start = time.monotonic()
        made = make(folder)
        made["seconds"] = round(time.monotonic() - start, 1)
        made["made"] = time.strftime("%Y-%m-%d %H:%M:%S")
        with open(stamp, "w", encoding="utf-8") as file:
            json.dump(made, file)
    args.made.add(name)
    with open(stamp, encoding="utf-8") as file:
        made = json.load(file)
    say("%s: %d spaces, %d turns, %d facts, made %s in %g s" % (
        name, made["spaces"], made["turns"], made["facts"], made["made"], made["seconds"]))
    return os.path.join(folder, "data"), made


def fill(folder, **values):
    """POSTs whole conversations, waits until every stage is done and every episode closed."""
    data = os.path.join(folder, "data")
    with Daemon(data, "--idle-close-s=1") as daemon:
        load(daemon, mode="fill", **values)
        daemon.drain(seconds=3600, calm=5)
        daemon.finish()
    counts = common.run_tool("bench_kinds", file=os.path.join(data, "data.mdb"))
    if counts["pending"] or counts["unfinished"] or counts["open"]:
        raise RuntimeError("the data is not settled: %r" % counts)
    return {key: counts[key] for key in ("spaces", "turns", "facts", "episodes", "topics",
                                         "text_bytes", "file_bytes")}


def many_spaces(args):
    spaces = 1000 if args.quick else MANY_SPACES
    return cached(args, "many%d" % spaces, lambda folder: fill(
        folder, connections=CONNECTIONS, spaces=spaces, turns_per_space=MANY_TURNS,
        turns_per_call=MANY_TURNS, prefix="many-"))


def large_space(args):
    turns = LARGE_TURNS // 10 if args.quick else LARGE_TURNS
    return cached(args, "large%d" % turns, lambda folder: fill(
        folder, connections=1, spaces=1, turns_per_space=turns, turns_per_call=250,
        prefix="large-")) + (turns,)


# ---- Durable POST -----------------------------------------------------------------------------


def cpu_seconds(daemon):
    return daemon.metrics()["process_cpu_seconds_total"]


def post_once(folder, calls):
    """One run over HTTP on an empty directory: load's result, and what the daemon did for it until
    no stage was left."""
    with Daemon(os.path.join(folder, "http"), IDLE_NEVER) as daemon:
        io_before, before = daemon.io(), daemon.metrics()
        result = load(daemon, mode="post", connections=CONNECTIONS, calls=calls)
        start = time.monotonic()
        after = daemon.drain()
        delta = {key: after[key] - before[key] for key in after if key in before}
        delta["behind_s"] = time.monotonic() - start
        delta["written"] = daemon.io()["wchar"] - io_before["wchar"]
        daemon.finish()
    return result, delta


def bare_cells(bare):
    return ["bare", "%.0f" % bare["calls_per_s"], bare["call_ms"]["p50"], bare["call_ms"]["p99"],
            "%.1f" % (bare["calls"] / bare["commits"]), "",
            "%.1f" % (bare["written_bytes"] / bare["calls"] / 1000), "", "", ""]


def http_cells(result, daemon):
    commits, batches = (daemon["hypermem_store_commits_total"],
                        daemon["hypermem_store_batches_total"])
    calls = result["calls"]
    return ["HTTP", "%.0f" % result["calls_per_s"], result["post_ms"]["p50"],
            result["post_ms"]["p99"], "%.1f" % (batches / commits),
            "%.2f" % (1000 * daemon["hypermem_store_commit_seconds_total"] / commits),
            "%.1f" % (daemon["written"] / calls / 1000), "%.2f" % (batches / calls),
            "%.0f" % (1e6 * daemon["process_cpu_seconds_total"] / calls),
            "%.1f" % daemon["behind_s"]]


def post(args):
    calls, rounds = (3200, 1) if args.quick else (32000, args.rounds)
    ratios, bare, http_rates, notes = [], [], [], []
    with common.temporary() as folder:
        listed = os.path.join(folder, "writes")
        os.mkdir(os.path.join(folder, "record"))
        common.run_tool("bench_bare", record=listed, dir=os.path.join(folder, "record"),
                        calls=calls, connections=CONNECTIONS)
        for number in range(rounds):
            say("POST, round %d of %d" % (number + 1, rounds))
            place = os.path.join(folder, "round")
            os.makedirs(os.path.join(place, "bare"))
            one = common.run_tool("bench_bare", replay=listed, dir=os.path.join(place, "bare"))
            other, daemon = post_once(place, calls)
            bare.append(one["calls_per_s"])
            http_rates.append(other["calls_per_s"])
            ratios.append(100 * other["calls_per_s"] / one["calls_per_s"])
            notes += [bare_cells(one), http_cells(other, daemon)]
            shutil.rmtree(place)
    row = Row("durable `POST turns`, 1 turn a call, %d connections, of the same writes bare"
              % CONNECTIONS, "≥ 50 %", "%s/s of %s/s: %s %%" % (
                  spread(http_rates), spread(bare), spread(ratios)),
              "%.2f" % (median(ratios) / 50), yes(median(ratios) >= 50), rounds)
    return [row], [common.table(
        ("%d calls" % calls, "calls/s", "p50 ms", "p99 ms", "batches a commit", "ms a commit",
         "KB written a call", "batches a call, stages too", "CPU µs a call, stages too",
         "stages behind, s"), notes)]


# ---- Ingest -----------------------------------------------------------------------------------


def conversations_of(args):
    """(what it is, conversations): DATA, or the sample in eight spaces."""
    if args.data:
        return os.path.basename(args.data), common.read_data(args.data)["conversations"]
    sample = common.read_data(common.SAMPLE)["conversations"]
    return "the sample, eight times", [dict(c, id="%s-%d" % (c["id"], i)) for i in range(8)
                                       for c in sample]


def ingest_all(daemon, conversations, prefix="bench-"):
    """As recall.py does it: one client, one conversation after the other. Turns and seconds."""
    client = daemon.client(seconds=600)
    start = time.monotonic()
    turns = sum(asking.ingest(client, c, asking.space_name(c, prefix)) for c in conversations)
    return turns, time.monotonic() - start


def ingest(args):
    name, conversations = conversations_of(args)
    rates = []
    for number in range(1 if args.quick else args.rounds):
        say("ingest, round %d" % (number + 1))
        with common.temporary() as folder, Daemon(os.path.join(folder, "data")) as daemon:
            turns, seconds = ingest_all(daemon, conversations)
            rates.append(turns / seconds)
            daemon.finish()
    return [at_least("ingest with all stages done, %s (%d turns)" % (name, turns), rates, 3000,
                     "turns/s", len(rates))], []


# ---- Models -----------------------------------------------------------------------------------

RESEARCH_CALLS, RESEARCH_TOKENS = 1.5, 2950  # a turn, of the research pipeline
AT_ONCE, CALL_S = 256, 1.0


def told(args):
    """The whole pipeline through the fake: what it asks of a model for a turn. Tokens are counted
    as a quarter of the bytes of what is sent."""
    name, conversations = conversations_of(args)
    with ModelProcess("--set", "cut_every=10") as fake, common.temporary() as folder:
        env = {"HYPERMEM_LLM_BASE_URL": fake.url, "HYPERMEM_LLM_MODEL": "fake",
               "HYPERMEM_LLM_CONCURRENCY": "64"}
        with Daemon(os.path.join(folder, "data"), env=env) as daemon:
            turns, seconds = ingest_all(daemon, conversations)
            client = daemon.client()
            episodes = sum(client.get("/v1/spaces/" + harness.segment(asking.space_name(
                c, "bench-"))).expect(200)["counts"]["episodes"] for c in conversations)
            daemon.finish()
        stats = fake.stats()
    by = stats["by_purpose"]
    cells = [(purpose, by.get(purpose, 0), "%.3f" % (by.get(purpose, 0) / turns))
             for purpose in ("boundary", "describe", "topic", "facts")]
    return [at_most("chat calls a turn, %s (%d turns, %d episodes)" % (name, turns, episodes),
                    [sum(by.values()) / turns], RESEARCH_CALLS, "(research code)", 1),
            at_most("input tokens a turn, the same", [stats["tokens_in"] / turns], RESEARCH_TOKENS,
                    "(research code)", 1, "%.0f"),
            at_most("boundary calls a turn, the same", [by.get("boundary", 0) / turns], 0.2, "", 1,
                    "%.3f")], [
                        "Through the fake, which answers at once: %.0f turns/s.\n\n%s" % (
                            turns / seconds, common.table(("call", "calls", "a turn"), cells))]


async def ask_at_once(port, path, body, n):
    """n connections, one POST each at the same moment; seconds until the last reply is read."""
    head = ("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: %d\r\nConnection: close\r\n\r\n" % (path, len(body))).encode()
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(n)]
    start = time.monotonic()
    for _, writer in streams:
        writer.write(head + body)
    replies = await asyncio.gather(*(reader.read() for reader, _ in streams))
    seconds = time.monotonic() - start
    for _, writer in streams:
        writer.close()
    failed = [reply[:200] for reply in replies if not reply.startswith(b"HTTP/1.1 200")]
    if failed:
        raise RuntimeError("%d of %d answers failed: %r" % (len(failed), n, failed[0]))
    return seconds


def calls(args):
    """AT_ONCE answers at the same time, each of which waits CALL_S for the model."""
    seconds, shares = [], []
    with ModelProcess("--set", "delays_s=%s" % json.dumps({"answer": CALL_S})) as fake, \
            common.temporary() as folder:
        env = {"HYPERMEM_LLM_BASE_URL": fake.url, "HYPERMEM_LLM_MODEL": "fake",
               "HYPERMEM_LLM_CONCURRENCY": str(AT_ONCE)}
        with Daemon(os.path.join(folder, "data"), env=env) as daemon:
            client = daemon.client()
            client.post("/v1/spaces/one/turns", {"turns": [
                {"speaker": "Ann", "text": "My cat Minka likes the balcony."}]}).expect(202)
            client.settle("one")
            for _ in range(1 if args.quick else args.rounds):
                before = cpu_seconds(daemon)
                seconds.append(asyncio.run(ask_at_once(
                    daemon.port, "/v1/spaces/one/answer",
                    json.dumps({"question": "What does Minka like?"}).encode(), AT_ONCE)))
                shares.append(100 * (cpu_seconds(daemon) - before) / seconds[-1])
            daemon.finish()
        most = fake.stats()["max_in_flight"]
    return [at_most("%d chat calls in flight, %g s each" % (AT_ONCE, CALL_S), seconds, 1.3, "s",
                    len(seconds)),
            at_most("the same, CPU of the daemon", shares, 20, "% of a core", len(shares),
                    "%.0f")], [
                "Calls in flight at once, as the fake saw them: %d." % most]


# ---- Queries ----------------------------------------------------------------------------------


def space_of_600(daemon):
    load(daemon, mode="post", connections=1, spaces=1, turns_per_space=600, turns_per_call=50,
         prefix="mid-")
    flush_all(daemon, ["mid-000000"])
    daemon.drain()


def questions_file(folder, conversations):
    path = os.path.join(folder, "questions")
    with open(path, "w", encoding="utf-8") as file:
        for conversation in conversations:
            space = asking.space_name(conversation, "bench-")
            for question in conversation["questions"]:
                text = " ".join(question["question"].split())
                file.write("%s\t%s\n" % (space, text))
    return path


def latency_rows(what, results):
    return [at_most("query, server time p50, " + what,
                    [r["server_ms"]["p50"] for r in results], 0.5, "ms", len(results), "%.3f"),
            at_most("query, server time p99, " + what,
                    [r["server_ms"]["p99"] for r in results], 2, "ms", len(results), "%.3f")]


def query(args):
    calls, rounds = (500, 1) if args.quick else (3000, args.rounds)
    with common.temporary() as folder, Daemon(os.path.join(folder, "data"), IDLE_NEVER) as daemon:
        space_of_600(daemon)
        results = [load(daemon, mode="query", connections=1, spaces=1, turns_per_space=600,
                        prefix="mid-", warmup=200, calls=200 + calls) for _ in range(rounds)]
        rows = latency_rows("space of 600 turns", results)
        if args.data:
            name, conversations = conversations_of(args)
            ingest_all(daemon, conversations)
            path = questions_file(folder, conversations)
            results = [load(daemon, mode="file", file=path, connections=1, warmup=200,
                            calls=200 + calls) for _ in range(rounds)]
            rows += latency_rows("questions of " + name, results)
        daemon.finish()
    return rows, ["Client's time of these calls, one connection: p50 %.3f ms, p99 %.3f ms." % (
        median([r["query_ms"]["p50"] for r in results]),
        median([r["query_ms"]["p99"] for r in results]))]


def wait_for_vectors(client, path):
    def ready():
        vectors = client.get(path).expect(200)["vectors"]
        return vectors["state"] == "active" and vectors["behind"] == 0
    harness.wait_until(ready, 1800, "vectors")


def ask_600(args, folder, env):
    """A daemon with a space of 600 turns, asked one after the other and then by eight at once: a
    dict of what came of it."""
    calls, rounds = (200, 1) if args.quick else (1000, args.rounds)
    plan = dict(mode="query", spaces=1, turns_per_space=600, prefix="mid-", calls=calls)
    with Daemon(folder, IDLE_NEVER, env=env) as daemon:
        client, path, start = daemon.client(), "/v1/spaces/mid-000000", time.monotonic()
        space_of_600(daemon)
        if env:
            wait_for_vectors(client, path)
        got = {"seconds": time.monotonic() - start, "space": client.get(path).expect(200)}
        got["results"] = [load(daemon, connections=1, seed=2 + number, **plan)
                          for number in range(rounds)]
        load(daemon, connections=8, seed=2 + rounds, **plan)
        used = daemon.memory()
        got.update(private=mib(used["private"] - used["map"]), metrics=daemon.metrics(),
                   asked=(rounds + 1) * calls)
        daemon.finish()
    return got


def meaning(args):
    """Queries that are encoded in the daemon, and what the encoder costs it beside that."""
    with common.temporary() as folder:
        plain = ask_600(args, os.path.join(folder, "words"), {})
        got = ask_600(args, os.path.join(folder, "vectors"), {"HYPERMEM_EMBED_MODEL_DIR": ""})
    name = got["space"]["models"]["embed"]["model"]
    missed = got["metrics"]['hypermem_embed_cache_total{outcome="miss"}']
    rounds = len(got["results"])
    return [at_most("query, encoded in the daemon (%s), server time p50, space of 600 turns" % name,
                    [r["server_ms"]["p50"] for r in got["results"]], 10, "ms", rounds, "%.2f"),
            at_most("private memory that the encoder adds, without pages of the weights",
                    [got["private"] - plain["private"]], 64, "MiB", 1, "%.1f")], [
        "Of %d queries %d were encoded, the vectors of the others were known; p99 %.2f ms. All %d "
        "texts of 600 turns had their vectors %.1f s after the first turn was sent. Private memory "
        "%.1f MiB, without the encoder %.1f." % (
            got["asked"], missed, median([r["server_ms"]["p99"] for r in got["results"]]),
            sum(got["space"]["vectors"]["embedded"].values()), got["seconds"], got["private"],
            plain["private"])]


def dense(args):
    """Questions in a space with vectors, each asked before, so that its own vector is known."""
    turns, calls, dim = (400, 100, 256) if args.quick else (4000, 400, 1024)
    with ModelProcess("--set", "dimension=%d" % dim, "--set", 'encoding="base64"') as fake, \
            common.temporary() as folder:
        env = {"HYPERMEM_EMBED_BASE_URL": fake.url, "HYPERMEM_EMBED_MODEL": "fake",
               "HYPERMEM_EMBED_BATCH": "256"}
        with Daemon(os.path.join(folder, "data"), IDLE_NEVER, env=env) as daemon:
            load(daemon, mode="fill", connections=1, spaces=1, turns_per_space=turns,
                 turns_per_call=200, prefix="dense-")
            flush_all(daemon, ["dense-000000"])
            client = daemon.client()
            path = "/v1/spaces/dense-000000"
            wait_for_vectors(client, path)
            daemon.drain(seconds=600)
            facts = client.get(path).expect(200)["counts"]["facts"]
            plan = dict(mode="query", connections=1, spaces=1, turns_per_space=turns,
                        prefix="dense-", calls=calls)
            load(daemon, **plan)
            results = [load(daemon, **plan) for _ in range(1 if args.quick else args.rounds)]
            asked = fake.stats()["by_purpose"]
            daemon.finish()
    return [at_most("query with vectors, server time p50, space of %s facts × %s, its vector cached"
                    % (format(facts, ",d"), format(dim, ",d")),
                    [r["server_ms"]["p50"] for r in results], 2, "ms", len(results), "%.3f")], [
                        "Requests to the model: %r; p99 %.3f ms." % (
                            asked, median([r["server_ms"]["p99"] for r in results]))]


def large(args):
    calls, rounds = (200, 1) if args.quick else (1000, args.rounds)
    data, made, turns = large_space(args)
    with Daemon(data, IDLE_NEVER) as daemon:
        results = [load(daemon, mode="query", connections=1, spaces=1, turns_per_space=turns,
                        prefix="large-", warmup=50, calls=50 + calls) for _ in range(rounds)]
        daemon.finish()
    row = at_most("query, server time p50, one space of %s facts" % format(made["facts"], ",d"),
                  [r["server_ms"]["p50"] for r in results], 3, "ms", rounds, "%.3f")
    return [row], ["The same, p99: %s ms. Filling that space: %d turns in %g s, all stages done."
                   % (spread([r["server_ms"]["p99"] for r in results], "%.2f"), made["turns"],
                      made["seconds"])]


def http(args):
    millis, rounds = (1500, 1) if args.quick else (5000, args.rounds)
    with common.temporary() as folder, Daemon(os.path.join(folder, "data"), IDLE_NEVER) as daemon:
        space_of_600(daemon)
        before = cpu_seconds(daemon)
        results = [load(daemon, allow_errors=True, mode="query", connections=CONNECTIONS, spaces=1,
                        turns_per_space=600, prefix="mid-", warmup=1000, millis=millis)
                   for _ in range(rounds)]
        cpu = cpu_seconds(daemon) - before
        daemon.finish()
    rates = [r["calls_per_s"] for r in results]
    errors = sum(r["errors"] for r in results)
    calls = sum(r["calls"] for r in results)
    rows = [at_least("queries/s over HTTP, %d connections, space of 600 turns, default reply"
                     % CONNECTIONS, rates, 4000, "/s", rounds),
            at_most("the same, client p99", [r["query_ms"]["p99"] for r in results], 25, "ms",
                    rounds),
            Row("the same, errors", "0", errors, "", yes(errors == 0), rounds)]
    return rows, ["A reply has %.1f KB; the daemon takes %.0f µs of CPU a query; server time "
                  "under this load: p50 %.3f ms, p99 %.3f ms." % (
                      sum(r["received_bytes"] for r in results) / calls / 1000,
                      1e6 * cpu / (calls + 1000 * rounds),
                      median([r["server_ms"]["p50"] for r in results]),
                      median([r["server_ms"]["p99"] for r in results]))]


# ---- Start and memory -------------------------------------------------------------------------


def first_answer(data, path):
    """Milliseconds from starting the process to its first reply with status 200."""
    command = [harness.binary(), "serve", "--listen", "127.0.0.1:0", "--data-dir", data,
               "--log-level=error", IDLE_NEVER]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=harness.clean_environment(),
                               text=True)
    try:
        line = process.stdout.readline()
        while line and "listening on" not in line:
            line = process.stdout.readline()
        with harness.Client(int(line.rsplit(":", 1)[1])) as client:
            client.get(path).expect(200)
        took = 1000 * (time.monotonic() - start)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
    return took


def forget_cached_pages(data):
    """Asks the kernel to drop the file's pages: a start as after a reboot."""
    descriptor = os.open(os.path.join(data, "data.mdb"), os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def start(args):
    rounds = 3 if args.quick else 10
    data, made = many_spaces(args)
    question = "/v1/spaces/many-%06d/query?q=What+happened+in+Boston%%3F"
    empty, full, cold = [], [], []
    with common.temporary() as folder:
        for number in range(rounds):
            place = os.path.join(folder, "empty-%d" % number)
            empty.append(first_answer(place, "/v1/spaces"))
            full.append(first_answer(data, question % (number * 97 % made["spaces"])))
            forget_cached_pages(data)
            cold.append(first_answer(data, question % (number * 89 % made["spaces"])))
    what = "start to first answer, %s spaces, %s facts" % (format(made["spaces"], ",d"),
                                                           format(made["facts"], ",d"))
    more = [a - b for a, b in zip(full, empty)]
    return [at_most(what + " (a query)", full, 200, "ms", rounds, "%.0f"),
            at_most("the same, above an empty directory", more, 100, "ms", rounds, "%.0f"),
            at_most("the same, nothing of the file in memory", cold, 200, "ms", rounds, "%.0f")], [
                "An empty directory: %s ms." % spread(empty)]


def mib(size):
    return size / (1 << 20)


def memory(args):
    data, made = many_spaces(args)
    spaces = min(1000, made["spaces"])
    with Daemon(data, IDLE_NEVER) as daemon:
        idle = daemon.memory()
        load(daemon, mode="query", connections=4, spaces=spaces, turns_per_space=MANY_TURNS,
             stride=made["spaces"] // spaces, calls=1000, prefix="many-")
        used = daemon.memory()
        daemon.finish()
    own = mib(used["private"] - used["map"])
    return [at_most("private memory after 1,000 queries over %d spaces, without pages of the data "
                    "file" % spaces, [own], 64, "MiB", 1, "%.1f")], [
                        "At start %.1f MiB. smaps counts a file's pages as private while no other "
                        "process maps them: with those of the data file (%.1f MiB, page cache) it "
                        "says %.1f MiB. Anonymous: %.1f MiB; resident: %.1f MiB." % (
                            mib(idle["private"] - idle["map"]), mib(used["map"]),
                            mib(used["private"]), mib(used["anonymous"]), mib(used["resident"]))]


# ---- Vectors ----------------------------------------------------------------------------------


def vectors(args):
    """Scans in the real store. The best tenth of the rounds of both: what the code and the memory
    can do, for other work on the machine slows the one or the other down."""
    values = dict(rows=10000, facts=1200, rounds=20) if args.quick else dict(rounds=200)
    with common.temporary() as folder:
        one = common.run_tool("bench_vectors", dir=folder, **values)
    rows, facts = one["rows"], one["facts"]
    ratio = rows["memory"]["p10"] / rows["fast"]["p10"]
    speed = rows["bytes"] / rows["fast"]["p10"] / 1e6
    cells = []
    for name, place in (("rows without edges", rows),
                        ("%d facts, their edges, episodes, topics" % facts["facts"], facts)):
        cells.append([name, "%.1f" % (place["bytes"] / 1e6)] + [
            "%.3f / %.3f" % (place[key]["p10"], place[key]["p50"])
            for key in ("memory", "fast", "exact")])
    return [Row("vector scan, %s × 384, of the memory bandwidth" % format(
        values.get("rows", 100000), ",d"), "≥ 0.8", "%.2f (%.1f GB/s)" % (ratio, speed),
                "%.2f" % (ratio / 0.8), yes(ratio >= 0.8), values["rounds"]),
            at_most("vectors of a query, %s facts × 1,024" % format(facts["facts"], ",d"),
                    [facts["fast"]["p50"]], 2, "ms", values["rounds"], "%.3f")], [
                        common.table(("kernels: " + one["kernels"], "MB", "read memory, p10/p50 ms",
                                      "fast", "exact"), cells),
                        "Settling all edges: %.1f ms; one edge: %.3f ms; folding: %.1f and %.1f "
                        "ms." % (facts["settle_all_ms"], facts["settle_edge_ms"], rows["fold_ms"],
                                 facts["fold_ms"])]


# ---- Bytes ------------------------------------------------------------------------------------

WRITE_CLIENTS, WRITE_CYCLE, WRITE_ROUNDS = 8, 16, 16


def written(args):
    """An episode is a session of ten turns in one call; the call closes the space's last one. Each
    space gets as many batches as one fold takes, so that folds are in the figure at their rate.

    What is counted is what LMDB hands to pwrite(), whole pages, and a page for the header of each
    commit: every commit syncs, so that much reaches the disk. (write_bytes of /proc/PID/io counts
    the folios that it dirties, and those may be far larger than what is written.)"""
    data, made = many_spaces(args)
    spaces = WRITE_CLIENTS * WRITE_CYCLE
    plan = dict(mode="post", connections=WRITE_CLIENTS, cycle=WRITE_CYCLE, turns_per_call=10,
                turns_per_session=10, stride=made["spaces"] // spaces, prefix="many-")
    with common.temporary() as folder:
        say("copying %s" % data)
        place = os.path.join(folder, "data")
        subprocess.run(["cp", "-r", "--reflink=auto", data, place], check=True)
        with Daemon(place, IDLE_NEVER) as daemon:
            load(daemon, first_turn=400, calls=spaces, **plan)
            before, io_before = daemon.drain(), daemon.io()
            result = load(daemon, first_turn=410, calls=spaces * WRITE_ROUNDS, **plan)
            after, io_after = daemon.drain(), daemon.io()
            daemon.finish()
    delta = {key: after[key] - before[key] for key in after if key in before}
    calls, commits = result["calls"], delta["hypermem_store_commits_total"]
    batches = delta["hypermem_store_batches_total"]
    pages = (io_after["wchar"] - io_before["wchar"]) / common.PAGE_BYTES + commits
    row = at_most("written to disk an episode of 10 turns sent in one call, %d clients, %s spaces "
                  "there already" % (WRITE_CLIENTS, format(made["spaces"], ",d")),
                  [pages * common.PAGE_BYTES / calls / 1000], 60, "KB", 1, "%.1f")
    return [row], [
        "%d calls. Payload a call: %.2f KB of text, %.2f KB sent. A call: %.1f pages of 4 KiB, "
        "%.2f batches, %.2f commits, %.2f episodes. A commit: %.1f batches, %.1f pages. %d folds. "
        "write_bytes of /proc/PID/io: %.0f KB a call." % (
            calls, result["text_bytes"] / calls / 1000, result["sent_bytes"] / calls / 1000,
            pages / calls, batches / calls, commits / calls,
            delta['hypermem_episodes_total{outcome="closed"}'] / calls, batches / commits,
            pages / commits, delta["hypermem_folds_total"],
            (io_after["write_bytes"] - io_before["write_bytes"]) / calls / 1000)]


def split_by_kind(kinds):
    """The table of one data file: where its bytes are."""
    turns, text = kinds["turns"], kinds["text_bytes"]

    def cells(name, rows, size, detail):
        return (name, rows, detail, "%.0f" % (size / turns), "%.2f" % (size / text),
                "%.1f %%" % (100 * size / kinds["file_bytes"]))
    rows = []
    for kind in sorted(kinds["kinds"], key=lambda k: -(k["leaf_bytes"] + k["overflow_bytes"])):
        rows.append(cells("%s `%s`" % (kind["name"], kind["letter"]), kind["rows"],
                          kind["leaf_bytes"] + kind["overflow_bytes"],
                          "%d + %d" % (kind["key_bytes"] / kind["rows"],
                                       kind["value_bytes"] / kind["rows"])))
    known = kinds["leaf_bytes"] + kinds["branch_bytes"] + kinds["overflow_bytes"]
    rows.append(cells("room in leaf pages", "", kinds["slack_bytes"], ""))
    rows.append(cells("branch pages", "", kinds["branch_bytes"], ""))
    rows.append(cells("meta, free list", "", kinds["file_bytes"] - known, ""))
    rows.append(cells("all", "", kinds["file_bytes"], ""))
    return common.table(("kind", "rows", "key + value, mean", "bytes a turn", "× text", "share"),
                        rows)


def compacted(folder, daemon):
    """Stops the daemon, makes the compacted copy, and walks it."""
    daemon.finish()
    copy = os.path.join(folder, "copy")
    common.subcommand("backup", "--data-dir", daemon.data_dir, "--to", copy)
    return common.run_tool("bench_kinds", file=os.path.join(copy, "data.mdb"))


def disk_row(what, kinds, limit):
    return at_most("disk a turn, file compacted, %s (%d turns of %.0f bytes)" % (
        what, kinds["turns"], kinds["text_bytes"] / kinds["turns"]),
        [kinds["file_bytes"] / kinds["text_bytes"]], limit, "× text", 1)


def disk(args):
    name, conversations = conversations_of(args)
    with common.temporary() as folder, Daemon(os.path.join(folder, "data")) as daemon:
        ingest_all(daemon, conversations)
        daemon.drain()
        short = compacted(folder, daemon)
    count, turns = (4, 100) if args.quick else (8, 300)
    with common.temporary() as folder, Daemon(os.path.join(folder, "data"), IDLE_NEVER) as daemon:
        load(daemon, mode="fill", connections=4, spaces=count, turns_per_space=turns,
             turns_per_call=50, text_bytes=2048, prefix="long-")
        flush_all(daemon, ["long-%06d" % i for i in range(count)])
        daemon.drain()
        long = compacted(folder, daemon)
    rows = [disk_row(name, short, 12), disk_row("generated", long, 5)]
    return rows, ["Split by kind, %s:\n\n%s" % (name, split_by_kind(short)),
                  "Split by kind, turns of 2 KB:\n\n%s" % split_by_kind(long)]


def encoder(args):
    """Rows that have nothing to be compared with are told without a verdict."""
    found, notes = encoder_bench.run()
    rows = [Row(what, reach, measured, ratio, yes(met) if ratio else "", encoder_bench.ROUNDS)
            for what, reach, measured, ratio, met in found]
    return rows, notes


# ---- Quality ----------------------------------------------------------------------------------


def script(name, *words):
    """What another script prints."""
    path = name if os.path.isabs(name) else os.path.join(os.path.dirname(__file__), name)
    done = subprocess.run([sys.executable, path] + list(words), stdout=subprocess.PIPE, check=True,
                          text=True)
    return done.stdout.strip()


def levels(args):
    """Not speed: what the levels do for the answers."""
    notes = []
    for path, more in ((args.data, []), (common.SAMPLE, ["--stories"])):
        if not path:
            continue
        say("levels and ablations on %s" % os.path.basename(path))
        conversations = common.read_data(path)["conversations"]
        with common.temporary() as folder, Daemon(os.path.join(folder, "data")) as daemon:
            ingest_all(daemon, conversations)
            name = os.path.basename(path)
            notes.append("Topics alone, %s:\n\n%s" % (name, script(
                "levels.py", "--url", daemon.url, "--data", path, *more)))
            rows = ablate.rows_of(asking.Asker(daemon.port, "bench-"), conversations)
            notes.append("One thing off at a time, %s:\n\n%s" % (name, common.table(
                ("query", "n", "R@10", "against default", "R@1000 tok", "against default"), rows)))
            if args.recall and path == args.data:
                notes.append("`%s`:\n\n%s" % (os.path.basename(args.recall), script(
                    args.recall, "--url", daemon.url, "--data", path, "--no-ingest")))
            daemon.finish()
    return [], notes


ALL = collections.OrderedDict((function.__name__, function) for function in (
    post, ingest, told, calls, query, meaning, dense, large, http, start, memory, vectors, written,
    disk, levels, encoder))
