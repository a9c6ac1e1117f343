#!/usr/bin/env python3
"""Runs the API tests: tests/api/test_*.py, black box, against the real binary.

    run.py [--bin build/release/hypermemd] [--only TEXT] [--jobs N] [--limit SECONDS] [-v]

Modules run in numeric order (test_01_x.py before test_10_y.py), each in a process of its own with a
time limit, two at a time; a module with the line `ALONE = True` runs with nothing beside it. The
module starts its own daemon on a free port and finds the binary in the environment:

    HMTEST_BIN        the binary under test
    HMTEST_FAULT_BIN  the same with named fault points
    HMTEST_SLOW       factor for every deadline: 1, more under a sanitizer
    HMTEST_FLAVOUR    release, asan, ...

A module without a test, one that breaks off, and a sanitizer report that no test noticed each count
as a failure. The counts are appended to $HMTEST_COUNTS as a line "passed failed".
"""
import argparse
import collections
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
Outcome = collections.namedtuple("Outcome", "name passed failed skipped seconds text")


class Progress(unittest.TextTestResult):
    """Keeps the running counts in a file, so that a module that is killed still has some."""

    def __init__(self, stream, descriptions, verbosity, path=""):
        super().__init__(stream, descriptions, verbosity)
        self.path = path
        self.last = "before its first test"

    def save(self, done):
        bad = len(self.failures) + len(self.errors) + len(self.unexpectedSuccesses)
        skipped = len(self.skipped)
        passed = max(0, self.testsRun - bad - skipped)
        row = {"passed": passed, "failed": bad, "skipped": skipped, "done": done,
               "last": self.last}
        with open(self.path + ".new", "w", encoding="utf-8") as out:
            json.dump(row, out)
        os.replace(self.path + ".new", self.path)

    def startTest(self, test):
        super().startTest(test)
        self.last = test.id()

    def stopTest(self, test):
        super().stopTest(test)
        self.save(False)


def run_module(name, path, verbosity):
    """The child: runs one module and leaves its counts in `path`."""
    sys.path.insert(0, HERE)
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    runner = unittest.TextTestRunner(
        stream=sys.stdout, verbosity=verbosity,
        resultclass=lambda *args, **kwargs: Progress(*args[:3], path=path))
    result = runner.run(suite)
    # An error in setUpClass or at import counts no test, yet is a failure.
    result.save(True)
    return 0 if result.wasSuccessful() else 1


def sanitizer_options(folder):
    """Reports go to files in `folder`: a test that only looks at replies cannot miss them."""
    options = {}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        have = os.environ.get(name, "")
        options[name] = (have + ":" if have else "") + "log_path=" + os.path.join(folder, "report")
    return options


def spawn(name, args, folder):
    """Runs one module in a process group of its own; returns (status, output, counts)."""
    counts_path = os.path.join(folder, "counts")
    command = [sys.executable, os.path.abspath(__file__), "--module", name, "--result", counts_path]
    if args.verbose:
        command.append("-v")
    env = dict(os.environ, **sanitizer_options(folder))
    with open(os.path.join(folder, "output"), "w+", encoding="utf-8", errors="replace") as output:
        child = subprocess.Popen(command, cwd=ROOT, env=env, stdout=output,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = child.wait(timeout=args.limit)
        except subprocess.TimeoutExpired:
            status = "no end within %d s" % args.limit
        finally:
            # The daemons of a module die with it, whatever it forgot.
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        output.seek(0)
        text = output.read()
    try:
        with open(counts_path, encoding="utf-8") as file:
            counts = json.load(file)
    except (OSError, ValueError):
        counts = {"passed": 0, "failed": 0, "skipped": 0, "done": False, "last": "its import"}
    return status, text, counts


def run_one(name, args):
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hmtest-") as folder:
        status, text, counts = spawn(name, args, folder)
        passed, failed = counts["passed"], counts["failed"]
        if not counts["done"]:
            failed += 1
            text += "\nbroke off (%s); last: %s\n" % (status, counts["last"])
        elif passed + failed + counts["skipped"] == 0:
            failed += 1
            text += "\nno test in this module\n"
        elif status != 0 and failed == 0:
            failed += 1
            text += "\nended with status %s\n" % status
        for report in sorted(glob.glob(os.path.join(folder, "report*"))):
            failed += 1
            with open(report, encoding="utf-8", errors="replace") as file:
                text += "\nsanitizer report:\n" + file.read()[:20000]
    return Outcome(name, passed, failed, counts["skipped"], time.monotonic() - start, text)


def find_modules(only):
    def order(path):
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]
    paths = sorted(glob.glob(os.path.join(HERE, "test_*.py")), key=order)
    return [os.path.basename(path)[:-3] for path in paths if only in os.path.basename(path)]


def is_alone(name):
    with open(os.path.join(HERE, name + ".py"), encoding="utf-8") as file:
        return re.search(r"^ALONE = True$", file.read(), re.M) is not None


class Printer:
    def __init__(self, total, verbose):
        self.lock = threading.Lock()
        self.total, self.verbose = total, verbose
        self.outcomes = []

    def add(self, outcome):
        with self.lock:
            self.outcomes.append(outcome)
            skipped = ", %d skipped" % outcome.skipped if outcome.skipped else ""
            print("%s  [%2d/%d] %-34s %3d passed, %d failed%s  (%.1f s)" % (
                "FAIL" if outcome.failed else "ok  ", len(self.outcomes), self.total,
                outcome.name, outcome.passed, outcome.failed, skipped, outcome.seconds))
            if outcome.failed or self.verbose:
                print("    " + outcome.text.strip().replace("\n", "\n    "))
            sys.stdout.flush()


def run_all(names, args, printer):
    together = collections.deque(name for name in names if not is_alone(name))
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                if not together:
                    return
                name = together.popleft()
            printer.add(run_one(name, args))

    threads = [threading.Thread(target=work) for _ in range(args.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in names:
        if is_alone(name):
            printer.add(run_one(name, args))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--bin", default="", help="the binary under test")
    parser.add_argument("--only", default="", help="modules whose file name contains this")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--limit", type=float, default=240 * slow_factor(), help="s a module")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--module", default="", help=argparse.SUPPRESS)
    parser.add_argument("--result", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


def slow_factor():
    return float(os.environ.get("HMTEST_SLOW") or 1)


def main():
    args = parse()
    if args.module:
        return run_module(args.module, args.result, 2)
    binary = args.bin or os.environ.get("HMTEST_BIN") or "build/release/hypermemd"
    os.environ["HMTEST_BIN"] = os.path.abspath(binary)
    os.environ.setdefault("HMTEST_FAULT_BIN", os.environ["HMTEST_BIN"])
    if not os.access(os.environ["HMTEST_BIN"], os.X_OK):
        print("no binary at %s; run make first" % binary)
        return 1
    names = find_modules(args.only)
    printer = Printer(len(names), args.verbose)
    run_all(names, args, printer)
    passed = sum(outcome.passed for outcome in printer.outcomes)
    failed = sum(outcome.failed for outcome in printer.outcomes)
    skipped = sum(outcome.skipped for outcome in printer.outcomes)
    print("api: %d passed, %d failed, %d skipped" % (passed, failed, skipped))
    if os.environ.get("HMTEST_COUNTS"):
        with open(os.environ["HMTEST_COUNTS"], "a", encoding="utf-8") as file:
            file.write("%d %d\n" % (passed, failed))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
