"""demo: a client of the API that loads a conversation and shows what the daemon remembers."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

import harness

SAMPLE = os.path.join(harness.ROOT, "tests", "data", "sample.json")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def small(path, text="Anna adopted a cat called Miso."):
    """A conversation of three turns; returns its path."""
    turns = [{"id": "T%d" % i, "speaker": "Anna", "text": line} for i, line in enumerate(
        [text, "She lives in Bremen now.", "Her old flat was in Kiel."])]
    data = {"conversations": [{
        "id": "small",
        "sessions": [{"id": "S1", "time": "2025-03-04T23:59:45+01:00", "turns": turns}],
        "questions": [{"id": "q%d" % i, "question": question, "answer": "Miso"}
                      for i, question in enumerate(["What is the cat called?",
                                                    "Where does Anna live?"])]}]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)
    return path


class Demo(harness.DaemonTest):
    KEY = "demo-key"

    def demo(self, *args, key="demo-key", **kwargs):
        return harness.run("demo", *args, "--url", self.daemon.url, "--key", key, seconds=120,
                           **kwargs)

    def path(self, name):
        return os.path.join(self.daemon.home, name)

    def test_sample(self):
        done = self.demo(SAMPLE)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(SAMPLE, encoding="utf-8") as file:
            conversation = json.load(file)["conversations"][0]
        asked = {question["id"]: question["question"] for question in conversation["questions"]}
        flat = " ".join(done.stdout.split())
        for number in conversation["ask"]:
            self.assertIn(" ".join(asked[number].split()), flat)
        for heading in ("Topics", "Question", "Episodes", "Facts", "Context"):
            self.assertIn(heading, done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertNotIn("demo-key", done.stdout + done.stderr)
        turns = sum(len(session["turns"]) for session in conversation["sessions"])
        self.assertIn("loading turns %d/%d" % (turns, turns), done.stderr)
        self.assertEqual(self.client.get("/v1/spaces/demo").expect(200)["counts"]["turns"], turns)

    def test_twice_is_harmless(self):
        path = small(self.path("twice.json"))
        first = self.demo(path, "--space", "twice")
        self.assertIn("3 turns stored, 0 were there already", first.stderr)
        before = self.client.get("/v1/spaces/twice").expect(200)["counts"]
        second = self.demo(path, "--space=twice")
        self.assertIn("0 turns stored, 3 were there already", second.stderr)
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual(self.client.get("/v1/spaces/twice").data["counts"], before)

    def test_turns_are_30_seconds_apart_in_their_own_offset(self):
        done = self.demo(small(self.path("times.json")), "--space", "times")
        self.assertEqual(done.returncode, 0, done.stderr)
        turns = self.client.get("/v1/spaces/times/turns").expect(200)["turns"]
        self.assertEqual([turn["timestamp"] for turn in turns], [
            "2025-03-04T22:59:45Z", "2025-03-04T23:00:15Z", "2025-03-04T23:00:45Z"])
        self.assertEqual({turn["offset_min"] for turn in turns}, {60})
        self.assertEqual({turn["session"] for turn in turns}, {"S1"})

    def test_first_questions_without_ask(self):
        done = self.demo(small(self.path("ask.json")), "--space", "ask")
        self.assertIn("What is the cat called?", done.stdout)
        self.assertIn("Where does Anna live?", done.stdout)
        self.assertIn("expected: Miso", done.stdout)

    def test_control_characters_do_not_reach_the_terminal(self):
        path = small(self.path("control.json"),
                     "The bell\x07 and \x1b[31mred\x1b[0m and C1 \u009b31m.")
        done = self.demo(path, "--space", "control")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.stdout))

    def test_colour_by_configuration(self):
        path = small(self.path("color.json"))
        self.assertRegex(self.demo(path, "--space=c", "--color=always").stdout, ESCAPE)
        self.assertNotRegex(self.demo(path, "--space=c", "--color=never").stdout, ESCAPE)

    def on_terminal(self, columns, env=None):
        """Runs the small conversation on a terminal of that width: its output, both streams."""
        path = small(self.path("tty.json"))
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        child = subprocess.Popen(
            [harness.binary(), "demo", path, "--space=tty", "--url", self.daemon.url, "--key",
             "demo-key"], stdout=follower, stderr=follower, stdin=subprocess.DEVNULL,
            env=harness.clean_environment(env))
        os.close(follower)
        got = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            got += piece
        os.close(leader)
        self.assertEqual(child.wait(60 * harness.SLOW), 0, got)
        return got.decode("utf-8")

    def test_terminal_width_bar_and_colour(self):
        for columns in (50, 100):
            text = self.on_terminal(columns)
            self.assertRegex(text, r"\rloading turns \[#+\] 3/3")
            self.assertRegex(text, ESCAPE)
            for line in ESCAPE.sub("", text).replace("\r\n", "\n").split("\n"):
                self.assertLessEqual(len(line.rsplit("\r", 1)[-1]), max(columns, 80), line)
            shown = ESCAPE.sub("", text.split("Question", 1)[1]).replace("\r\n", "\n")
            self.assertLessEqual(max(len(line) for line in shown.split("\n")), columns)

    def test_no_color_on_a_terminal(self):
        self.assertNotRegex(self.on_terminal(80, {"NO_COLOR": "1"}), ESCAPE)

    def test_refusals_are_told(self):
        path = small(self.path("bad.json"))
        wrong = self.demo(path, key="wrong")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("401", wrong.stderr)
        nobody = harness.run("demo", path, "--url", "http://127.0.0.1:1")
        self.assertEqual(nobody.returncode, 1)
        self.assertIn("127.0.0.1:1", nobody.stderr)
        self.assertEqual(self.demo(path, "--space", "a/b").returncode, 1)

    def test_bad_files_are_told(self):
        for name, text in (("empty", ""), ("cut", '{"conversations":[{'), ("other", "[1,2]"),
                           ("none", '{"conversations":[]}')):
            path = self.path(name + ".json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = self.demo(path)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn(name, done.stderr)
        done = self.demo(self.path("missing.json"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing.json", done.stderr)
        self.assertEqual(harness.run("demo").returncode, 2)


if __name__ == "__main__":
    unittest.main()
