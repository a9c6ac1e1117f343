#!/bin/bash
# fuzz.sh BUILD SECONDS NAME…: fuzzes each target for so many seconds. New inputs go to
# BUILD/corpus; what crashed stays in BUILD/found, to be fixed and then kept in tests/fuzz/corpus.
set -u
build=$1
seconds=$2
shift 2
mkdir -p "$build/found"
passed=0
failed=0
for name in "$@"; do
    mkdir -p "$build/corpus/$name"
    seeds=()
    [ -d "tests/fuzz/corpus/$name" ] && seeds=("tests/fuzz/corpus/$name")
    echo "== fuzz $name for $seconds s"
    if "$build/fuzz_$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$build/found/$name-" "$build/corpus/$name" \
        "${seeds[@]}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
