#!/bin/bash
# stages.sh STAGE…: makes each stage in turn, whatever the one before did, then prints a table and,
# as the last line, the sum "N passed, N failed". $MAKE and $COUNTS come from the Makefile.
set -u
mkdir -p "$COUNTS"
rm -f "$COUNTS"/*
table=$(printf '%-14s %7s %7s %5s' stage passed failed time)
all_passed=0
all_failed=0
for stage in "$@"; do
    echo "== $stage"
    start=$SECONDS
    $MAKE --no-print-directory "$stage" || true
    # No counts at all: the stage was never reached, because something did not build.
    [ -s "$COUNTS/$stage" ] || echo "0 1" > "$COUNTS/$stage"
    read -r passed failed < <(awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }' \
        "$COUNTS/$stage")
    all_passed=$((all_passed + passed))
    all_failed=$((all_failed + failed))
    table+=$(printf '\n%-14s %7d %7d %4ds' "$stage" "$passed" "$failed" $((SECONDS - start)))
done
printf '\n%s\n\n%d passed, %d failed\n' "$table" "$all_passed" "$all_failed"
[ "$all_failed" -eq 0 ] && [ "$all_passed" -gt 0 ]
