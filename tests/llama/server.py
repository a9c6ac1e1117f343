"""Checks of llama-server by itself: what hypermem needs of it, without hypermem."""
import base64
import json
import math
import struct
import time
import urllib.error
import urllib.request

CALL_S = 300
TALK = """[Mon 2023-05-08 13:56]
1 Caroline: I adopted a dog called Rex from the shelter in Hamburg yesterday.
2 Melanie: How lovely! What kind of dog is he?
3 Caroline: A spotted one, three years old. He sleeps on my sofa.
4 Melanie: I sold my red sailing boat last week, by the way, for 900 euros.
5 Caroline: The one from the lake? What a pity.
"""
STRING, NUMBER = {"type": "string"}, {"type": "number"}


def array(items):
    return {"type": "array", "items": items}


def thing(**properties):
    return {"type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False}


QUESTIONS = {
    "boundary": (thing(cuts=array(NUMBER), should_wait={"type": "boolean"}),
                 "Divide the conversation into episodes. cuts: numbers of the turns behind which a "
                 "new subject begins. should_wait: true if too little was said to tell."),
    "describe": (thing(title=STRING, summary=STRING),
                 "Describe the conversation. title: a few words. summary: one sentence."),
    "facts": (thing(facts=array(thing(
        content=STRING, keywords=array(STRING), turns=array(NUMBER), weight=NUMBER,
        role={"type": "string", "enum": ["core", "detail"]}))),
              "List at most two facts that the conversation states. content: one short sentence. "
              "keywords: up to three words. turns: numbers of the turns. weight: 0 to 1."),
}


class NotHere(Exception):
    """This build or model can't do it."""


def open_url(url, body=None, timeout=CALL_S):
    """Never through a proxy: the servers are on this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    data = None if body is None else json.dumps(body).encode("utf-8")
    return opener.open(urllib.request.Request(url, data, {"Content-Type": "application/json"}),
                       timeout=timeout)


def post(url, body):
    """The reply's JSON; AssertionError with the body of a refusal."""
    try:
        with open_url(url, body) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        raise AssertionError("%s -> %d %s" % (
            url, error.code, error.read().decode("utf-8", "replace")[:500])) from None


def fits(value, schema):
    """Whether a value is of a schema of the small kind."""
    kind = schema["type"]
    if "enum" in schema:
        return value in schema["enum"]
    if kind == "object":
        return isinstance(value, dict) and sorted(value) == sorted(schema["required"]) and all(
            fits(value[name], part) for name, part in schema["properties"].items())
    if kind == "array":
        return isinstance(value, list) and all(fits(one, schema["items"]) for one in value)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str)


def ask(chat, system, schema=None, **more):
    body = {"model": "chat", "max_tokens": 600, "messages": [
        {"role": "system", "content": system}, {"role": "user", "content": TALK}]}
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {
            "name": "reply", "strict": True, "schema": schema}}
    body.update(more)
    return post(chat.url + "/chat/completions", body)


def the_model_list(chat, *_):
    with open_url(chat.url + "/models") as reply:
        names = [one["id"] for one in json.load(reply)["data"]]
    assert names == ["chat"], names


def json_schema_strict(chat, *_):
    """Each question's reply is JSON of the schema. Notes the speed."""
    notes = []
    for name, (schema, system) in QUESTIONS.items():
        start = time.monotonic()
        reply = ask(chat, system + " Reply with JSON.", schema)
        took = time.monotonic() - start
        choice = reply["choices"][0]
        assert choice["finish_reason"] == "stop", reply
        value = json.loads(choice["message"]["content"])
        assert fits(value, schema), value
        made = reply["usage"]["completion_tokens"]
        notes.append("%s %d tokens %.1f s" % (name, made, took))
        print("      %s: %s" % (name, json.dumps(value, ensure_ascii=False)[:300]))
    return ", ".join(notes)


