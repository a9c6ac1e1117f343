#!/usr/bin/env python3
"""Are the levels real? Measures topics and episodes of spaces that recall.py has filled.

    levels.py --url URL --data FILE [--prefix bench-] [--stories] [--boundaries]

Over the questions with evidence (category 5 left out), with the ten best topics alone:
  keep      mean share of a question's evidence turns that lie in episodes of those topics
  select    mean share of the space's episodes that those topics hold
With --stories, on data whose turns carry a `story` label: pairwise F1 of topics against stories,
over episodes (an episode's story is the one most of its turns tell) and over turns, and the share
of the episodes that the largest topic holds. A chain of successor topics counts as one topic.
With --boundaries: where episodes begin against where sessions begin, for spaces that were told
without session ids and on an even clock (recall.py --no-session --even-clock), beside cuts at a
fixed length, the mean of a session. k is half of that mean:
  Pk          share of pairs of turns k apart that one side puts into one segment and the other not
  WindowDiff  share of such pairs with different numbers of boundaries between them
  F1          of boundaries matched one to one, at most one turn apart
"""
import argparse
import collections
import itertools
import json
import re
import urllib.parse
import urllib.request


def get(url):
    with urllib.request.urlopen(url) as reply:
        return json.load(reply)


def pages(url, noun):
    cursor, out = "", []
    while True:
        page = get("%s%slimit=1000%s" % (url, "&" if "?" in url else "?", cursor))
        out += page[noun]
        if "next_cursor" not in page:
            return out
        cursor = "&cursor=" + urllib.parse.quote(page["next_cursor"])


class Space:
    def __init__(self, base):
        self.base = base
        self.episodes = {e["id"]: e for e in pages(base + "/episodes", "episodes")}
        self.chain = chains(pages(base + "/topics", "topics"))
        self.members = collections.defaultdict(set)
        for episode in self.episodes.values():
            for topic in episode["topic_ids"]:
                self.members[self.chain[topic]].add(episode["id"])

    def question(self, text):
        query = urllib.parse.urlencode({"q": text, "topics": 10, "facts": 1, "max_tokens": 0})
        found = {self.chain[t["id"]] for t in get("%s/query?%s" % (self.base, query))["topics"]}
        return set().union(*[self.members[c] for c in found]) if found else set()


def chains(topics):
    """Topic id -> id of the first topic of its chain."""
    before = {t["id"]: t.get("continues") for t in topics}
    first = {}
    for topic in before:
        at = topic
        while before.get(at):
            at = before[at]
        first[topic] = at
    return first


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def gate(space, conversation):
    keep, select = [], []
    for q in conversation["questions"]:
        if str(q["category"]) == "5" or not q["evidence"]:
            continue
        chosen = space.question(q["question"])
        turns = set(itertools.chain(*[space.episodes[e]["turn_ids"] for e in chosen]))
        keep.append(len(turns & set(q["evidence"])) / len(set(q["evidence"])))
        select.append(len(chosen) / len(space.episodes))
    return keep, select


def pairwise_f1(items):
    """items: (story, set of topics). A pair is together when it shares a topic."""
    both = same_topic = same_story = 0
    for (s1, t1), (s2, t2) in itertools.combinations(items, 2):
        together, told = bool(t1 & t2), s1 == s2
        both += together and told
        same_topic += together
        same_story += told
    precision, recall = both / max(1, same_topic), both / max(1, same_story)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def stories(space, conversation):
    story = {t["id"]: t["story"] for s in conversation["sessions"] for t in s["turns"]}
    episodes, turns = [], []
    for e in space.episodes.values():
        topics = {space.chain[t] for t in e["topic_ids"]}
        told = collections.Counter(story[t] for t in e["turn_ids"]).most_common(1)[0][0]
        episodes.append((told, topics))
        turns += [(story[t], topics) for t in e["turn_ids"]]
    largest = max(len(m) for m in space.members.values()) / len(space.episodes)
    return pairwise_f1(episodes), pairwise_f1(turns), largest


