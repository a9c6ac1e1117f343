"""How the fake model server misbehaves: one small function a fault, by name, in one table.

A reply is made in stages, each with its own material on the Work, and a fault belongs to one:

    content   work.content: the text of a chat message
    message   work.message: {"role", "content", ...}
    choice    work.choice: {"index", "message", "finish_reason"}
    rows      work.rows: [{"object", "index", "embedding"}] of an embedding, before their encoding
    scores    work.scores: [(index, score)] of a rerank, best first
    data      work.data: the reply's JSON
    raw       work.raw: its bytes
    wire      work.wire: how they are sent (WIRE below)
    refuse    instead of all that: work.status, work.headers, work.raw

A rule of the script names one or several ({"do": ["fences", "slow"]}); their options stand beside
that in the rule and are named in the first line of each function's text.
"""
import base64
import email.utils
import json
import math
import struct
import time

STAGES = ("refuse", "content", "message", "choice", "rows", "scores", "data", "raw", "wire")
FAULTS = {}

# What a `wire` fault may set.
WIRE = {
    "delay_s": 0.0,       # before the first byte
    "hang": False,        # no byte ever
    "close": False,       # the connection is closed instead of a reply
    "cut_at": None,       # closed after so many bytes of the body
    "cut_head": False,    # closed in the middle of the head
    "reset": False,       # with a TCP reset where it would be closed
    "piece": 0,           # the body in pieces of so many bytes
    "pause_s": 0.0,       # between two pieces or events
    "gzip": False, "chunked": False, "until_close": False, "last": False, "length": None,
    "cut_events": None,   # a stream is closed after so many events
    "stall_events": None,  # a stream says nothing more after so many events
    "error_event": None,  # an event with an error object after so many
    "no_done": False, "no_stream": False, "stream_usage": True, "crlf": False, "comments": False,
    "reasoning_events": 0, "split": 0,
}

HTML = ("<!DOCTYPE html>\n<html><head><title>%d %s</title></head>\n<body><center><h1>%d %s</h1>"
        "</center><hr><center>gateway</center></body></html>\n")
REASONS = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           408: "Request Timeout", 413: "Payload Too Large", 422: "Unprocessable Entity",
           424: "Failed Dependency", 429: "Too Many Requests", 500: "Internal Server Error",
           502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
           529: "Overloaded", 200: "OK", 302: "Found"}


def fault(stage):
    assert stage in STAGES

    def keep(function):
        name = function.__name__.rstrip("_")
        assert name not in FAULTS
        FAULTS[name] = (stage, function)
        return function
    return keep


def error_body(message, kind="invalid_request_error", param=None, code=None):
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


# ---- Refusals ------------------------------------------------------------------------------------

def refuse(work, status, body, headers=()):
    """`body`: an object as JSON, a string as text or HTML."""
    work.status = status
    if isinstance(body, str):
        page = body.lstrip().startswith("<")
        work.type = "text/html" if page else "text/plain"
        work.raw = body.encode("utf-8")
    else:
        work.raw = json.dumps(body).encode("utf-8")
    work.headers += list(headers)
    work.refused = True


