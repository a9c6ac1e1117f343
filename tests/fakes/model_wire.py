"""Bytes and wire formats of the fake model server: HTTP/1.1, events of a stream, rerank forms."""
import gzip
import json
import re

import model_faults as faults

# ---- HTTP ----------------------------------------------------------------------------------------

HEAD_MAX = 1 << 20


class BadRequest(Exception):
    pass


class Parser:
    """Bytes in, requests out."""

    def __init__(self):
        self.have = bytearray()
        self.continued = False

    def feed(self, data):
        self.have += data

    def head_end(self):
        at = self.have.find(b"\r\n\r\n")
        if at < 0 and len(self.have) > HEAD_MAX:
            raise BadRequest("an endless head")
        return at

    def split(self, end):
        lines = bytes(self.have[:end]).decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise BadRequest(lines[0][:200])
        headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]
        if any(len(pair) != 2 for pair in headers):
            raise BadRequest("a header without a colon")
        return words[0], words[1], headers

    def wants_continue(self):
        """Once for a head that expects it and has no body yet."""
        end = self.head_end()
        if end < 0 or self.continued or len(self.have) > end + 4:
            return False
        head = bytes(self.have[:end]).lower()
        self.continued = re.search(rb"\r\nexpect:\s*100-continue", head) is not None
        return self.continued

    def next_request(self):
        """(method, target, headers, body), or None until more has come."""
        end = self.head_end()
        if end < 0:
            return None
        method, target, headers = self.split(end)
        fields = {name.lower(): value for name, value in headers}
        if "chunked" in fields.get("transfer-encoding", "").lower():
            body, used = self.chunks(end + 4)
        else:
            used = end + 4 + int(fields.get("content-length") or 0)
            body = bytes(self.have[end + 4:used]) if len(self.have) >= used else None
        if body is None:
            return None
        del self.have[:used]
        self.continued = False
        return method, target, headers, body

    def chunks(self, at):
        out = bytearray()
        while True:
            line = self.have.find(b"\r\n", at)
            if line < 0:
                return None, 0
            size = int(bytes(self.have[at:line]).split(b";")[0], 16)
            if len(self.have) < line + 2 + size + 2:
                return None, 0
            out += self.have[line + 2:line + 2 + size]
            at = line + 2 + size + 2
            if size == 0:
                return bytes(out), at


def path_of(target):
    """Without scheme and host, which a client that takes us for a proxy sends."""
    found = re.match(r"^https?://[^/]*(/.*)?$", target)
    return (found.group(1) or "/") if found else target


def head(status, headers):
    lines = ["HTTP/1.1 %d %s" % (status, faults.REASONS.get(status, "Status"))]
    lines += ["%s: %s" % pair for pair in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


STALL, CUT = object(), object()


def rendered(work):
    """(head, pieces of the body); STALL and CUT stand where nothing more comes."""
    how = work.wire
    headers = [("Content-Type", work.type)] + work.headers
    body = work.raw if work.events is None else b"".join(work.events)
    pieces = work.events if work.events is not None else [body]
    if how["gzip"]:
        headers.append(("Content-Encoding", "gzip"))
        body = gzip.compress(body, mtime=0)
        pieces = [body]
    size = how["split"] or how["piece"]
    if size:
        pieces = [body[i:i + size] for i in range(0, len(body), size)]
    if work.events is not None or how["chunked"]:
        headers.append(("Transfer-Encoding", "chunked"))
        pieces = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece]
        pieces.append(b"0\r\n\r\n")
    elif not how["until_close"]:
        length = len(body) if how["length"] is None else how["length"]
        headers.append(("Content-Length", str(length)))
    if how["until_close"] or how["last"]:
        headers.append(("Connection", "close"))
    return head(work.status, headers), ended_early(pieces, how)


def ended_early(pieces, how):
    if how["stall_events"] is not None:
        return pieces[:how["stall_events"]] + [STALL]
    if how["cut_events"] is not None:
        return pieces[:how["cut_events"]] + [CUT]
    if how["cut_at"] is not None:
        return [b"".join(pieces)[:how["cut_at"]], CUT]
    return pieces


# ---- A stream of events --------------------------------------------------------------------------