def starts_of(sizes):
    """Numbers of the turns that begin a segment, without the first."""
    return list(itertools.accumulate(sizes))[:-1]


def between(starts, count, k):
    """For each pair of turns k apart, how many segments begin after the first of them."""
    begins = [0] * count
    for at in starts:
        begins[at] = 1
    sums = [0] + list(itertools.accumulate(begins))
    return [sums[at + k + 1] - sums[at + 1] for at in range(count - k)]


def matched(told, found, apart=1):
    """Boundaries that have a partner; both lists ascend, so the first that fits is right."""
    pairs, at = 0, 0
    for boundary in told:
        while at < len(found) and found[at] < boundary - apart:
            at += 1
        if at < len(found) and found[at] <= boundary + apart:
            pairs, at = pairs + 1, at + 1
    return pairs


def segmentation(told, found, count):
    """(Pk, WindowDiff, precision, recall, F1) of boundaries among `count` turns."""
    k = max(1, round(count / (len(told) + 1) / 2))
    both = list(zip(between(told, count, k), between(found, count, k)))
    pairs = matched(told, found)
    precision, recall = pairs / max(1, len(found)), pairs / max(1, len(told))
    return (sum((a == 0) != (b == 0) for a, b in both) / len(both),
            sum(a != b for a, b in both) / len(both),
            precision, recall, 2 * precision * recall / max(1e-9, precision + recall))


def boundaries(space, conversation):
    """Two rows: the space's episodes, and cuts at a fixed length."""
    order = [t["id"] for s in conversation["sessions"] for t in s["turns"]]
    number = {turn: at for at, turn in enumerate(order)}
    told = starts_of([len(s["turns"]) for s in conversation["sessions"]])
    firsts = sorted(min(number[t] for t in e["turn_ids"]) for e in space.episodes.values())
    step = len(order) / (len(told) + 1)
    fixed = [round(step * i) for i in range(1, len(told) + 1)]
    return (segmentation(told, firsts[1:], len(order)), segmentation(told, fixed, len(order)))


def print_boundaries(rows):
    """rows: conversation -> what boundaries() gave."""
    print("| conversation | cuts | Pk | WindowDiff | precision | recall | F1 |")
    print("|---" * 7 + "|")
    for at, name in enumerate(("episodes", "fixed length")):
        found = {conversation: pair[at] for conversation, pair in rows.items()}
        found["mean"] = [mean(column) for column in zip(*found.values())]
        for conversation, figures in found.items():
            print("| %s | %s | %s |" % (conversation, name,
                                        " | ".join("%.3f" % x for x in figures)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:7070")
    parser.add_argument("--data", required=True)
    parser.add_argument("--prefix", default="bench-")
    parser.add_argument("--stories", action="store_true")
    parser.add_argument("--boundaries", action="store_true")
    args = parser.parse_args()
    all_keep, all_select, cuts = [], [], {}
    print("| conversation | episodes | topics | keep | select |\n|---|---|---|---|---|")
    for conversation in json.load(open(args.data, encoding="utf-8"))["conversations"]:
        name = args.prefix + re.sub(r"[^A-Za-z0-9._-]", "-", conversation["id"])
        space = Space("%s/v1/spaces/%s" % (args.url, name))
        keep, select = gate(space, conversation)
        all_keep += keep
        all_select += select
        print("| %s | %d | %d | %.3f | %.3f |" % (conversation["id"], len(space.episodes),
                                                  len(space.members), mean(keep), mean(select)))
        if args.boundaries:
            cuts[conversation["id"]] = boundaries(space, conversation)
        if args.stories:
            by_episode, by_turn, largest = stories(space, conversation)
            print("stories, episodes: P %.3f R %.3f F1 %.3f; turns: P %.3f R %.3f F1 %.3f; "
                  "largest topic %.2f" % (by_episode + by_turn + (largest,)))
    print("| all | | | %.3f | %.3f |" % (mean(all_keep), mean(all_select)))
    if cuts:
        print_boundaries(cuts)


if __name__ == "__main__":
    main()
