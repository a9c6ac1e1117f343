#!/usr/bin/env python3
"""Nothing lost: kills the daemon again and again, takes back what was not synced, and looks.

    run.py --rounds N [--seed S] [--only TEXT] [--no-cases]

First come the cases of failures.py (failing disks, stops and copies under load, and that a build
without syncs is found out), then N rounds: most on directories that grow over many rounds, the rest
on fresh ones; then rounds with a chat model. Each case, each round and each end of a directory is
one pass or failure. Environment:

    HMTEST_FAULT_BIN   the binary with named fault points
    HMTEST_NOSYNC_BIN  the same without syncs
    HMTEST_BUILD       where journal.so is
    HMTEST_COUNTS      gets a line "passed failed"
    HMTEST_KEEP        a directory: data of a round that failed is copied there
"""
import argparse
import os
import random
import shutil
import signal
import sys
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "api"))

import failures  # noqa: E402
import models  # noqa: E402
import rounds  # noqa: E402

YOUNG, OLD = 2, 40


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, function):
        """Runs one check; True when it passed."""
        start = time.monotonic()
        word, text = "ok  ", ""
        try:
            told = function()
            text = "  " + told if isinstance(told, str) and told else ""
            self.passed += 1
        except failures.Skipped as why:
            self.skipped += 1
            word, text = "skip", "  " + str(why)
        except Exception:
            self.failed += 1
            word, text = "FAIL", "\n" + traceback.format_exc()
        print("%s  %-58s %5.1f s%s" % (word, name, time.monotonic() - start, text), flush=True)
        return word != "FAIL"

    def write_counts(self):
        if os.environ.get("HMTEST_COUNTS"):
            with open(os.environ["HMTEST_COUNTS"], "a", encoding="utf-8") as file:
                file.write("%d %d\n" % (self.passed, self.failed))
        if self.skipped:
            print("%d skipped" % self.skipped)
        print("%d passed, %d failed" % (self.passed, self.failed))


def plan(count):
    """Rounds of each directory: old ones that grow, then young ones of two rounds each."""
    young = (count + 5) // 10
    old = count - young * YOUNG
    if old <= 0:
        return [count]
    parts = -(-old // OLD)
    return [old // parts + (i < old % parts) for i in range(parts)] + [YOUNG] * young


def keep(arc, name):
    folder = os.environ.get("HMTEST_KEEP")
    if folder:
        shutil.copytree(arc.data_dir, os.path.join(folder, name), dirs_exist_ok=True)


def run_arc(tally, name, seed, size, faults, fault_lives):
    with rounds.Arc(seed, size, fault_lives + 2) as arc:
        if not tally.check("%s: the undisturbed run" % name, arc.run_reference):
            return
        for number in range(1, size + 1):
            title = "%s: round %d of %d" % (name, number, size)
            if not tally.check(title, lambda: arc.round(faults, fault_lives)):
                keep(arc, name.replace(" ", "-"))
                return  # what comes after a loss says nothing new
        if not tally.check("%s: the end, digests as undisturbed" % name, arc.finish):
            keep(arc, name.replace(" ", "-"))
        print("      %d kills, %d pages taken back, %d turns, %d deletes" % (
            arc.kills, arc.pages, sum(len(poster.known) for poster in arc.posters),
            arc.eraser.deleted + arc.ghost.deleted))


def run_rounds(tally, args):
    rng = random.Random(args.seed)
    faults = rounds.Faults(rng)
    fault_lives = 1 if args.rounds > 3 * len(faults.names) else 2
    for number, size in enumerate(plan(args.rounds), 1):
        run_arc(tally, "directory %d" % number, rng.randrange(1 << 30), size, faults, fault_lives)
    if args.rounds * fault_lives >= len(faults.names):
        tally.check("every fault point has killed", lambda: check_hits(faults))


def check_hits(faults):
    missed = [name for name, hits in faults.hits.items() if not hits]
    if missed:
        raise AssertionError("never reached: %s" % ", ".join(missed))
    return ", ".join("%s %d" % item for item in sorted(faults.hits.items()))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    parser.add_argument("--only", default="", help="only the cases whose name contains this")
    parser.add_argument("--no-cases", action="store_true", help="only the rounds")
    return parser.parse_args()


def missing():
    """What has to be built first; sets the defaults, so that it runs without make, too."""
    build = os.environ.setdefault("HMTEST_BUILD", os.path.join(ROOT, "build", "fault"))
    needs = [os.environ.setdefault("HMTEST_FAULT_BIN", os.path.join(build, "hypermemd")),
             os.environ.setdefault("HMTEST_NOSYNC_BIN",
                                   os.path.join(ROOT, "build", "nosync", "hypermemd")),
             os.path.join(build, "journal.so")]
    return [path for path in needs if not os.path.exists(path)]


def main():
    args = parse()
    absent = missing()
    if absent:
        print("run make crash; there is no %s" % ", ".join(absent))
        return 1
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1 << 20)
    # The time limit of the stage ends us so: the daemons go with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    print("seed %d" % args.seed, flush=True)
    tally = Tally()
    for name, case in failures.CASES:
        if not args.no_cases and args.only in name:
            tally.check(name, case)
    if not args.only and args.rounds > 0:
        run_rounds(tally, args)
    if args.rounds > 0 and args.only in "with models":
        models.run(tally, args.seed, max(len(models.POINTS), args.rounds // 4))
    tally.write_counts()
    return 0 if tally.failed == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
