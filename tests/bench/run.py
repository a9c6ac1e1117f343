#!/usr/bin/env python3
"""make bench: measures everything and prints a table in Markdown.

    run.py [--only NAME,…] [--quick] [--rounds N] [--data FILE] [--recall SCRIPT] [--fresh]
           [--out FILE]

Names: post ingest told calls query meaning dense large http start memory vectors written disk
levels encoder. Environment (make's variables come that way): T=names as --only, DATA=file as
--data, RECALL=script as --recall.
Figures are worth something on a quiet machine only; the load average at the start is printed with
them.
"""
import argparse
import os
import platform
import sys
import time
import traceback

import common
import figures


def machine():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return "%d × %s, %s; load average %.1f" % (os.cpu_count(), models[0] if models else "CPU",
                                              platform.release(), os.getloadavg()[0])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=os.environ.get("T") or "", help="comma-separated names")
    parser.add_argument("--quick", action="store_true", help="small and once: a trial")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each speed")
    parser.add_argument("--data", default=os.environ.get("DATA") or "",
                        help="conversations; without it the sample")
    parser.add_argument("--recall", default=os.environ.get("RECALL") or "",
                        help="a script that measures recall, run with --url, --data, --no-ingest")
    parser.add_argument("--fresh", action="store_true", help="make the kept data anew")
    parser.add_argument("--out", default="", help="write the report to this file, too")
    args = parser.parse_args()
    names = [name for name in args.only.split(",") if name] or list(figures.ALL)
    unknown = [name for name in names if name not in figures.ALL]
    if unknown:
        parser.error("no figure is called %s: %s" % (unknown[0], " ".join(figures.ALL)))
    args.made = set()  # what figures.cached() has made in this run
    args.data = os.path.abspath(args.data) if args.data else ""
    args.recall = os.path.abspath(args.recall) if args.recall else ""
    return args, names


def main():
    args, names = arguments()
    rows, notes, failed = [], [], []
    title = "%s, %s, %s" % (common.subcommand("version").split("\n")[0], machine(),
                            time.strftime("%Y-%m-%d %H:%M"))
    for name in names:
        common.say("%s …" % name)
        start = time.monotonic()
        try:
            more, told = figures.ALL[name](args)
        except Exception:  # one figure that can't be had does not take the others with it
            traceback.print_exc()
            failed.append(name)
            continue
        rows += more
        notes += ["### %s\n\n%s" % (name, text) for text in told]
        common.say("%s took %.0f s" % (name, time.monotonic() - start))
    parts = [title + (" — a trial (--quick)" if args.quick else "")]
    if rows:
        parts.append(common.table(("what", "reach", "measured", "ratio to it", "met", "times"),
                                  rows))
    report = "\n\n".join(parts + notes)
    print(report)
    if failed:
        print("\nnot measured, see above: " + ", ".join(failed))
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(report + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
