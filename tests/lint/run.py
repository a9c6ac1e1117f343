#!/usr/bin/env python3
"""All of lint: prints one line a check, then what was found; each check is one pass or failure.

    run.py [--jobs N] [--flavour strict] [--only NAME]

The slow checks (gcc, clang, tidy) are make targets with one stamp a file, so a second run looks
only at what has changed. Counts go to $HMTEST_COUNTS.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402
from source import MIN_REASON, Source  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHOWN = 60
MAX_OUTPUT = 400
# Sections a program may write to. .data.rel.ro is constant once the loader is done.
WRITABLE = re.compile(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)\b|\*COM\*")
SYMBOL = re.compile(r"^[0-9a-f]+ .{7} (\S+)\s+([0-9a-f]+)\s+(?:\.hidden )?(\S+)$")


class Project:
    def __init__(self, args):
        self.args = args
        make = run_make(["lint-vars"], args)
        rows = dict(line.split("=", 1) for line in make.stdout.splitlines() if "=" in line)
        self.srcs = rows["SRCS"].split()
        self.c_files = rows["C_FILES"].split()
        self.h_files = rows["H_FILES"].split()
        self.cppflags = shlex.split(rows["CPPFLAGS"])
        self.sources = [Source(path) for path in self.c_files + self.h_files]
        self.scripts = find_scripts()


def run_make(targets, args, *extra):
    env = {key: value for key, value in os.environ.items()
           if key not in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "GNUMAKEFLAGS")}
    command = ["make", "--no-print-directory", "-k", "-j%d" % args.jobs] + list(extra) + targets
    return subprocess.run(command, env=env, capture_output=True, text=True, errors="replace",
                          check=False)


def find_scripts():
    """Path and text of what is neither C nor data: Python, shell, Makefile, Docker, CI."""
    found = {}
    for base, dirs, names in os.walk("."):
        dirs[:] = [d for d in dirs if d not in (".git", "build", "__pycache__", "data", "corpus")]
        for name in names:
            path = os.path.normpath(os.path.join(base, name))
            special = name in ("Makefile", "Dockerfile") or path.startswith(".ci/")
            if special or name.endswith((".py", ".sh", ".yaml", ".yml")):
                with open(path, encoding="utf-8") as file:
                    found[path] = file.read()
    return dict(sorted(found.items()))


def output_of(done):
    text = done.stdout + done.stderr
    lines = [line for line in text.splitlines()
             if not re.match(r"make(\[\d+\])?: |  (CC|AR|LINK|SHIM) ", line)] or text.splitlines()
    more = ["... and %d more lines" % (len(lines) - MAX_OUTPUT)] if len(lines) > MAX_OUTPUT else []
    return "\n".join(lines[:MAX_OUTPUT] + more)


def check_make(targets, *extra):
    def check(project):
        done = run_make(targets, project.args, *extra)
        if done.returncode != 0:
            yield "", output_of(done)
    return check


def check_gcc(project):
    """Compiles everything, tests too; release objects serve if they are built with -Werror."""
    yield from check_make(["objects"], "FLAVOUR=" + project.args.flavour, "WERROR=1")(project)


def check_format(project):
    done = subprocess.run(
        [project.args.clang_format, "--dry-run", "-Werror"] + project.c_files + project.h_files,
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        bad = sorted(set(re.findall(r"^([^:\n]+):\d+:\d+: error", done.stderr, re.M)))
        for path in bad:
            yield path, "not as clang-format writes it; run make format"
        if not bad:
            yield "", done.stderr


def check_cppcheck(project):
    folder = "build/lint/cppcheck"
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(
        ["cppcheck", "--quiet", "--std=c11", "--language=c", "--library=posix", "--library=gnu",
         "--enable=warning,performance,portability", "--inline-suppr", "--error-exitcode=1",
         "--suppressions-list=tests/lint/cppcheck.suppress", "--cppcheck-build-dir=" + folder,
         "--template={file}:{line}: {severity} {id}: {message}", "-j%d" % project.args.jobs,
         "-I.", "-D_GNU_SOURCE", "-DNDEBUG"] + project.c_files,
        capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr.strip():
        yield "", output_of(done)


def read_allowed(path):
    """Rows "file symbol reason" of the globals that may be written."""
    allowed = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                parts = line.split(None, 2)
                allowed[tuple(parts[:2])] = parts[2].strip() if len(parts) == 3 else ""
    return allowed


def check_globals(project):
    """No writable object with static storage, `static` inside a function and thread-local too."""
    list_path = "tests/lint/globals.allow"
    allowed = read_allowed(list_path)
    seen = set()
    for path in project.srcs:
        built = "build/%s/obj/%s.o" % (project.args.flavour, path[:-2])
        if not os.path.isfile(built):
            yield path, "not built, so not looked at"
            continue
        table = subprocess.run(["objdump", "-t", built], capture_output=True, text=True,
                               check=True).stdout
        for symbol in writable_symbols(table):
            seen.add((path, symbol))
            if (path, symbol) not in allowed:
                yield path, "writable global '%s'" % symbol
    for row, reason in allowed.items():
        if row not in seen:
            yield list_path, "%s %s is not there any more" % row
        elif len(reason) < MIN_REASON:
            yield list_path, "%s %s wants a reason" % row


def writable_symbols(table):
    """Names of sized symbols in writable sections; gcc numbers function statics (count.0)."""
    for line in table.splitlines():
        match = SYMBOL.match(line)
        if match and WRITABLE.match(match.group(1)) and int(match.group(2), 16) > 0:
            yield re.sub(r"\.\d+$", "", match.group(3))


CHECKS = (
    ("folders", rules.folders),
    ("owners", rules.owners),
    ("calls", rules.calls),
    ("functions", rules.functions),
    ("files", rules.files),
    ("columns", rules.columns),
    ("todo", rules.todo),
    ("guards", rules.guards),
    ("suppressions", rules.suppressions),
    ("unused", rules.unused),
    ("scripts", rules.scripts),
    ("format", check_format),
    ("gcc", check_gcc),
    ("globals", check_globals),
    ("clang", check_make(["lint-clang"])),
    ("tidy", check_make(["lint-tidy"])),
    ("cppcheck", check_cppcheck),
)


def run_check(name, check, project):
    start = time.monotonic()
    try:
        found = list(check(project))
    except Exception as error:  # a check that breaks has failed; the others still run
        found = [("", "%s: %s" % (type(error).__name__, error))]
    print("%s  lint %-12s %6.1f s" % ("FAIL" if found else "ok  ", name, time.monotonic() - start))
    for place, message in found[:SHOWN]:
        text = "%s: %s" % (place, message) if place else message
        print("    " + text.strip().replace("\n", "\n    "))
    if len(found) > SHOWN:
        print("    ... and %d more" % (len(found) - SHOWN))
    sys.stdout.flush()
    return not found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--flavour", default="strict")
    parser.add_argument("--clang-format", default="clang-format")
    parser.add_argument("--only", default="", help="one check: " + " ".join(c[0] for c in CHECKS))
    args = parser.parse_args()
    os.chdir(ROOT)
    project = Project(args)
    results = [run_check(name, check, project) for name, check in CHECKS
               if args.only in ("", name)]
    passed, failed = results.count(True), results.count(False)
    print("lint: %d checks passed, %d failed, %d C files" % (passed, failed, len(project.c_files)))
    if os.environ.get("HMTEST_COUNTS"):
        with open(os.environ["HMTEST_COUNTS"], "a", encoding="utf-8") as file:
            file.write("%d %d\n" % (passed, failed))
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
