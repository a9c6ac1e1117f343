#!/bin/bash
# replay.sh BUILD NAME…: runs every fuzz target over tests/fuzz/corpus/NAME. A target without a
# corpus fails, and so does a corpus without a target.
set -u
build=$1
shift
status=0
for name in "$@"; do
    mapfile -t files < <(find "tests/fuzz/corpus/$name" -type f 2>/dev/null | sort)
    if [ ${#files[@]} -eq 0 ]; then
        echo "FAIL  tests/fuzz/corpus/$name is empty"
        echo "0 1" >> "$HMTEST_COUNTS"
        status=1
        continue
    fi
    "$build/replay_$name" "${files[@]}" || status=1
done
for corpus in tests/fuzz/corpus/*/; do
    [ -d "$corpus" ] || continue
    name=$(basename "$corpus")
    case " $* " in
    *" $name "*) ;;
    *)
        echo "FAIL  $corpus has no tests/fuzz/fuzz_$name.c"
        echo "0 1" >> "$HMTEST_COUNTS"
        status=1
        ;;
    esac
done
exit $status
