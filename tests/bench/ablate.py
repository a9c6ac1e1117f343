#!/usr/bin/env python3
"""What each level is worth: R@10 and R@1000 tok with one thing switched off at a time.

    ablate.py --url URL --data FILE [--prefix bench-] [--ingest]

The spaces are those that recall.py (or --ingest) has filled. Over the questions with evidence,
category 5 left out:
  R@10         mean share of a question's evidence turns among the first ten source turns of facts[]
  R@1000 tok   mean share of them named by context.turn_ids and backed by context.text (80 % of a
               turn's content words) at max_tokens=1000; a context over its budget counts as 0
The difference to the default is paired, with a bootstrapped 95 % interval. A daemon with an
embedding model gets further rows.
"""
import argparse
import random
import urllib.parse

import common  # noqa: F401  (sets the path to harness)
import asking
import harness

SWITCHES = (
    ("default", {}),
    ("topics=0", {"topics": 0}),
    ("episodes=0", {"episodes": 0}),
    ("windows=0", {"windows": 0}),
    ("gate=strict", {"gate": "strict"}),
    ("fusion=max", {"fusion": "max"}),
    ("fusion=rrf", {"fusion": "rrf"}),
)
# Where there is an embedding model.
VECTOR_SWITCHES = (
    ("lambda=0", {"lambda": 0}),
    ("lambda=0, gate=strict", {"lambda": 0, "gate": "strict"}),
    ("vectors=0", {"vectors": 0}),
)
RESAMPLES = 1000


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def difference(rows, base, column):
    """Mean paired difference in points, and its 95 % interval."""
    draw = random.Random(7)
    diffs = [100 * (row[column] - other[column]) for row, other in zip(rows, base)]
    means = sorted(mean(draw.choices(diffs, k=len(diffs))) for _ in range(RESAMPLES))
    return "%+.1f (%+.1f..%+.1f)" % (mean(diffs), means[int(0.025 * RESAMPLES)],
                                     means[int(0.975 * RESAMPLES)])


def has_encoder(asker, conversations):
    """Whether vectors take part, those of all documents."""
    for conversation in conversations:
        name = asking.space_name(conversation, asker.prefix)
        space = asker.client().get("/v1/spaces/" + name).expect(200)
        if space["models"]["embed"] is None:
            return False
        if space["vectors"]["state"] != "active" or space["vectors"]["behind"] != 0:
            raise SystemExit("vectors of %s are behind; try again later" % name)
    return True


def rows_of(asker, conversations):
    """Rows of the table, the default first."""
    base, out = None, []
    switches = SWITCHES + (VECTOR_SWITCHES if has_encoder(asker, conversations) else ())
    for name, extra in switches:
        scores = asker.measure(conversations, **extra)
        base = base or scores
        cells = [name, len(scores)]
        for column in (0, 1):
            cells.append("%.1f" % (100 * mean([score[column] for score in scores])))
            cells.append("" if scores is base else difference(scores, base, column))
        out.append(cells)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:7070")
    parser.add_argument("--data", required=True)
    parser.add_argument("--prefix", default="bench-")
    parser.add_argument("--ingest", action="store_true", help="fill the spaces first")
    args = parser.parse_args()
    port = urllib.parse.urlsplit(args.url).port
    conversations = common.read_data(args.data)["conversations"]
    if args.ingest:
        with harness.Client(port, seconds=600) as client:
            for conversation in conversations:
                asking.ingest(client, conversation,
                              asking.space_name(conversation, args.prefix))
    rows = rows_of(asking.Asker(port, args.prefix), conversations)
    print(common.table(("query", "n", "R@10", "against default", "R@1000 tok", "against default"),
                       rows))


if __name__ == "__main__":
    main()
