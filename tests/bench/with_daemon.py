#!/usr/bin/env python3
"""with_daemon.py COMMAND...: starts a daemon on a free port and an empty data directory, runs the
command with {url} and {dir} filled in, stops the daemon, and passes the command's exit status on.

$HMTEST_BIN names the binary (default build/release/hypermemd). The daemon's other settings come
from HYPERMEM_* variables as usual.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

READY_S = 20
STOP_S = 60


def start(binary, folder):
    """Starts the daemon and waits for the line that holds its address; returns (process, url)."""
    daemon = subprocess.Popen(
        [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", folder],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    found = []
    ready = threading.Event()

    def read():
        for line in daemon.stdout:
            match = None if found else re.search(r"127\.0\.0\.1:([1-9]\d*)", line)
            if match:
                found.append("http://" + match.group(0))
                ready.set()
            if not found or re.search(r"level=(error|warn)", line):
                sys.stderr.write(line)
        ready.set()

    threading.Thread(target=read, daemon=True).start()
    if not ready.wait(READY_S) or not found:
        daemon.kill()
        sys.exit("the daemon did not say where it listens")
    return daemon, found[0]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binary = os.path.abspath(os.environ.get("HMTEST_BIN") or "build/release/hypermemd")
    with tempfile.TemporaryDirectory(prefix="hmbench-") as folder:
        daemon, url = start(binary, folder)
        words = [word.replace("{url}", url).replace("{dir}", folder) for word in sys.argv[1:]]
        try:
            status = subprocess.call(words)
        finally:
            daemon.send_signal(signal.SIGTERM)
            try:
                ended = daemon.wait(STOP_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                ended = "no end within %d s" % STOP_S
    if ended != 0:
        print("the daemon ended with status %s" % ended, file=sys.stderr)
        return status or 1
    return status


if __name__ == "__main__":
    sys.exit(main())
