#!/usr/bin/env python3
"""make soak: a long mixed load, then: does anything grow that should not, is all work done, is the
data sound?

    soak.py [--minutes 10] [--seed N] [--keep DIR]

Rounds of load (bench_load: turns and questions on 32 connections, in spaces old and new) with odd
jobs between them (deletes, flushes, lists, clients that leave in the middle of a request). After
each round the daemon may settle, and is looked at:

  memory    anonymous memory of the last rounds stays near that after the first ones
  fds       open descriptors go back to what they were
  readers   read transactions that are kept: no more than threads that read
  work      queues and due spaces drain; every turn has been looked at
  errors    no call of the load fails
  fsck      clean, beside the running daemon and after its stop, which has status 0

Prints a line a check and "N passed, N failed" at the end; the exit status is 0 when none failed.
"""
import argparse
import os
import random
import sys
import time

import common
import harness
from common import Daemon, say

CONNECTIONS = 32
ROUND_MILLIS = 15000
WARM_ROUNDS = 2
# What malloc's arenas and the pools of connections may add after the first rounds.
GROWTH_BYTES, GROWTH_SHARE = 24 << 20, 1.25
FDS_SLACK = 4
DRAIN_S = 300


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, fine, told):
        self.passed += bool(fine)
        self.failed += not fine
        print("%s  %-28s %s" % ("ok  " if fine else "FAIL", name, told), flush=True)


# ---- One round --------------------------------------------------------------------------------


def run_load(daemon, number, seed):
    """Two of three rounds go on in the spaces of the one before; returns calls and errors."""
    result = common.load(daemon, allow_errors=True, mode="mixed", connections=CONNECTIONS,
                         millis=ROUND_MILLIS, seed=seed, first_space=number // 3 * 10000,
                         first_turn=number % 3 * 600, turns_per_space=300, prefix="soak-")
    return result["calls"], result["errors"], result["first_error"]


