"""hypermemd against the real servers: doctor, the whole life of a few turns, a query, an answer.

A model of this size says little of worth, so nothing here judges what it says. What must hold is
what holds with any model: the replies pass the schema, what came out is a sound memory, the vectors
are there, and what was said is found."""
import json
import os
import re

import harness
import server

SETTLE_S = 2400
# Two subjects, half a day apart, so that the rules alone make two episodes; then one more turn.
TURNS = (
    ("Caroline", "2023-05-08T13:56:00+02:00",
     "I adopted a dog called Rex from the shelter in Hamburg yesterday."),
    ("Melanie", "2023-05-08T13:57:00+02:00", "How lovely! What kind of dog is he?"),
    ("Caroline", "2023-05-08T13:58:00+02:00",
     "A spotted one, three years old. He sleeps on my sofa."),
    ("Melanie", "2023-05-08T13:59:00+02:00", "My sister has a dog like that, a Dalmatian."),
    ("Melanie", "2023-05-09T09:00:00+02:00",
     "I sold my red sailing boat last week for 900 euros."),
    ("Caroline", "2023-05-09T09:01:00+02:00", "The one from the lake? What a pity."),
    ("Melanie", "2023-05-09T09:02:00+02:00",
     "It leaked, and I will buy a wooden canoe in June instead."),
)
QUESTIONS = (("What is the dog called?", "Rex"), ("When was the boat sold?", "boat"))


def environment(chat, embed, reranker):
    """Patience, because the model is slow where others use the cores as well."""
    return {
        "HYPERMEM_LLM_BASE_URL": chat.url, "HYPERMEM_LLM_MODEL": chat.name,
        "HYPERMEM_LLM_TEMPERATURE": "0.3", "HYPERMEM_LLM_MAX_TOKENS": "600",
        "HYPERMEM_LLM_TIMEOUT_MS": "600000", "HYPERMEM_LLM_IDLE_TIMEOUT_MS": "600000",
        "HYPERMEM_LLM_CONCURRENCY": "2", "HYPERMEM_LLM_PATIENCE_S": "60",
        "HYPERMEM_EMBED_BASE_URL": embed.url, "HYPERMEM_EMBED_MODEL": embed.name,
        "HYPERMEM_EMBED_TIMEOUT_MS": "300000", "HYPERMEM_EMBED_QUERY_DEADLINE_MS": "120000",
        "HYPERMEM_RERANK_BASE_URL": reranker.url, "HYPERMEM_RERANK_MODEL": reranker.name,
        "HYPERMEM_RERANK_CANDIDATES": "6", "HYPERMEM_RERANK_DEADLINE_MS": "300000",
    }


def run(report, chat, embed, reranker):
    if not os.access(harness.binary(), os.X_OK):
        report.check(the_daemon_is_built)
        return
    env = environment(chat, embed, reranker)
    report.check(doctor, env, (chat, embed, reranker))
    with harness.Daemon(env=env) as daemon:
        client = daemon.client(seconds=SETTLE_S)
        for function in (turns_in, episodes, topics, facts, the_model_made, jobs, vectors, a_query,
                         a_reranked_query, an_answer):
            report.check(function, client)
        report.check(a_clean_end, daemon)


def the_daemon_is_built():
    raise AssertionError("no binary at %s: run make first" % harness.binary())


def doctor(env, servers):
    """All endpoints are called; the rung, the dimension and the form are told."""
    done = harness.run("doctor", env=env, seconds=900)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    for one in servers:
        assert one.url in done.stdout, done.stdout
    dimension = len(server.vectors_of(servers[1], ["x"])[0])
    assert re.search(r"dimension +%d\b" % dimension, done.stdout), done.stdout
    assert re.search(r"output +json_schema strict", done.stdout), done.stdout
    print("      " + done.stdout.strip().replace("\n", "\n      "))


def turns_in(client):
    got = client.post("/v1/spaces/real/turns", {"turns": [
        {"id": "t%d" % i, "speaker": speaker, "timestamp": at, "text": text, "session": "s"}
        for i, (speaker, at, text) in enumerate(TURNS, 1)]}).expect(202)
    assert got["accepted"] == len(TURNS), got
    space = client.settle("real", seconds=SETTLE_S)
    assert space["pending_turns"] == 0 and space["processed_seq"] == space["seq"], space
    models = space["models"]
    assert [models[kind]["model"] for kind in ("chat", "embed", "rerank")] == [
        "chat", "embed", "rerank"], models
    return json.dumps(space["counts"])


def all_of(client, noun):
    return client.get("/v1/spaces/real/" + noun, limit=1000).expect(200)[noun]


def counted(records, what):
    told = sum(1 for one in records if not one["degraded"])
    return "%d %s, %d of them the model's" % (len(records), what, told)