def json_object(chat, *_):
    """The rung is taken and makes an object; whether it comes to an end is the model's."""
    schema, system = QUESTIONS["describe"]
    reply = ask(chat, "%s Reply with JSON of this schema: %s" % (system, json.dumps(schema)),
                response_format={"type": "json_object"}, max_tokens=200)
    choice = reply["choices"][0]
    text = choice["message"]["content"].strip()
    assert text.startswith("{"), reply
    if choice["finish_reason"] == "stop":
        assert isinstance(json.loads(text), dict), reply
    return "finish_reason " + choice["finish_reason"]


def plain_text(chat, *_):
    reply = ask(chat, "Answer in one sentence: what is the dog called?", max_tokens=60)
    text = reply["choices"][0]["message"]["content"]
    assert isinstance(text, str) and text.strip(), reply
    return repr(text[:80])


def stream_of_events(chat, *_):
    body = {"model": "chat", "stream": True, "stream_options": {"include_usage": True},
            "max_tokens": 40, "messages": [{"role": "user", "content": "Count to five."}]}
    pieces, usage, done = [], None, False
    with open_url(chat.url + "/chat/completions", body) as reply:
        assert reply.headers.get_content_type() == "text/event-stream", reply.headers
        for line in reply:
            text = line.decode("utf-8").strip()
            if text == "data: [DONE]":
                done = True
            elif text.startswith("data: "):
                event = json.loads(text[6:])
                usage = event.get("usage") or usage
                for choice in event["choices"]:
                    pieces.append(choice["delta"].get("content") or "")
    assert done and usage and "".join(pieces).strip(), (pieces, usage, done)
    return "%d pieces, usage %r" % (len(pieces), usage["completion_tokens"])


def vectors_of(embed, texts, **more):
    reply = post(embed.url + "/embeddings", dict({"model": "embed", "input": texts}, **more))
    assert [row["index"] for row in reply["data"]] == list(range(len(texts))), reply
    return [row["embedding"] for row in reply["data"]]


def cosine(left, right):
    return sum(a * b for a, b in zip(left, right)) / math.sqrt(
        sum(a * a for a in left) * sum(b * b for b in right))


def embeddings(_, embed, __):
    """One dimension, unit length, batch equals single, base64 equals numbers."""
    texts = ["A dog called Rex.", "The red sailing boat was sold.", "Ein Hund namens Rex. 🐕"]
    batch = vectors_of(embed, texts, encoding_format="float")
    assert len({len(vector) for vector in batch}) == 1, [len(v) for v in batch]
    for text, vector in zip(texts, batch):
        assert all(math.isfinite(x) for x in vector)
        assert abs(sum(x * x for x in vector) - 1.0) < 1e-3, sum(x * x for x in vector)
        single = vectors_of(embed, [text])[0]
        assert cosine(vector, single) > 0.999, cosine(vector, single)
    packed = vectors_of(embed, texts[:1], encoding_format="base64")[0]
    values = struct.unpack("<%df" % len(batch[0]), base64.b64decode(packed))
    assert cosine(values, batch[0]) > 0.999
    start = time.monotonic()
    vectors_of(embed, [TALK[:200] + str(i) for i in range(16)])
    return "dimension %d, 16 texts of 200 characters in %.2f s" % (
        len(batch[0]), time.monotonic() - start)


def rerank(_, __, reranker):
    """The form of a reply; these weights are no reranker's, so its order means nothing."""
    try:
        reply = post(reranker.url + "/rerank", {
            "model": "rerank", "query": "What is the dog called?",
            "documents": ["A dog called Rex.", "The boat was sold."]})
    except AssertionError as error:
        raise NotHere("not with these weights: %s" % error) from None
    scores = {row["index"]: row["relevance_score"] for row in reply["results"]}
    assert sorted(scores) == [0, 1], reply
    assert all(isinstance(score, float) and math.isfinite(score) for score in scores.values())
    return "raw scores %s" % scores


CHECKS = (the_model_list, json_schema_strict, json_object, plain_text, stream_of_events, embeddings,
          rerank)
