#!/usr/bin/env python3
"""ONNX Runtime on one thread, for tests/bench/encoder.py: obeys the commands of bench_encoder.

    ort_worker.py MODEL.onnx [--fuse HEADS HIDDEN]

Run with an interpreter that has onnxruntime and numpy; --fuse also wants onnx. The first line on
standard input is an object {"question": ids, "batches": [[ids, …], …]}. The commands: `vector`,
`all` (each batch padded to its longest), `sorted` (all texts sorted by length first, as
sentence-transformers does), `single` (one by one, without padding), `ask N`.
"""
import argparse
import json
import os
import sys
import tempfile
import time

import numpy
import onnxruntime


def fused(path, heads, hidden, folder):
    """The model after onnxruntime's own optimizer for transformers: attention, GELU and norms as
    one operator each."""
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    options = FusionOptions("bert")
    model = optimizer.optimize_model(path, model_type="bert", num_heads=heads, hidden_size=hidden,
                                     optimization_options=options, opt_level=0, use_gpu=False)
    out = os.path.join(folder, "fused.onnx")
    model.save_model_to_file(out)
    return out, model.get_fused_operator_statistics()


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def embed(session, rows):
    """Padded to the longest; the mean over what is no padding, normalised."""
    longest = max(len(row) for row in rows)
    ids = numpy.zeros((len(rows), longest), dtype=numpy.int64)
    mask = numpy.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, :len(row)] = row
        mask[i, :len(row)] = 1
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
    names = {value.name for value in session.get_inputs()}
    first = session.get_outputs()[0].name
    hidden = session.run([first], {name: feed[name] for name in names})[0]
    pooled = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return pooled / numpy.linalg.norm(pooled, axis=1, keepdims=True)


def run_all(session, batches):
    start = time.perf_counter()
    for batch in batches:
        embed(session, batch)
    return {"ms": (time.perf_counter() - start) * 1e3}


def ask(session, question, times):
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        embed(session, [question])
        spent.append((time.perf_counter() - start) * 1e3)
    return {"ms": spent}


def obey(session, work, command):
    words = command.split()
    batches = work["batches"]
    if words[0] == "vector":
        return {"vector": embed(session, [work["question"]])[0].tolist()}
    if words[0] == "all":
        return run_all(session, batches)
    if words[0] == "sorted":
        rows = sorted((row for batch in batches for row in batch), key=len, reverse=True)
        size = len(batches[0])
        return run_all(session, [rows[i:i + size] for i in range(0, len(rows), size)])
    if words[0] == "single":
        return run_all(session, [[row] for batch in batches for row in batch])
    if words[0] == "ask":
        return ask(session, work["question"], int(words[1]))
    raise ValueError("no such command: " + command)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--fuse", nargs=2, type=int, metavar=("HEADS", "HIDDEN"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, operators = args.model, {}
        if args.fuse:
            path, operators = fused(args.model, args.fuse[0], args.fuse[1], folder)
        session = session_of(path)
        work = json.loads(sys.stdin.readline())
        print(json.dumps({"version": onnxruntime.__version__,
                          "fused": {k: v for k, v in operators.items() if v}}), flush=True)
        for command in sys.stdin:
            print(json.dumps(obey(session, work, command)), flush=True)


if __name__ == "__main__":
    main()