def events_of(work):
    """The chat reply of work.data as events; each one piece of the body."""
    how, choice = work.wire, (work.data.get("choices") or [None])[0] \
        if isinstance(work.data, dict) else None
    if choice is None:
        return [event(work, work.data), event(work, None)]
    base = {name: work.data[name] for name in ("id", "created", "model")}
    base["object"] = "chat.completion.chunk"
    message, size = choice["message"], work.settings["event_chars"]

    def chunk(delta, finish=None):
        return event(work, dict(base, choices=[{"index": 0, "delta": delta,
                                                "finish_reason": finish}]))
    out = [chunk({"role": "assistant", "content": ""})]
    out += [chunk({"reasoning_content": "Thinking. "})] * how["reasoning_events"]
    if isinstance(message.get("content"), list):
        out += [chunk({"content": [part]}) for part in message["content"]]
    else:
        text = message.get("content") or ""
        out += [chunk({"content": text[i:i + size]}) for i in range(0, len(text), size)]
    if message.get("tool_calls"):
        out.append(chunk({"tool_calls": [dict(message["tool_calls"][0], index=0)]}))
    out.append(chunk({}, choice["finish_reason"]))
    asked = work.request.body.get("stream_options")
    if isinstance(asked, dict) and asked.get("include_usage") and how["stream_usage"] \
            and "usage" in work.data:
        out.append(event(work, dict(base, choices=[], usage=work.data["usage"])))
    if how["error_event"] is not None:
        return out[:how["error_event"]] + [event(work, faults.error_body(
            "The server had an error.", "server_error"))]
    return out if how["no_done"] else out + [event(work, None)]


def event(work, value):
    """One event; None is the end's."""
    line = "\r\n" if work.wire["crlf"] else "\n"
    text = "[DONE]" if value is None else json.dumps(value, ensure_ascii=False)
    note = ": keep-alive" + 2 * line if work.wire["comments"] else ""
    return (note + "data: " + text + 2 * line).encode("utf-8")


# ---- Paths ---------------------------------------------------------------------------------------

RERANK_ENDS = re.compile(r"(/rerank|/reranking|/reranks|/text-rerank|/inference/.+)$")


def kind_of(path):
    path = path.rstrip("/")
    if path.endswith("/chat/completions"):
        return "chat"
    if path.endswith("/embeddings"):
        return "embed"
    return "rerank" if RERANK_ENDS.search(path) else ""


def is_below(path, base):
    """Whether the path is base + its own end and nothing between."""
    for end in ("/chat/completions", "/embeddings", "/models"):
        if path.rstrip("/").endswith(end):
            return path.rstrip("/")[:-len(end)] == base.rstrip("/")
    return False


# ---- Schemas -------------------------------------------------------------------------------------

SCHEMA_WORDS = {"type", "properties", "required", "additionalProperties", "items", "enum",
                "description", "anyOf"}