def episodes(client):
    found = all_of(client, "episodes")
    ids = [turn for one in found for turn in one["turn_ids"]]
    assert sorted(ids) == sorted("t%d" % i for i in range(1, len(TURNS) + 1)), ids
    assert len(found) >= 2, found
    for one in found:
        assert one["title"].strip() and one["summary"].strip(), one
    for one in found:
        print("      %s: %s | %s" % (one["id"], one["title"], one["summary"][:150]))
    return counted(found, "episodes")


def topics(client):
    found = all_of(client, "topics")
    members = {episode for one in found for episode in one["episode_ids"]}
    assert members == {one["id"] for one in all_of(client, "episodes")}, members
    for one in found:
        assert one["title"].strip(), one
        print("      %s: %s | %s" % (one["id"], one["title"], ", ".join(one["keywords"])))
    return counted(found, "topics")


def facts(client):
    found = all_of(client, "facts")
    turns = {"t%d" % i for i in range(1, len(TURNS) + 1)}
    for one in found:
        assert one["content"].strip() and 0 <= one["weight"] <= 1, one
        assert one["turn_ids"] and set(one["turn_ids"]) <= turns, one
        print("      %s (%.2f, %s): %s" % (one["id"], one["weight"], ", ".join(one["turn_ids"]),
                                          one["content"][:150]))
    told = sum(1 for one in found if one["potential"])
    return "%d facts, %d of them with the model's questions" % (len(found), told)


def the_model_made(client):
    """A model of this size often fails, and then its records are built in and say so. That all of
    them are would be a fault of ours."""
    told = {noun: sum(1 for one in all_of(client, noun) if not one["degraded"])
            for noun in ("episodes", "topics")}
    assert told["episodes"] and told["topics"], "none is the model's: %s" % told
    passed = re.findall(
        r'^hypermem_llm_requests_total\{purpose="(\w+)",outcome="ok"\} ([1-9]\d*)$',
        client.get("/metrics").text, re.M)
    assert {"describe", "topic"} <= {purpose for purpose, _ in passed}, passed
    return "%s; calls that passed: %s" % (told, ", ".join("%s %s" % pair for pair in passed))


def jobs(client):
    """What it cost stands in the jobs."""
    found = client.get("/v1/spaces/real/jobs").expect(200)["jobs"]
    usage = [one["usage"] for one in found if one.get("usage")]
    calls = sum(one["calls"] for one in usage)
    spent = sum(one["tokens_in"] + one["tokens_out"] for one in usage)
    assert calls and spent, found
    return "%d jobs, %d calls, %d tokens" % (len(found), calls, spent)


def vectors(client):
    """All have come, and a query that shares no word with what was said finds by them."""
    def ready():
        space = client.get("/v1/spaces/real").expect(200)
        there = space["vectors"]
        return space if there["state"] == "active" and there["behind"] == 0 else None
    space = harness.wait_until(ready, SETTLE_S, "the vectors of the space")

    def plain():
        got = client.get("/v1/spaces/real/query", q="pet", rerank="off", explain=True).expect(200)
        return got if got["degraded"] == [] else None
    got = harness.wait_until(plain, SETTLE_S, "a query without degradation")
    assert "vector" in got["explain"]["stages"]["facts"][0]["signals"], got["explain"]
    return json.dumps(space["vectors"])


def a_query(client):
    for question, word in QUESTIONS:
        got = client.get("/v1/spaces/real/query", q=question, rerank="off").expect(200)
        assert got["degraded"] == [], got["degraded"]
        assert got["facts"] and got["episodes"] and got["topics"], got
        assert word in got["context"]["text"], got["context"]
        assert word in " ".join(one["content"] for one in got["facts"]), got["facts"]
    return "timings %s" % json.dumps(got["timings_ms"])


def a_reranked_query(client):
    """With these weights the order means nothing; the scores are there all the same."""
    got = client.get("/v1/spaces/real/query", q=QUESTIONS[0][0], rerank="on").expect(200)
    assert got["degraded"] == [], got["degraded"]
    assert got["facts"], got
    return "timings %s" % json.dumps(got["timings_ms"])


def an_answer(client):
    got = client.post("/v1/spaces/real/answer", {"question": QUESTIONS[0][0]}).expect(200)
    assert got["answer"].strip(), got
    known = {one["id"] for one in all_of(client, "facts")} | {"t%d" % i for i in range(1, 8)}
    assert {one["id"] for one in got["citations"]} <= known, got
    assert got["usage"]["calls"] >= 1, got
    return repr(got["answer"][:200])


def a_clean_end(daemon):
    assert daemon.stop() == 0, "the daemon ended badly"
    done = harness.run("fsck", "--data-dir", daemon.data_dir)
    assert done.returncode == 0, done.stdout + done.stderr
