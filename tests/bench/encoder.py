"""The built-in encoder beside ONNX Runtime: the same model, texts and one thread, in turn.

Environment: MODEL (a model's directory, else that of `make model`), ORT_PYTHON (an interpreter with
onnxruntime and numpy, and onnx for its optimizer), ORT_MODEL (the same model as .onnx). Without the
last two only our own figures are told.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import common
from common import median, say

ROUNDS, ASKS, THREADS, BATCH = 5, 20, 4, 32
# So many turns of the conversation make one text, over and over: most are short, some are long.
JOINED = (1, 1, 2, 1, 3, 8)
TEXTS = 4 * BATCH
QUESTION = "When did Nora start to play in the quartet?"
LIMIT_MIB = 64


class Partner:
    """A process that answers each line with an object of JSON."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        encoding="utf-8")

    def tell(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # hear() says so
        return self.hear()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("%s ended" % self.process.args[0])
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def sample_texts():
    with open(common.SAMPLE, encoding="utf-8") as file:
        sample = json.load(file)
    turns = [" ".join(turn["text"].split()) for conversation in sample["conversations"]
             for session in conversation["sessions"] for turn in session["turns"]]
    texts, at = [], 0
    while len(texts) < TEXTS:
        joined = JOINED[len(texts) % len(JOINED)]
        texts.append(" ".join(turns[(at + i) % len(turns)] for i in range(joined)))
        at += joined
    return texts


def model_dir():
    return os.environ.get("MODEL") or os.environ.get("HMTEST_MODEL_DIR") or os.path.join(
        common.ROOT, "build", "models", "all-MiniLM-L6-v2")


def start_ours(folder):
    path = os.path.join(folder, "texts")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(text + "\n" for text in [QUESTION] + sample_texts()))
    ours = Partner([common.program("bench_encoder"), "--model", model_dir(), "--texts", path,
                    "--batch", str(BATCH)])
    return ours, ours.hear()


def start_theirs(ids, fuse):
    """None where there is no ONNX Runtime."""
    python, model = os.environ.get("ORT_PYTHON"), os.environ.get("ORT_MODEL")
    if not python or not model:
        return None, None
    with open(os.path.join(model_dir(), "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    command = [python, os.path.join(common.ROOT, "tests", "bench", "ort", "ort_worker.py"), model]
    if fuse:
        command += ["--fuse", str(config["num_attention_heads"]), str(config["hidden_size"])]
    theirs = Partner(command)
    texts = ids[1:]
    batches = [texts[i:i + BATCH] for i in range(0, len(texts), BATCH)]
    return theirs, theirs.tell(json.dumps({"question": ids[0], "batches": batches}))


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) *
                                                        sum(y * y for y in b))


def measure(ours, partners):
    """Times by name, each round one after the other, so that all meet the same neighbours."""
    times = {"ours": [], "ours ask": []}
    ways = ("all", "sorted", "single")
    for name in partners:
        times.update({"%s %s" % (name, way): [] for way in ways + ("ask",)})
    for _ in range(ROUNDS):
        times["ours"].append(ours.tell("all")["ms"])
        for name, partner in partners.items():
            for way in ways:
                times["%s %s" % (name, way)].append(partner.tell(way)["ms"])
        for _ in range(3):
            times["ours ask"] += ours.tell("ask %d" % ASKS)["ms"]
            for name, partner in partners.items():
                times["%s ask" % name] += partner.tell("ask %d" % ASKS)["ms"]
    return times


