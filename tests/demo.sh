#!/bin/bash
# demo.sh BINARY LISTEN DATA_DIR SAMPLE: what `make run` does. Starts the daemon, loads the sample
# conversation and asks its questions, then leaves the daemon in the foreground until Ctrl-C.
set -u
binary=$1
export HYPERMEM_LISTEN=$2
export HYPERMEM_DATA_DIR=$3
sample=$4
mkdir -p "$HYPERMEM_DATA_DIR"

"$binary" serve &
daemon=$!
trap 'kill -TERM "$daemon" 2>/dev/null' INT TERM EXIT

for _ in $(seq 150); do
    kill -0 "$daemon" 2>/dev/null || { wait "$daemon"; exit $?; }
    "$binary" health >/dev/null 2>&1 && ready=1 && break
    sleep 0.1
done
kill -0 "$daemon" 2>/dev/null || { wait "$daemon"; exit $?; }
[ "${ready:-0}" = 1 ] || { echo "the daemon is not ready after 15 s" >&2; exit 1; }

"$binary" demo "$sample" || exit $?
echo
echo "hypermemd listens on http://$HYPERMEM_LISTEN, data in $HYPERMEM_DATA_DIR. Ctrl-C stops it."
# A signal ends `wait` early; the second one collects the daemon's own exit status.
wait "$daemon"
status=$?
trap - EXIT
kill -0 "$daemon" 2>/dev/null && { wait "$daemon"; status=$?; }
exit $status
