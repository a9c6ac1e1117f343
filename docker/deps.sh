#!/bin/sh
# Installs what hypermem needs on Debian and Ubuntu.
#
#   docker/deps.sh [--check] [--build] [--test] [--runtime] [--model] [--llama]
#
#   --build    to build and run the daemon (the default)
#   --test     to run `make test`, `make fuzz` and `make bench` (ask for --build as well)
#   --model    for `make model` alone (`--test` has it, too)
#   --llama    for `make test-llama` on top of --build
#   --runtime  the shared libraries and time zones that a finished binary needs, nothing else
#   --check    installs nothing; exit status 1 and a list when something is missing
#
# What is there already is left alone: nothing is upgraded, nothing is removed. Needs root or sudo
# only when something is missing.
set -eu

check_only=no
sets=
for arg in "$@"; do
    case $arg in
    --check) check_only=yes ;;
    --build | --test | --runtime | --model | --llama) sets="$sets ${arg#--}" ;;
    *)
        sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
        exit 2
        ;;
    esac
done
: "${sets:= build}"

# set, how to see that it is there, packages. Of packages joined by | the first that the system
# knows is taken: Debian 12, Ubuntu 22.04 and 24.04 give some of them other names.
table() {
    cat <<'EOF'
build    cmd:gcc                    gcc
build    cmd:make                   make
build    cmd:pkg-config             pkg-config
build    hdr:stdlib.h               libc6-dev
build    hdr:uv.h                   libuv1-dev
build    hdr:microhttpd.h           libmicrohttpd-dev
build    hdr:jansson.h              libjansson-dev
build    hdr:lmdb.h                 liblmdb-dev
build    hdr:utf8proc.h             libutf8proc-dev
build    hdr:libstemmer.h           libstemmer-dev
build    hdr:ini.h                  libinih-dev
build    hdr:xxhash.h               libxxhash-dev
build    hdr:curl/curl.h            libcurl4-openssl-dev
build    hdr:openblas_config.h      libopenblas-pthread-dev
build    file:/usr/share/zoneinfo   tzdata
runtime  so:libuv.so.1              libuv1|libuv1t64
runtime  so:libmicrohttpd.so.12     libmicrohttpd12|libmicrohttpd12t64
runtime  so:libjansson.so.4         libjansson4
runtime  so:liblmdb.so.0            liblmdb0
runtime  so:libutf8proc.so          libutf8proc2|libutf8proc3
runtime  so:libstemmer.so.0d        libstemmer0d
runtime  so:libinih.so.1            libinih1
runtime  so:libcurl.so.4            libcurl4|libcurl4t64
runtime  so:libopenblas.so.0        libopenblas0-pthread
runtime  file:/usr/share/zoneinfo   tzdata
test     hdr:check.h                check
test     cmd:clang                  clang-14|clang
test     cmd:clang-tidy             clang-tidy-14|clang-tidy
test     cmd:clang-format           clang-format-14|clang-format
test     clang-rt                   libclang-rt-14-dev|libclang-common-14-dev|libclang-rt-dev
test     cmd:cppcheck               cppcheck
test     cmd:python3                python3
test     py:pip                     python3-pip
test     cmd:git                    git
test     cmd:valgrind               valgrind
test     cmd:wrk                    wrk
model    cmd:python3                python3
model    py:pip                     python3-pip
llama    cmd:c++                    g++
llama    py:ensurepip               python3-venv
EOF
}

has_clang_rt() {
    for clang in clang-14 clang clang-19 clang-18; do
        command -v "$clang" >/dev/null 2>&1 || continue
        name=libclang_rt.fuzzer-$(uname -m).a
        for at in "$("$clang" -print-file-name="$name")" \
            "$("$clang" -print-file-name=libclang_rt.fuzzer.a)"; do
            [ -f "$at" ] && return 0
        done
        return 1
    done
    return 1
}

has() {
    case $1 in
    cmd:clang*) command -v "${1#cmd:}-14" || command -v "${1#cmd:}" ;;
    cmd:*) command -v "${1#cmd:}" ;;
    hdr:*) # not /usr/include/*/: nodejs has a uv.h of its own there
        at=${1#hdr:}
        ls "/usr/include/$at" /usr/include/*-linux-*/"$at" "/usr/local/include/$at" | grep .
        ;;
    file:*) [ -e "${1#file:}" ] ;;
    py:*) python3 -c "import ${1#py:}" ;;
    so:*) ldconfig -p | grep -F "${1#so:}" || /sbin/ldconfig -p | grep -F "${1#so:}" ;;
    clang-rt) has_clang_rt ;;
    esac >/dev/null 2>&1
}

# Rows "probe packages" of the chosen sets whose probe fails.
missing() {
    table | while read -r set probe packages; do
        case "$sets " in
        *" $set "*) has "$probe" || echo "$probe $packages" ;;
        esac
    done
}

lacking=$(missing)
[ -n "$lacking" ] || exit 0
names=$(echo "$lacking" | sed 's/^[^ ]* //; s/|.*//' | tr '\n' ' ')
if [ "$check_only" = yes ]; then
    echo "missing: $names" >&2
    exit 1
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "deps.sh knows Debian and Ubuntu only. On this system install, by whatever name:" >&2
    echo "  $names" >&2
    exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "missing: $names" >&2
        options=$(echo "$sets" | sed 's/ / --/g')
        echo "Neither root nor sudo: run  docker/deps.sh$options  as root." >&2
        exit 1
    fi
    sudo="sudo"
    [ -t 0 ] || sudo="sudo -n"
fi
apt() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -q -y "$@"
}

echo "hypermem needs packages that are not installed; refreshing the package lists."
apt update || echo "The lists could not be refreshed; going on with what is known."

# The first alternative with a candidate; the first at all if none has, so that apt says so.
choose() {
    for name in $(echo "$1" | tr '|' ' '); do
        if LC_ALL=C apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [^(]'; then
            echo "$name"
            return
        fi
    done
    echo "${1%%|*}"
}
install=$(echo "$lacking" | while read -r probe packages; do choose "$packages"; done)
echo "Installing:" $install
# shellcheck disable=SC2086 # one word a package
apt install --no-install-recommends $install

lacking=$(missing)
if [ -n "$lacking" ]; then
    echo "Still missing after the installation:" >&2
    echo "$lacking" >&2
    exit 1
fi
echo "Everything is there."