def strict_schema_fault(body):
    """What a strict server finds wrong with the schema, "" for nothing."""
    inner = body["response_format"].get("json_schema") or {}
    if not re.match(r"^[a-zA-Z0-9_-]{1,64}$", inner.get("name") or ""):
        return "json_schema.name is missing or no name."
    schema = inner.get("schema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "schema must have type 'object'."
    todo = [schema]
    while todo:
        node = todo.pop()
        foreign = set(node) - SCHEMA_WORDS
        if foreign:
            return "'%s' is not permitted." % sorted(foreign)[0]
        properties = node.get("properties") or {}
        if "properties" in node and node.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false."
        if sorted(node.get("required") or []) != sorted(properties):
            return "'required' is required to be supplied and to be an array including every key " \
                "in properties."
        todo += list(properties.values()) + node.get("anyOf", [])
        if isinstance(node.get("items"), dict):
            todo.append(node["items"])
    return ""


# ---- Rerank --------------------------------------------------------------------------------------

# What each service must have, what it refuses, and what its replies look like.
RERANK_NEEDS = {
    "cohere": ("model", "query", "documents"), "jina": ("model", "query", "documents"),
    "vllm": ("query", "documents"), "llama": ("query", "documents"),
    "siliconflow": ("model", "query", "documents"), "infinity": ("query", "documents"),
    "tei": ("query", "texts"), "voyage": ("model", "query", "documents"),
    "dashscope": ("model", "input"), "deepinfra": ("queries", "documents"),
}
RERANK_KNOWS = {
    "cohere": {"model", "query", "documents", "top_n", "max_tokens_per_doc"},
    "jina": {"model", "query", "documents", "top_n", "return_documents", "truncation"},
    "voyage": {"model", "query", "documents", "top_k", "return_documents", "truncation"},
}


def rerank_form(form, body):
    """`any` goes by the request's members."""
    if form != "any":
        return form
    for name, member in (("tei", "texts"), ("dashscope", "input"), ("deepinfra", "queries"),
                         ("voyage", "top_k")):
        if member in body:
            return name
    return "cohere"


def rerank_fault(setting, body):
    """The body of a 422 when the request is not of the form; None when it is."""
    form = rerank_form(setting, body)
    for name in RERANK_NEEDS[form]:
        if setting == "any" and name == "model":
            continue
        if name not in body and not (form == "llama" and name == "documents" and "texts" in body):
            if form == "tei":
                return "Failed to deserialize the JSON body into the target type: missing field " \
                    "`%s`\n" % name
            return {"detail": [{"type": "missing", "loc": ["body", name], "msg": "Field required"}]}
    for name in body:
        if setting in RERANK_KNOWS and name not in RERANK_KNOWS[setting]:
            return {"message": "invalid request: unknown field %s" % name}
    query, texts = rerank_input(body)
    if not query or not texts or not all(isinstance(text, str) and text for text in texts):
        return {"error": "`query` and the documents cannot be empty", "error_type": "Empty"}
    return None


def rerank_input(body):
    """(query, documents) of any form."""
    inner = body.get("input") if isinstance(body.get("input"), dict) else body
    query = inner.get("query")
    if query is None and isinstance(inner.get("queries"), list) and inner["queries"]:
        query = inner["queries"][0]
    found = inner.get("documents", inner.get("texts"))
    texts = [one.get("text") if isinstance(one, dict) else one
             for one in (found if isinstance(found, list) else [])]
    return query if isinstance(query, str) else "", texts


def rerank_most(body):
    """top_n or top_k; 0: all."""
    inner = body.get("parameters") if isinstance(body.get("parameters"), dict) else body
    return inner.get("top_n") or inner.get("top_k") or 0


def rerank_reply(setting, request, scores):
    """The JSON of a reply of the form; `scores` are (index, score) in the order they are given."""
    body, texts = request.body, request.texts
    form = rerank_form(setting, body)
    if form == "deepinfra":
        by_index = dict(scores)
        return {"scores": [by_index[i] for i in range(len(texts)) if i in by_index],
                "input_tokens": request.tokens_in, "request_id": "rerank-%d" % request.number}
    if form == "tei" or (form == "llama" and "texts" in body):
        return [dict({"index": i, "score": score}, **(
            {"text": text_at(texts, i)} if body.get("return_text") else {})) for i, score in scores]
    echoed = body.get("return_documents")
    if form == "dashscope":
        echoed = (body.get("parameters") or {}).get("return_documents")
    elif form in ("jina", "vllm"):
        echoed = echoed is not False

    def document(i):
        text = text_at(texts, i)
        return {"document": text if form == "voyage" else {"text": text}} if echoed else {}
    results = [dict({"index": i, "relevance_score": score}, **document(i)) for i, score in scores]
    model, usage = body.get("model") or "fake", {"total_tokens": request.tokens_in}
    name = "rerank-%d" % request.number
    return {
        "cohere": {"id": name, "results": results, "meta": {"billed_units": {"search_units": 1}}},
        "jina": {"model": model, "usage": usage, "results": results},
        "vllm": {"id": name, "model": model, "usage": usage, "results": results},
        "llama": {"model": model, "object": "list", "usage": usage, "results": results},
        "siliconflow": {"id": name, "results": results, "meta": {"tokens": {
            "input_tokens": request.tokens_in, "output_tokens": 0}}},
        "infinity": {"object": "rerank", "results": results, "model": model, "usage": usage},
        "voyage": {"object": "list", "data": results, "model": model, "usage": usage},
        "dashscope": {"output": {"results": results}, "usage": usage, "request_id": name},
    }[form]


def text_at(texts, i):
    """A fault may name a document that is not there."""
    return texts[i] if isinstance(i, int) and 0 <= i < len(texts) else ""