def leave_early(daemon, draw):
    """A client that goes away before its request is whole, or before the reply has come."""
    with daemon.raw() as sock:
        body = b'{"text":"' + b"x" * draw.randrange(1, 5000) + b'"}'
        head = ("POST /v1/spaces/odd/turns HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        sock.send(head.encode() + body[:draw.randrange(len(body) + 1)])


def pages_of(client, path, noun, limit):
    cursor, count = {}, 0
    while True:
        page = client.get(path + "/" + noun, limit=limit, **cursor).expect(200)
        count += len(page[noun])
        if "next_cursor" not in page:
            return count
        cursor = {"cursor": page["next_cursor"]}


def odd_jobs(daemon, number, draw):
    """What the load does not do. Works on spaces of its own."""
    with daemon.client() as client:
        for i in range(20):
            leave_early(daemon, draw)
            path = "/v1/spaces/odd-%d-%d" % (number, i)
            turns = [{"session": "s%d" % (k // 8), "text": "The %s of number %d was painted on 5 "
                      "May and costs $%d." % (draw.choice(("boat", "house", "fence")), k, k + 10)}
                     for k in range(24)]
            client.post(path + "/turns", {"turns": turns}, wait=draw.random() < 0.5).expect(202)
            client.post(path + "/flush", wait=True).expect(200, 202)
            client.get(path + "/query", q="What was painted?", explain=True).expect(200)
            kept = pages_of(client, path, "turns", 7)
            pages_of(client, path, "facts", 11)
            client.delete("%s/turns/turn_%d" % (path, draw.randrange(1, kept + 1))).expect(200)
            episodes = client.get(path + "/episodes", limit=1).expect(200)["episodes"]
            client.delete("%s/episodes/%s" % (path, episodes[0]["id"])).expect(200)
            if i % 2 == 0:
                client.delete(path, confirm=path.rsplit("/", 1)[1]).expect(200)
        client.get("/v1/spaces", limit=1000, prefix="soak-").expect(200)


def look(daemon):
    """The settled daemon's figures."""
    metrics = daemon.drain(DRAIN_S)
    return {"memory": daemon.memory()["anonymous"], "fds": metrics["process_open_fds"],
            "threads": metrics["process_threads"], "readers": metrics["hypermem_store_readers"],
            "queued": sum(value for name, value in metrics.items()
                          if name.startswith("hypermem_store_queue")),
            "waiting": metrics["hypermem_http_waiting_requests"],
            "turns": metrics['hypermem_ingest_turns_total{outcome="stored"}'],
            "file": metrics['hypermem_store_bytes{kind="file"}']}


def told(seen):
    return "%.1f MiB anonymous, %d descriptors, %d readers, %d turns, file %.0f MiB" % (
        seen["memory"] / (1 << 20), seen["fds"], seen["readers"], seen["turns"],
        seen["file"] / (1 << 20))


# ---- The run ----------------------------------------------------------------------------------


def rounds(daemon, args, checks):
    """Loads until the time is over; what was seen after each round."""
    draw = random.Random(args.seed)
    seen, calls, errors, first = [], 0, 0, ""
    end = time.monotonic() + 60 * args.minutes
    while time.monotonic() < end or len(seen) <= WARM_ROUNDS:
        more, failed, error = run_load(daemon, len(seen), args.seed + len(seen) // 3)
        calls, errors, first = calls + more, errors + failed, first or error
        odd_jobs(daemon, len(seen), draw)
        seen.append(look(daemon))
        say("round %d: %s" % (len(seen), told(seen[-1])))
    checks.check("calls without error", errors == 0, "%d of %d failed %s" % (errors, calls, first))
    return seen


def judge(seen, idle, checks):
    """`idle`: before anything was asked."""
    warm = max(one["memory"] for one in seen[:WARM_ROUNDS])
    last = seen[-1]
    limit = max(warm * GROWTH_SHARE, warm + GROWTH_BYTES)
    checks.check("memory does not grow", last["memory"] <= limit,
                 "%.1f MiB, %.1f after %d rounds" % (last["memory"] / (1 << 20),
                                                     warm / (1 << 20), WARM_ROUNDS))
    checks.check("descriptors", last["fds"] <= idle["fds"] + FDS_SLACK,
                 "%d, %d at the start" % (last["fds"], idle["fds"]))
    checks.check("threads", last["threads"] == seen[0]["threads"],
                 "%d, %d after the first round" % (last["threads"], seen[0]["threads"]))
    checks.check("readers", last["readers"] <= last["threads"] + 1,
                 "%d with %d threads" % (last["readers"], last["threads"]))
    checks.check("queues", last["queued"] == 0 and last["waiting"] == 0,
                 "%d batches and %d requests wait" % (last["queued"], last["waiting"]))


def check_pending(daemon, checks):
    """Every space, page by page."""
    left, spaces, cursor = 0, 0, {}
    with daemon.client() as client:
        while True:
            page = client.get("/v1/spaces", limit=1000, **cursor).expect(200)
            for space in page["spaces"]:
                path = "/v1/spaces/" + harness.segment(space["name"])
                left += client.get(path).expect(200)["pending_turns"]
                spaces += 1
            if "next_cursor" not in page:
                break
            cursor = {"cursor": page["next_cursor"]}
    checks.check("pending turns", left == 0 and spaces > 0, "%d in %d spaces" % (left, spaces))


def check_fsck(data, when, checks):
    done = harness.run("fsck", "--data-dir", data, seconds=1800)
    lines = done.stdout.strip().splitlines()
    checks.check("fsck " + when, done.returncode == 0, lines[-1] if lines else done.stderr.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="",
                        help="an empty directory for the data; left as it is at the end")
    args = parser.parse_args()
    checks = Checks()
    with common.temporary() as folder:
        data = args.keep or os.path.join(folder, "data")
        if os.path.exists(os.path.join(data, "data.mdb")):
            parser.error("there are data in %s already" % data)
        with Daemon(data, "--idle-close-s=20") as daemon:
            idle = look(daemon)
            seen = rounds(daemon, args, checks)
            judge(seen, idle, checks)
            check_pending(daemon, checks)
            check_fsck(data, "beside the daemon", checks)
            status = daemon.stop(120)
            checks.check("stop", status == 0, "status %d" % status)
            check_fsck(data, "after the stop", checks)
            if checks.failed:
                daemon.show()
    print("%d passed, %d failed" % (checks.passed, checks.failed))
    return 0 if checks.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
