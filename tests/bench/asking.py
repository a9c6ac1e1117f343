"""Loads conversations into a daemon and asks their questions, over the API.

A data file holds conversations: `sessions` with `turns` (id, speaker, text, perhaps role), and
`questions` with the ids of the turns that are their evidence.
"""
import collections
import concurrent.futures
import datetime
import re
import threading
import time
import urllib.parse

import harness

TURNS_PER_CALL = 50
SECONDS_PER_TURN = 30
CHARACTERS_PER_TOKEN = 4
OVER_BUDGET = 1.02
BACKED_SHARE = 0.8
# Words too common to show whether a text is there.
COMMON = frozenset("a an the of in on at to and or for with by from is are was were be been it its "
                   "his her their they he she as that this these those yes no".split())


def space_name(conversation, prefix):
    return prefix + re.sub(r"[^A-Za-z0-9._-]", "-", conversation["id"])


def turns_of(session):
    start = datetime.datetime.fromisoformat(session["time"].replace("Z", "+00:00"))
    for number, turn in enumerate(session["turns"]):
        when = start + datetime.timedelta(seconds=SECONDS_PER_TURN * number)
        sent = {"id": turn["id"], "session": session["id"], "speaker": turn["speaker"],
                "text": turn["text"], "timestamp": when.isoformat()}
        if "role" in turn:
            sent["role"] = turn["role"]
        yield sent


def ingest(client, conversation, space):
    """Sends the turns in order, 50 a call and one call after the other, flushes, and waits until
    all stages are done. Returns the number of turns."""
    path = "/v1/spaces/" + space
    client.put(path).expect(200, 201)
    count = 0
    for session in conversation["sessions"]:
        turns = list(turns_of(session))
        for at in range(0, len(turns), TURNS_PER_CALL):
            client.post(path + "/turns", {"turns": turns[at:at + TURNS_PER_CALL]}).expect(202)
        count += len(turns)
    client.post(path + "/flush", wait=True).expect(200, 202)
    while client.get(path).expect(200)["pending_turns"] != 0:
        time.sleep(0.005)
    return count


def text_bytes(conversation):
    return sum(len(turn["text"].encode("utf-8"))
               for session in conversation["sessions"] for turn in session["turns"])


def words(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def content_words(conversation):
    """Turn id -> its words that are not common."""
    return {turn["id"]: set(words(turn["text"])) - COMMON
            for session in conversation["sessions"] for turn in session["turns"]}


def first_turns(reply):
    """Source turns in order of rank, each once: those of facts, then `recent`."""
    order = [turn for fact in reply["facts"] for turn in fact["turn_ids"]]
    order += [turn["id"] for turn in reply["recent"]]
    return list(collections.OrderedDict.fromkeys(order))


def backed_turns(reply, budget, content):
    """Turns that the context names and whose text it holds; none when it is over its budget."""
    context = reply["context"]
    if len(context["text"]) / CHARACTERS_PER_TOKEN > budget * OVER_BUDGET:
        return set()
    there = set(words(context["text"]))
    backed = set()
    for turn in context["turn_ids"]:
        own = content.get(turn, set())
        if len(own & there) >= BACKED_SHARE * len(own):
            backed.add(turn)
    return backed


class Asker:
    """Asks questions of a daemon with extra parameters."""

    def __init__(self, port, prefix, workers=2):
        self.port, self.prefix, self.workers = port, prefix, workers
        self.local = threading.local()

    def client(self):
        if not hasattr(self.local, "client"):
            self.local.client = harness.Client(self.port)
        return self.local.client

    def ask(self, space, question, facts, budget, extra):
        params = dict(q=question, facts=facts, max_tokens=budget, **extra)
        path = "/v1/spaces/%s/query?%s" % (space, urllib.parse.urlencode(params))
        return self.client().get(path).expect(200)

    def score(self, job):
        """(share of the evidence among the first 10 turns, share of it in the context)."""
        space, question, content, facts, budget, extra = job
        reply = self.ask(space, question["question"], facts, budget, extra)
        evidence = set(question["evidence"])
        found = evidence & set(first_turns(reply)[:10])
        told = evidence & backed_turns(reply, budget, content)
        return len(found) / len(evidence), len(told) / len(evidence)

    def measure(self, conversations, facts=60, budget=1000, **extra):
        """A pair (R@10, R@budget tokens) for each question with evidence but category 5."""
        jobs = []
        for conversation in conversations:
            space, content = space_name(conversation, self.prefix), content_words(conversation)
            jobs += [(space, q, content, facts, budget, extra) for q in conversation["questions"]
                     if q["evidence"] and str(q["category"]) != "5"]
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(self.score, jobs))
