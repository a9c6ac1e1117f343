#!/bin/bash
# stage.sh NAME COMMAND…: runs one test stage and sees to it that $COUNTS/NAME holds its counts, as
# lines of "passed failed". A stage writes them itself to $HMTEST_COUNTS, or else its last line
# "N passed, N failed" is read. A stage that breaks, or that tested nothing, counts one failure.
set -u -o pipefail
name=$1
shift
mkdir -p "$COUNTS"
export HMTEST_COUNTS="$PWD/$COUNTS/$name"
log="$COUNTS/$name.log"
rm -f "$HMTEST_COUNTS"

timeout --foreground -k 30 "${STAGE_SECONDS:-2400}" "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

if [ ! -s "$HMTEST_COUNTS" ]; then
    sed -n 's/^\([0-9]\{1,\}\) passed, \([0-9]\{1,\}\) failed$/\1 \2/p' "$log" | tail -n 1 \
        > "$HMTEST_COUNTS"
fi
read -r passed failed < <(awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }' "$HMTEST_COUNTS")
if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$passed" -eq 0 ]; }; then
    echo "$name: broke off (status $status, $passed passed)"
    echo "0 1" >> "$HMTEST_COUNTS"
    failed=1
fi
[ "$failed" -eq 0 ]