def lowest(times, names):
    """The name whose best tenth is least, and that time: what the code can do, whatever else runs
    here."""
    best = {name: sorted(times[name])[len(times[name]) // 10] for name in names}
    name = min(best, key=best.get)
    return name, best[name]


def table(times, tokens):
    lines = ["| | ms, best tenth | median | tokens/s |", "|---|---|---|---|"]
    for name in sorted(times):
        low = lowest(times, [name])[1]
        rate = "" if name.endswith("ask") else "%d" % (tokens / low * 1e3)
        lines.append("| %s | %.2f | %.2f | %s |" % (name, low, median(times[name]), rate))
    return lines


def compare(ours, ids, tokens, notes):
    """Ratios (throughput, latency) to the best way of theirs; None without ONNX Runtime."""
    partners = {}
    for name, fuse in (("ort", False), ("ort fused", True)):
        try:
            partner, about = start_theirs(ids, fuse)
        except RuntimeError as error:
            notes.append("%s could not be run: %s" % (name, error))
            continue
        if partner is None:
            continue
        same = cosine(ours.tell("vector")["vector"], partner.tell("vector")["vector"])
        if same < 0.9999:
            raise RuntimeError("%s gives another vector: cosine %.5f" % (name, same))
        partners[name] = partner
        notes.append("%s: ONNX Runtime %s, fused %s; cosine to ours %.7f" % (
            name, about["version"], about["fused"] or "by its session alone", same))
    times = measure(ours, partners)
    for partner in partners.values():
        partner.end()
    notes += table(times, tokens)
    mine, ask = lowest(times, ["ours"])[1], lowest(times, ["ours ask"])[1]
    batch_names = [name for name in times if name.startswith("ort") and not name.endswith("ask")]
    ask_names = [name for name in times if name.startswith("ort") and name.endswith("ask")]
    if not batch_names:
        return mine, ask, None, None
    return mine, ask, lowest(times, batch_names), lowest(times, ask_names)


def rows_of(found, tokens, memory):
    """What was measured as (what, reach, measured, ratio, met)."""
    mine, ask, batch, single = found
    grown = (memory["encoded_kib"] - memory["before_kib"]) / 1024
    rows = []
    rate = "%d tokens/s" % (tokens / mine * 1e3)
    if batch is None:
        rows.append(("encoder, batches of %d" % BATCH, "", rate, "", True))
        rows.append(("encoder, question of 12 tokens", "", "%.2f ms" % ask, "", True))
    else:
        rows.append(("encoder, batches of %d, beside %s" % (BATCH, batch[0]), "≥ 0.7 ×", rate,
                     "%.2f" % (batch[1] / mine), batch[1] / mine >= 0.7))
        rows.append(("encoder, question of 12 tokens, beside %s" % single[0], "≤ 1.25 ×",
                     "%.2f ms" % ask, "%.2f" % (ask / single[1]), ask / single[1] <= 1.25))
    rows.append(("encoder, private memory with %d threads" % memory["threads"],
                 "≤ %d MiB" % LIMIT_MIB, "%.1f MiB" % grown, "%.2f" % (grown / LIMIT_MIB),
                 grown <= LIMIT_MIB))
    return rows


def run():
    """Rows and notes."""
    notes = []
    with tempfile.TemporaryDirectory() as folder:
        ours, about = start_ours(folder)
        notes.append("%s (%s), row operations %s, OpenBLAS %s, opened in %.1f ms" % (
            about["model"], about["dtype"], about["kernels"], "yes" if about["blas"] else "no",
            about["opened_ms"]))
        memory = ours.tell("memory %d" % THREADS)
        notes.append("private KiB beside the mapped file: %d before, %d opened, at most %d while %d "
                     "threads encoded, %d after" % tuple(memory[name] for name in (
                         "before_kib", "opened_kib", "encoded_kib", "threads", "after_kib")))
        ids = ours.tell("ids")["ids"]
        tokens = ours.tell("all")["tokens"]
        lengths = sorted(len(row) for row in ids[1:])
        notes.append("%d texts of %d to %d tokens, median %d, sum %d; the question has %d" % (
            len(lengths), lengths[0], lengths[-1], median(lengths), tokens, len(ids[0])))
        say("encoder beside ONNX Runtime: %s" % (os.environ.get("ORT_PYTHON") or "not there"))
        found = compare(ours, ids, tokens, notes)
        ours.end()
    return rows_of(found, tokens, memory), notes


if __name__ == "__main__":
    for found_row in run()[0]:
        print(*found_row)
    sys.exit(0)
