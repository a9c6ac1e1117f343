"""What test_58 and test_59 share: a fake model server for each test, and a talk to ask it about."""
import http.client
import json
import unittest

import harness
from model_server import ModelServer

TALK = """<<<9c41d07e
[Mon 2023-05-08 13:56]
12 Caroline: Hey Mel! I adopted a spotted dog called Rex yesterday.
13 Melanie: Look:
  14 Caroline: no turn of its own
14 Rex (assistant): New subject: the boat. We bought a wooden boat at the lake.
15 Caroline: Fine.
16 Melanie: Correction: the boat is made of steel. Goodbye!
9c41d07e>>>
"""
KNOWN = "Known facts:\n3 (2023-05-01) Melanie said: the boat is made of pine wood\n" \
    "4 Rex (assistant) said: New subject: the boat. We bought a wooden boat at the lake.\n" \
    "\nDialogue:\n"
MEMORY = """<<<77
2023-05-08
Caroline: I adopted a dog [fact_12]
Melanie: The boat is red [fact_9, turn_4]
77>>>
Question: What colour has the boat?
"""
TOPICS = """<<<77
Episode of 2023-05-08: A wooden boat
Melanie bought a wooden boat at the lake.
Keywords: boat, lake
Topic 3, last on 2023-05-01: Dogs
Rex is a spotted dog.
Keywords: dog, Rex
Topic 5, last on 2023-05-01: Sailing
They want to sail a boat on the lake.
Keywords: boat, sail, lake
77>>>
"""
STRING, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
TRUTH = {"type": "boolean"}


def array(items):
    return {"type": "array", "items": items}


def thing(**properties):
    return {"type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False}


def role(*names):
    return {"type": "string", "enum": list(names)}


BOUNDARY = thing(cuts=array(WHOLE), should_wait=TRUTH)
DESCRIBE = thing(title=STRING, summary=STRING)
NEW = dict(title=STRING, summary=STRING, keywords=array(STRING), weight=NUMBER,
           role=role("background", "initiating", "developing"))
TOPIC = thing(topics=array(thing(id=NUMBER, **NEW)))
TOPIC_JOIN = thing(join=array(thing(topic=WHOLE, **NEW)), new=dict(
    thing(**NEW), type=["object", "null"]))
TOPIC_LIST = thing(join=array(thing(topic=WHOLE, **NEW)), new=array(thing(**NEW)))
FACTS = thing(facts=array(thing(
    content=STRING, potential=array(STRING), keywords=array(STRING), turns=array(NUMBER),
    time=thing(**{"from": STRING, "to": STRING, "text": STRING}), weight=NUMBER,
    role=role("core", "temporal"), same_as=NUMBER, supersedes=NUMBER)))


def fits(value, schema):
    """Whether a value is of a schema of the small kind."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None:
        return "null" in kinds
    if "enum" in schema:
        return value in schema["enum"]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    checks = {
        "object": lambda: isinstance(value, dict) and sorted(value) == sorted(schema["required"])
        and all(fits(value[name], part) for name, part in schema["properties"].items()),
        "array": lambda: isinstance(value, list) and all(fits(v, schema["items"]) for v in value),
        "string": lambda: isinstance(value, str), "number": lambda: number,
        "integer": lambda: number and isinstance(value, int),
        "boolean": lambda: isinstance(value, bool)}
    return checks[kinds[0]]()


def chat_body(user=TALK, schema=None, system="You do as you are told.", rung="strict", **more):
    body = {"model": "m", "messages": [{"role": "system", "content": system},
                                       {"role": "user", "content": user}]}
    if schema is not None and rung in ("strict", "schema"):
        body["response_format"] = {"type": "json_schema", "json_schema": {
            "name": "reply", "strict": rung == "strict", "schema": schema}}
    elif schema is not None and rung == "object":
        body["response_format"] = {"type": "json_object"}
        body["messages"][0]["content"] += " Reply with JSON of this schema: " + json.dumps(schema)
    body.update(more)
    return body


class FakeTest(unittest.TestCase):
    """A fake for each test; post() and friends talk to it without any client of ours."""

    tested = set()  # faults that some test looked at

    def setUp(self):
        self.fake = ModelServer()
        self.addCleanup(self.fake.close)

    def call(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.fake.port,
                                                timeout=20 * harness.SLOW)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            got = connection.getresponse()
            return harness.Reply(got.status, got.getheaders(), got.read(), method, path)
        finally:
            connection.close()

    def post(self, path, body, **headers):
        return self.call("POST", path, body, headers)

    def chat(self, *args, **kwargs):
        return self.post("/v1/chat/completions", chat_body(*args, **kwargs))

    def content(self, *args, **kwargs):
        return self.chat(*args, **kwargs).expect(200)["choices"][0]["message"]["content"]

    def embed(self, *texts, **more):
        return self.post("/v1/embeddings", dict({"model": "m", "input": list(texts)}, **more))

    def rerank(self, path="/v1/rerank", **body):
        return self.post(path, body)

    def use(self, name, **options):
        """Scripts one fault for the next request."""
        FakeTest.tested.add(name)
        self.fake.script(dict(options, do=name))

    def raw(self, path, body):
        """A socket on which the request was sent."""
        sock = harness.Raw(self.fake.port)
        self.addCleanup(sock.close)
        data = json.dumps(body).encode("utf-8")
        sock.send(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (
            path.encode("ascii"), len(data), data))
        return sock

    def raw_chat(self, **more):
        return self.raw("/v1/chat/completions", chat_body(schema=DESCRIBE, **more))

    def everything(self, sock):
        """All bytes until the fake closes."""
        while sock.more():
            pass
        return sock.have