# The error that a status usually comes with.
USUAL = {
    401: ("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    403: ("You are not allowed to use this model.", "permission_error", "forbidden"),
    404: ("The model does not exist or you do not have access to it.", "invalid_request_error",
          "model_not_found"),
    408: ("The request took too long.", "timeout", "request_timeout"),
    413: ("Request too large.", "invalid_request_error", "request_too_large"),
    422: ("Unprocessable.", "invalid_request_error", None),
    429: ("Rate limit reached for requests.", "requests", "rate_limit_exceeded"),
    500: ("The server had an error while processing your request.", "server_error", None),
    503: ("The engine is currently overloaded.", "server_error", "overloaded"),
    529: ("Overloaded", "overloaded_error", None),
}


def retry_after(rule):
    """Options: retry_after (seconds, a number or "date": then in retry_after_s), retry_after_ms."""
    headers = []
    value = rule.get("retry_after")
    if value == "date":
        value = email.utils.formatdate(time.time() + rule.get("retry_after_s", 2), usegmt=True)
    if value is not None:
        headers.append(("Retry-After", str(value)))
    if rule.get("retry_after_ms") is not None:
        headers.append(("retry-after-ms", str(rule["retry_after_ms"])))
    return headers


@fault("refuse")
def status(work, rule):
    """Options: status, message, param, code, body (sent as it is), retry_after, retry_after_s,
    retry_after_ms."""
    number = rule.get("status", 500)
    body = rule.get("body")
    if body is None:
        message, kind, code = USUAL.get(number, ("Something went wrong.", "server_error", None))
        body = error_body(rule.get("message", message), kind, rule.get("param"),
                          rule.get("code", code))
    refuse(work, number, body, retry_after(rule))


@fault("refuse")
def quota(work, rule):
    """429, and nothing more until somebody pays. Options: retry_after."""
    refuse(work, 429, error_body(
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota", None, "insufficient_quota"), retry_after(rule))


@fault("refuse")
def html(work, rule):
    """A gateway's page. Options: status (502), also 200."""
    number = rule.get("status", 502)
    name = REASONS.get(number, "Error")
    refuse(work, number, HTML % (number, name, number, name), retry_after(rule))


@fault("refuse")
def unsupported(work, rule):
    """A parameter is refused. Options: param, status (400), style (PARAMETER_STYLES)."""
    param, number = rule.get("param", "max_tokens"), rule.get("status", 400)
    refuse(work, number, PARAMETER_STYLES[rule.get("style") or "openai"](param))


def openai_style(param):
    hint = " Use 'max_completion_tokens' instead." if param == "max_tokens" else ""
    if param == "temperature":
        return value_style(param)
    return error_body("Unsupported parameter: '%s' is not supported with this model.%s" % (
        param, hint), param=param, code="unsupported_parameter")


def value_style(param):
    return error_body("Unsupported value: '%s' does not support the value given with this model. "
                      "Only the default value is supported." % param, param=param,
                      code="unsupported_value")


PARAMETER_STYLES = {
    "openai": openai_style,
    "value": value_style,
    "pydantic": lambda param: {"detail": [{
        "type": "extra_forbidden", "loc": ["body", param], "input": 1,
        "msg": "Extra inputs are not permitted"}]},
    "text": lambda param: "unknown field `%s`\n" % param,
}


@fault("refuse")
def context_length(work, rule):
    """The input is too long. Options: limit (4096), status (400), style: openai, llama."""
    limit, asked = rule.get("limit", 4096), work.request.tokens_in
    if rule.get("style") == "llama":
        body = {"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": limit,
                          "message": "the request exceeds the available context size, "
                          "try increasing it", "n_prompt_tokens": asked}}
    else:
        body = error_body(
            "This model's maximum context length is %d tokens. However, your messages resulted in "
            "%d tokens. Please reduce the length of the messages." % (limit, asked),
            param="messages", code="context_length_exceeded")
    refuse(work, rule.get("status", 400), body)


@fault("refuse")
def redirect(work, rule):
    """302 to another place. Options: location."""
    refuse(work, 302, "", [("Location", rule.get("location", "/elsewhere"))])


# ---- Chat: the text ------------------------------------------------------------------------------

@fault("content")
def think_closed(work, _):
    work.content = "<think>\nDo they want {\"cuts\": [1]}? Let me see.\n</think>\n\n" + work.content


@fault("content")
def think_open(work, _):
    """A think block that never ends: there is no answer behind it."""
    work.content = "<think>\nThe user wants JSON. Perhaps {\"cuts\": [1]}, perhaps"


@fault("content")
def think_end(work, _):
    """Only the end of a block: the template had opened it."""
    work.content = "I should write JSON, such as {\"a\": 1}.\n</think>\n" + work.content


@fault("content")
def fences(work, _):
    work.content = "```json\n" + work.content + "\n```"


@fault("content")
def around(work, _):
    work.content = "Sure! Here is the JSON:\n\n" + work.content + "\n\nLet me know if {it} helps."


@fault("content")
def trailing_commas(work, _):
    work.content = work.content.replace("]", ",]").replace("}", ",}").replace("[,]", "[]") \
        .replace("{,}", "{}")


@fault("content")
def truncated(work, rule):
    """The end is missing, finish_reason says stop. Options: keep (0.7 of the characters)."""
    work.content = work.content[:int(len(work.content) * rule.get("keep", 0.7))]


@fault("content")
def bad_escape(work, _):
    """An escape that JSON does not have, in the first string value."""
    work.content = work.content.replace(": \"", ": \"C:\\drive \\u12 ", 1)


@fault("content")
def bare(work, _):
    """An array or object in place of the object that holds it."""
    value = parsed(work)
    if isinstance(value, dict) and len(value) == 1:
        work.content = json.dumps(next(iter(value.values())))


@fault("content")
def echo_schema(work, _):
    work.content = json.dumps(work.question.schema or {"type": "object", "properties": {}})


@fault("content")
def empty(work, _):
    work.content = ""


@fault("content")
def empty_object(work, _):
    work.content = "{}"


@fault("content")
def not_json(work, _):
    work.content = "I'm sorry, but I can't help with that."


def parsed(work):
    try:
        return json.loads(work.content)
    except ValueError:
        return None


def each_scalar(value, change):
    """The value with change(name, scalar) in place of each scalar."""
    def walk(node, name):
        if isinstance(node, dict):
            return {key: walk(one, key) for key, one in node.items()}
        if isinstance(node, list):
            return [walk(one, name) for one in node]
        return change(name, node)
    return walk(value, "")


def reworked(change):
    def apply(work, rule):
        value = parsed(work)
        if value is not None:
            work.content = json.dumps(each_scalar(value, lambda n, v: change(n, v, rule)))
    return apply


def number_like(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@fault("content")
def wrong_types(work, _):
    """Numbers as strings, strings as numbers, booleans as words."""
    def change(_, value, __):
        if isinstance(value, bool):
            return "yes" if value else "no"
        return str(value) if number_like(value) else 7 if isinstance(value, str) else value
    reworked(change)(work, {})


@fault("content")
def strings(work, _):
    """Numbers as strings; all else as it is."""
    reworked(lambda _, value, __: str(value) if number_like(value) else value)(work, {})


@fault("content")
def unknown_ids(work, rule):
    """Whole numbers become ones that were never sent. Options: id (99999)."""
    def change(_, value, options):
        whole = number_like(value) and float(value).is_integer() and value != 0
        return options.get("id", 99999) if whole else value
    reworked(change)(work, rule)


# Values that a rule names, because JSON has no word for some of them.
NAMED = {"nan": math.nan, "inf": math.inf, "null": None, "string": "0.5"}


@fault("content")
def weights(work, rule):
    """Options: weight: any value; "nan", "inf", "null" and "string" have names."""
    value = rule.get("weight", 1e300)
    value = NAMED.get(value, value) if isinstance(value, str) else value
    reworked(lambda name, old, _: value if name == "weight" else old)(work, rule)


@fault("content")
def long_texts(work, rule):
    """Strings become very long. Options: factor (100)."""
    reworked(lambda _, value, options: value * options.get("factor", 100)
             if isinstance(value, str) else value)(work, rule)


@fault("content")
def nulls(work, _):
    """Every scalar is null."""
    reworked(lambda _, __, ___: None)(work, {})


# ---- Chat: the message and its choice ------------------------------------------------------------

@fault("message")
def reasoning(work, rule):
    """reasoning_content beside the content. Options: field."""
    work.message[rule.get("field", "reasoning_content")] = "Let me think: {\"cuts\": [1]}."


@fault("message")
def reasoning_only(work, rule):
    """reasoning_content and null content; finish_reason length. Options: field."""
    work.message.update({"content": None, rule.get("field", "reasoning_content"): "Let me think."})
    work.finish = "length"


@fault("message")
def null_content(work, _):
    work.message["content"] = None


@fault("message")
def parts(work, _):
    """The content as an array of parts."""
    text = work.message["content"] or ""
    half = len(text) // 2
    work.message["content"] = [{"type": "text", "text": text[:half]},
                               {"type": "text", "text": text[half:]}]


@fault("message")
def tool_calls(work, _):
    """The answer in the arguments of a tool's call."""
    text = work.message["content"]
    work.message.update({"content": None, "tool_calls": [{
        "id": "call_1", "type": "function",
        "function": {"name": "reply", "arguments": text}}]})
    work.finish = "tool_calls"


@fault("message")
def refusal(work, _):
    work.message.update({"content": None, "refusal": "I'm sorry, I can't assist with that."})


@fault("choice")
def length(work, rule):
    """The text is cut, finish_reason length. Options: keep (0.5)."""
    text = work.message["content"] or ""
    if isinstance(text, str):
        work.message["content"] = text[:int(len(text) * rule.get("keep", 0.5))]
    work.finish = "length"


@fault("choice")
def content_filter(work, _):
    work.message["content"] = ""
    work.finish = "content_filter"


@fault("choice")
def finish_null(work, _):
    work.finish = None


# ---- Embeddings and rerank -----------------------------------------------------------------------

@fault("rows")
def reversed_order(work, _):
    work.rows.reverse()


@fault("rows")
def missing_row(work, _):
    """The last item is left out."""
    work.rows.pop()


@fault("rows")
def extra_row(work, _):
    work.rows.append(dict(work.rows[-1], index=len(work.rows)))


@fault("rows")
def same_index(work, _):
    """All have the index 0."""
    for row in work.rows:
        row["index"] = 0


@fault("rows")
def no_index(work, _):
    for row in work.rows:
        row.pop("index", None)


@fault("rows")
def no_rows(work, _):
    work.rows.clear()


@fault("rows")
def other_dimension(work, rule):
    """Options: dimension (one less), row (all; else only that one)."""
    for i, row in enumerate(work.rows):
        if rule.get("row") in (None, i):
            have = row["embedding"]
            want = rule.get("dimension", len(have) - 1)
            row["embedding"] = (have * (want // max(1, len(have)) + 1))[:want]


@fault("rows")
def vector_values(work, rule):
    """Values become another. Options: value (0; "nan", "inf", "null", "string"), row, at (all)."""
    value = rule.get("value", 0.0)
    value = NAMED[value] if isinstance(value, str) else value
    for i, row in enumerate(work.rows):
        if rule.get("row") in (None, i):
            row["embedding"] = [value if rule.get("at") in (None, j) else old
                                for j, old in enumerate(row["embedding"])]


@fault("rows")
def encoding(work, rule):
    """Options: encoding: float, base64, opposite, odd (base64 of a byte too many)."""
    work.encoding = rule.get("encoding", "opposite")


def encode_row(values, form):
    if form == "float":
        return values
    packed = struct.pack("<%df" % len(values), *[0.0 if v is None else float(v) for v in values])
    return base64.b64encode(packed + (b"x" if form == "odd" else b"")).decode("ascii")


@fault("scores")
def logits(work, _):
    """Raw logits, negative and above 1."""
    work.scores = [(index, round(16.0 * (score - 0.4), 6)) for index, score in work.scores]


@fault("scores")
def missing_scores(work, rule):
    """Options: n (1): so many of the worst are left out."""
    del work.scores[len(work.scores) - rule.get("n", 1):]


@fault("scores")
def unsorted(work, _):
    """In the order of the documents."""
    work.scores.sort()


@fault("scores")
def repeated_score(work, _):
    work.scores.append(work.scores[0])


@fault("scores")
def unknown_index(work, rule):
    """Options: index (one beyond the last)."""
    work.scores.append((rule.get("index", len(work.request.texts)), 0.99))


@fault("scores")
def score_values(work, rule):
    """Options: value ("nan", "inf", "null", "string", or a number)."""
    value = rule.get("value", "nan")
    value = NAMED[value] if isinstance(value, str) else value
    work.scores = [(index, value) for index, _ in work.scores]


# ---- Any reply -----------------------------------------------------------------------------------

@fault("data")
def error_in_200(work, rule):
    """An error object with status 200. Options: message, code."""
    work.data = error_body(rule.get("message", "Provider returned error"), "provider_error", None,
                           rule.get("code", 502))


@fault("data")
def empty_choices(work, _):
    work.data["choices"] = []


@fault("data")
def no_choices(work, _):
    work.data.pop("choices", None)


@fault("data")
def no_usage(work, _):
    work.data.pop("usage", None)


@fault("data")
def odd_usage(work, _):
    """Counts that are none."""
    work.data["usage"] = {"prompt_tokens": -5, "completion_tokens": "many", "total_tokens": None}


@fault("data")
def not_an_object(work, _):
    work.data = "done"


@fault("raw")
def invalid_utf8(work, _):
    """A byte that no UTF-8 has, in the middle of the first long string."""
    at = work.raw.rfind(b"\\\": ") if b"\\\": " in work.raw else work.raw.find(b"\": \"")
    at = work.raw.find(b" ", at + 4) if at >= 0 else len(work.raw) // 2
    work.raw = work.raw[:at] + b"\xff\xfe" + work.raw[at:]


@fault("raw")
def cut_json(work, rule):
    """The body of the reply ends early, with a matching Content-Length. Options: keep (0.6)."""
    work.raw = work.raw[:int(len(work.raw) * rule.get("keep", 0.6))]


@fault("raw")
def huge(work, rule):
    """White space up to so many bytes. Options: bytes (5 MB)."""
    work.raw += b" " * max(0, rule.get("bytes", 5 << 20) - len(work.raw))


@fault("raw")
def no_body(work, _):
    work.raw = b""


@fault("raw")
def with_bom(work, _):
    work.raw = b"\xef\xbb\xbf" + work.raw


# ---- The wire ------------------------------------------------------------------------------------

def wire_fault(name, text, **values):
    """A fault that sets fields of WIRE; an option of the rule with a field's name goes before."""
    assert not set(values) - set(WIRE)

    def apply(work, _):
        work.wire.update(values)
    apply.__name__, apply.__doc__ = name, text
    fault("wire")(apply)


wire_fault("slow", "A late reply. Options: delay_s.", delay_s=0.3)
wire_fault("hang", "Never a byte.", hang=True)
wire_fault("close", "The connection is closed instead of a reply.", close=True)
wire_fault("reset", "And with a TCP reset.", close=True, reset=True)
wire_fault("close_in_head", "Closed in the middle of the head.", cut_head=True)
wire_fault("close_in_body", "Closed in the body. Options: cut_at (20).", cut_at=20)
wire_fault("dribble", "In small pieces. Options: piece, pause_s.", piece=16, pause_s=0.01)
wire_fault("gzip", "Content-Encoding: gzip, asked for or not.", gzip=True)
wire_fault("chunked", "Transfer-Encoding: chunked. Options: piece.", chunked=True, piece=64)
wire_fault("until_close", "No length: the end of the connection ends the body.", until_close=True)
wire_fault("last", "Connection: close.", last=True)
wire_fault("stream_cut", "The stream breaks off. Options: cut_events (2).", cut_events=2)
wire_fault("stream_stall", "The stream stands still. Options: stall_events (2).", stall_events=2)
wire_fault("stream_error", "An error event. Options: error_event (2).", error_event=2)
wire_fault("stream_no_done", "The stream ends without [DONE].", no_done=True)
wire_fault("stream_no_usage", "No usage, though it was asked for.", stream_usage=False)
wire_fault("stream_ignored", "Plain JSON, though a stream was asked for.", no_stream=True)
wire_fault("stream_crlf", "Lines end in CR LF.", crlf=True)
wire_fault("stream_comments", "Comments between the events.", comments=True)
wire_fault("stream_reasoning", "reasoning_content first. Options: reasoning_events (3).",
           reasoning_events=3)
wire_fault("stream_split", "Pieces that end anywhere. Options: split (7 bytes).", split=7)


def apply_stage(work, stage):
    """The faults of the rule that belong to the stage, in the rule's order."""
    if work.rule is None:
        return
    for name in work.rule.faults:
        if FAULTS[name][0] == stage:
            FAULTS[name][1](work, work.rule.options)
    if stage == "wire":
        for name in WIRE:
            if name in work.rule.options:
                work.wire[name] = work.rule.options[name]
