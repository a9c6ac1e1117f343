"""What the benchmark scripts share: the built programs, a daemon, its figures, Markdown tables."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "api"))

import harness  # noqa: E402

BUILD = os.environ.get("HMTEST_BUILD") or os.path.join(ROOT, "build", "release")
# Data lies below build/, on the disk of the checkout: a memory file system would flatter.
SCRATCH = os.path.join(ROOT, "build", "bench-data")
SAMPLE = os.path.join(ROOT, "tests", "data", "sample.json")
PAGE_BYTES = 4096


def say(text):
    """Progress, beside the results."""
    print("  .. " + text, file=sys.stderr, flush=True)


def program(name):
    return os.path.join(BUILD, name)


def options(values):
    """turns_per_call=50 -> --turns-per-call 50"""
    words = []
    for name, value in values.items():
        words += ["--" + name.replace("_", "-"), str(value)]
    return words


def run_tool(name, **values):
    """Runs a benchmark program to its end; the object that it prints."""
    done = subprocess.run([program(name)] + options(values), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout) if done.stdout.strip() else {}


def load(daemon, allow_errors=False, **values):
    """Runs bench_load against the daemon. Errors end the benchmark: a figure with refused calls in
    it says nothing."""
    result = run_tool("bench_load", port=daemon.port, **values)
    if result["errors"] and not allow_errors:
        raise RuntimeError("%d of %d calls failed: %s" % (
            result["errors"], result["calls"], result["first_error"]))
    return result


def temporary():
    """A directory on the same file system as everything else here."""
    os.makedirs(SCRATCH, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="run-", dir=SCRATCH)


class Daemon(harness.Daemon):
    """A daemon on `data_dir`, quiet unless something is wrong."""

    def __init__(self, data_dir, *more, env=None):
        super().__init__("--log-level=warn", *more, data_dir=data_dir, env=env)

    def finish(self):
        """Stops it; a bad end is an error."""
        status = self.stop(120)
        if status != 0:
            raise RuntimeError("the daemon ended with status %d" % status)

    def metrics(self):
        """Series (with labels, as written) -> value."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=60) as reply:
            text = reply.read().decode()
        return {name: float(value) for name, value in
                re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.M)}

    def drain(self, seconds=600, calm=0.3):
        """Waits until no background work has been due for `calm` seconds."""
        deadline = time.monotonic() + seconds
        quiet = None
        while True:
            got = self.metrics()
            now = time.monotonic()
            busy = got['hypermem_jobs{state="pending"}'] + got['hypermem_jobs{state="running"}']
            quiet = None if busy else quiet or now
            if quiet is not None and now - quiet >= calm:
                return got
            if now > deadline:
                raise RuntimeError("background work is not done after %d s" % seconds)
            time.sleep(0.02)

    def io(self):
        """/proc/PID/io: bytes that went to the disk's pages, bytes handed to write()."""
        with open("/proc/%d/io" % self.pid, encoding="ascii") as file:
            return {key: int(value) for key, value in re.findall(r"(\w+): (\d+)", file.read())}

    def memory(self):
        """Bytes of memory: `private` as smaps counts it, of that `map` in pages of the data file
        and of weights (which the kernel may drop at any time), `anonymous` the rest that is no
        file's, `resident` all."""
        sums = {"private": 0, "map": 0, "anonymous": 0, "resident": 0}
        in_map = False
        with open("/proc/%d/smaps" % self.pid, encoding="ascii", errors="replace") as file:
            for line in file:
                field = re.match(r"(\w+): +(\d+) kB", line)
                if not field:
                    if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                        in_map = line.rstrip().endswith(("/data.mdb", ".safetensors"))
                    continue
                size = int(field.group(2)) * 1024
                if field.group(1) in ("Private_Clean", "Private_Dirty"):
                    sums["private"] += size
                    sums["map"] += size if in_map else 0
                elif field.group(1) == "Rss":
                    sums["resident"] += size
                elif field.group(1) == "Anonymous":
                    sums["anonymous"] += size
        return sums


def subcommand(*words, seconds=600):
    """Runs a subcommand of the daemon's binary; its standard output."""
    done = harness.run(*words, seconds=seconds)
    if done.returncode != 0:
        raise RuntimeError("hypermemd %s: %s" % (words[0], done.stderr.strip()))
    return done.stdout


def read_data(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def median(values):
    return statistics.median(values)


def spread(values, form="%.0f"):
    """"median (least-most)" of several measurements."""
    if len(values) == 1:
        return form % values[0]
    return (form + " (" + form + "–" + form + ")") % (median(values), min(values), max(values))


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
