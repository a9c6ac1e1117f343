#!/bin/bash
# demo.sh BINARY LISTEN DATA_DIR SAMPLE: what `make run` does. Starts the daemon, loads the sample
# conversation and asks its questions, then leaves the daemon in the foreground until Ctrl-C.
set -u
binary=$1
export HYPERMEM_LISTEN=$2
export HYPERMEM_DATA_DIR=$3
sample=$4
mkdir -p "$HYPERMEM_DATA_DIR"

# The address is the one our own daemon says it listens on: whatever else answers at LISTEN may be
# somebody's memory, which the sample must not get into.
exec {said}< <(exec "$binary" serve)
daemon=$!
# Ctrl-C reaches the daemon by itself, and a second signal would hasten its stop.
trap : INT
trap 'kill -TERM "$daemon" 2>/dev/null' TERM
trap 'kill -TERM "$daemon" 2>/dev/null; wait "$daemon"' EXIT
read -r -t 15 -u "$said" line
case $? in
0) url=${line#listening on } ;;
1) # it has ended
    trap - EXIT
    wait "$daemon"
    status=$?
    echo "hypermemd has not started. Another address or directory is chosen so:" >&2
    echo "  make run LISTEN=127.0.0.1:7171 DATA_DIR=build/other-data" >&2
    exit "$status"
    ;;
*)
    echo "the daemon is not ready after 15 s" >&2
    exit 1
    ;;
esac

"$binary" demo "$sample" --url "$url" || exit $?
echo
echo "hypermemd listens on $url, data in $HYPERMEM_DATA_DIR. Ctrl-C stops it."
# A signal ends `wait` early; the second one collects the daemon's own exit status.
wait "$daemon"
status=$?
trap - EXIT
kill -0 "$daemon" 2>/dev/null && { wait "$daemon"; status=$?; }
exit $status
