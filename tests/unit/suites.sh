#!/bin/sh
# suites.sh FILE…: prints one SUITE(name) row for each test_<name>.c. Each such file defines
# `Suite *suite_<name>(void)`; the rows become the runner's table.
set -eu
names=$(for file in "$@"; do
    case ${file##*/} in
    test_*.c) base=${file##*/test_} && echo "${base%.c}" ;;
    esac
done | sort)
twice=$(echo "$names" | uniq -d)
if [ -n "$twice" ]; then
    echo "two unit test files share the name: $twice" >&2
    exit 1
fi
for name in $names; do
    echo "SUITE($name)"
done
