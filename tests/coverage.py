#!/usr/bin/env python3
"""coverage.py BUILD FOLDER...: sums what gcov says of a coverage build; one line a source file."""
import os
import re
import subprocess
import sys


def main():
    build, folders = sys.argv[1], sys.argv[2:]
    data = []
    for base, _, names in os.walk(os.path.join(build, "obj")):
        data += [os.path.join(base, name) for name in names if name.endswith(".gcno")]
    data = [path for path in data if "/obj/tests/" not in path]
    if not data:
        sys.exit("nothing was built in " + build)
    rows = {}
    for path in sorted(data):
        text = subprocess.run(["gcov", "-n", "-r", path], capture_output=True, text=True,
                              check=True).stdout
        for name, share, lines in re.findall(
                r"File '([^']+)'\nLines executed:([\d.]+)% of (\d+)", text):
            if name.split("/")[0] in folders and name.endswith(".c"):
                rows[name] = (round(float(share) * int(lines) / 100), int(lines))
    for name, (hit, lines) in sorted(rows.items()):
        print("%6.1f %%  %5d of %5d  %s" % (100 * hit / lines, hit, lines, name))
    hit = sum(row[0] for row in rows.values())
    lines = sum(row[1] for row in rows.values())
    print("%6.1f %%  %5d of %5d  in all" % (100 * hit / max(1, lines), hit, lines))


if __name__ == "__main__":
    main()
