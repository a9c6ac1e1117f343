"""What the fake model server thinks: settings, script, records, and the making of each reply. The
sockets are in model_server.py, whose text also tells what a rule is."""
import collections
import json
import threading
import time

import model_answers as answers
import model_faults as faults
import model_wire as wire

SETTINGS = {
    # where and who
    "base": "/v1",          # chat and embeddings are below it and nowhere else
    "rerank_paths": None,   # a list; null: any path that looks like one
    "api_key": None, "models": None,
    # how long
    "delay_s": 0.0, "delays_s": {}, "token_s": 0.0, "event_s": 0.0,
    # chat
    "formats": ["strict", "schema", "object", "plain"], "json_word": False, "strict_checks": True,
    "refuse": [], "refuse_style": "openai", "refuse_status": 400,
    "context_tokens": 0, "honour_max_tokens": False, "usage": True, "event_chars": 12,
    "marker": "New subject:", "cut_every": 0, "cut_side": "behind", "end_marker": "Goodbye",
    "wait_marker": "(to be continued)", "fact_words": 4, "facts_most": 12, "same_as": True,
    "supersede": "Correction:", "join_overlap": 0.34, "join_most": 1, "answer": "first",
    # embeddings
    "dimension": 64, "scale": 1.0, "encoding": "asked", "dimensions": "honour",
    "inputs_most": 0, "inputs_status": 400, "input_tokens": 0, "batch_tokens": 0,
    # rerank
    "rerank": "any", "rerank_most": 0, "document_tokens": 0,
    # records
    "keep": 20000, "log": False,
}

MATCHES = {"purpose", "kind", "path", "text", "has", "rung", "stream", "when", "nth", "after",
           "times"}
EFFECTS = {"do", "content", "patch", "answer"}
OPTIONS = {"status", "message", "param", "code", "body", "retry_after", "retry_after_s",
           "retry_after_ms", "style", "limit", "location", "keep", "id", "weight", "factor",
           "field", "dimension", "row", "at", "value", "encoding", "n", "index",
           "bytes"} | set(faults.WIRE)


class Rule:
    """One rule of the script, checked, with its counters."""

    def __init__(self, rule):
        unknown = set(rule) - MATCHES - EFFECTS - OPTIONS
        if unknown:
            raise ValueError("unknown in a rule: %s" % ", ".join(sorted(unknown)))
        names = rule.get("do") or []
        self.faults = [names] if isinstance(names, str) else list(names)
        for name in self.faults:
            if name not in faults.FAULTS:
                raise ValueError("unknown fault %s" % name)
        if not EFFECTS & set(rule) and not set(faults.WIRE) & set(rule):
            raise ValueError("a rule that does nothing: %r" % (rule,))
        self.options = rule
        nth = rule.get("nth")
        self.nth = [nth] if isinstance(nth, int) else nth
        self.left = rule.get("times", len(self.nth) if self.nth else 1)
        self.seen = self.used = 0

    def fits(self, request):
        """Whether it is this rule's turn; counts."""
        rule = self.options
        for name in ("purpose", "kind", "path", "rung", "stream"):
            if name in rule and rule[name] != getattr(request, name):
                return False
        if "text" in rule and rule["text"] not in request.raw.decode("utf-8", "replace"):
            return False
        if "has" in rule and rule["has"] not in request.body:
            return False
        if "when" in rule and not rule["when"](request):
            return False
        self.seen += 1
        if self.left == 0 or (self.nth and self.seen not in self.nth):
            return False
        return self.seen > rule.get("after", 0)

    def use(self):
        self.used += 1
        if self.left is not None:
            self.left -= 1


class Request:
    """One request as it came. `texts`: what is embedded, or the documents of a rerank."""

    def __init__(self, number, connection, method, target, headers, raw):
        self.number, self.connection, self.method, self.target = number, connection, method, target
        self.path, _, self.query = wire.path_of(target).partition("?")
        self.all_headers, self.raw = headers, raw
        self.headers = {name.lower(): value for name, value in headers}
        self.at = time.monotonic()
        self.kind = self.purpose = self.rung = ""
        self.question, self.texts, self.asked = None, [], ""
        self.status, self.fault, self.took_s, self.abandoned = 0, [], None, False
        self.tokens_in = self.tokens_out = 0
        try:
            self.body = json.loads(raw) if raw else {}
        except ValueError:
            self.body = None
        self.is_object = isinstance(self.body, dict)
        if not self.is_object:
            self.body = {}
        self.stream = self.body.get("stream") is True

    @property
    def system(self):
        return self.question.system if self.question else ""

    @property
    def user(self):
        return self.question.user if self.question else ""

    def shown(self):
        """As /_requests gives it."""
        names = ("number", "connection", "method", "path", "headers", "kind", "purpose", "rung",
                 "stream", "body", "status", "fault", "took_s", "abandoned", "tokens_in",
                 "tokens_out")
        return {name: getattr(self, name) for name in names}


class Work:
    """A reply in the making; the faults' material (see model_faults.py)."""

    def __init__(self, request, rule, settings):
        self.request, self.rule, self.settings = request, rule, settings
        self.question = request.question
        self.status, self.type, self.headers = 200, "application/json", []
        self.refused = False
        self.content = self.message = self.choice = self.rows = self.scores = None
        self.finish, self.encoding = "stop", "float"
        self.data = self.raw = None
        self.wire = dict(faults.WIRE)
        self.events = None  # of a stream: (bytes, is the last)


class Brain:
    """Everything but the sockets: settings, script, records, and the making of replies. Its methods
    are called under its lock."""

    def __init__(self, settings):
        self.lock = threading.RLock()
        self.settings = dict(SETTINGS)
        self.mind = answers.Mind(self.settings)
        self.encoder = answers.Encoder()
        self.rules, self.errors = [], []
        self.requests = collections.deque(maxlen=self.settings["keep"])
        self.count = collections.Counter()
        self.by_purpose, self.by_status = collections.Counter(), collections.Counter()
        self.set(settings)

    def set(self, values):
        for name, value in values.items():
            if name not in SETTINGS:
                raise ValueError("unknown setting %s" % name)
            self.settings[name] = value
        if "keep" in values:
            self.requests = collections.deque(self.requests, maxlen=self.settings["keep"])

    def reset(self):
        self.rules.clear()
        self.requests.clear()
        self.settings.update(SETTINGS)
        keep = {name: self.count[name] for name in ("in_flight", "open")}
        self.count.clear()
        self.count.update(keep)
        self.by_purpose.clear()
        self.by_status.clear()
        self.mind.names.clear()

    def stats(self):
        count = self.count
        names = ("requests", "tokens_in", "tokens_out", "in_flight", "max_in_flight", "connections",
                 "open", "max_open", "abandoned")
        out = {name: count[name] for name in names}
        out.update(by_purpose=dict(self.by_purpose), errors=list(self.errors),
                   by_status={str(k): v for k, v in self.by_status.items()},
                   rules_left=sum(1 for rule in self.rules if rule.left and rule.left > 0))
        return out

    # -- a request --

    def take(self, request):
        """Understands and counts a request, and finds its rule."""
        self.understand(request)
        self.requests.append(request)
        self.count["requests"] += 1
        self.count["in_flight"] += 1
        self.count["max_in_flight"] = max(self.count["max_in_flight"], self.count["in_flight"])
        self.by_purpose[request.purpose or "other"] += 1
        self.count["tokens_in"] += request.tokens_in
        rule = next((one for one in self.rules if one.fits(request)), None)
        if rule is not None:
            rule.use()
            request.fault = rule.faults or ["scripted"]
        return rule

    def understand(self, request):
        settings, body = self.settings, request.body
        request.kind = wire.kind_of(request.path)
        if request.kind == "chat":
            request.question = answers.Question(body)
            request.purpose, request.rung = request.question.purpose, request.question.rung
            request.tokens_in = answers.tokens(request.system + request.user)
        elif request.kind == "embed":
            request.purpose = "embed"
            given = body.get("input")
            request.texts = given if isinstance(given, list) else [given] if given else []
            request.tokens_in = sum(answers.tokens(str(text)) for text in request.texts)
        elif request.kind == "rerank":
            request.purpose = "rerank"
            request.asked, request.texts = wire.rerank_input(body)
            request.tokens_in = sum(answers.tokens(t) for t in request.texts + [request.asked])
        elif request.path.rstrip("/").endswith("/models"):
            request.kind = "models"
        request.base_fits = wire.is_below(request.path, settings["base"]) \
            if request.kind in ("chat", "embed", "models") else \
            settings["rerank_paths"] is None or request.path in settings["rerank_paths"]

    def made(self, request, rule):
        """The reply to it, ready to be sent."""
        work = Work(request, rule, self.settings)
        faults.apply_stage(work, "refuse")
        if not work.refused:
            self.refuse_as_real(work)
        if not work.refused:
            makers = {"chat": self.chat, "embed": self.embed, "rerank": self.rerank,
                      "models": self.models}
            makers[request.kind](work)
            faults.apply_stage(work, "data")
            work.raw = json.dumps(work.data).encode("utf-8")
        faults.apply_stage(work, "raw")
        faults.apply_stage(work, "wire")
        if request.stream and request.kind == "chat" and not work.refused \
                and not work.wire["no_stream"]:
            work.type = "text/event-stream"
            work.events = wire.events_of(work)
        request.status = work.status
        self.by_status[work.status] += 1
        self.count["tokens_out"] += request.tokens_out
        return work

    def delay_of(self, work):
        settings, request = self.settings, work.request
        own = settings["delays_s"].get(request.purpose, settings["delay_s"])
        streamed = 0 if work.events else request.tokens_out * settings["token_s"]
        return work.wire["delay_s"] or own + streamed

    def done(self, request, sent_all):
        self.count["in_flight"] -= 1
        request.took_s = round(time.monotonic() - request.at, 4)
        if not sent_all:
            request.abandoned = True
            self.count["abandoned"] += 1
        if self.settings["log"]:
            print("%s  %-9s %5d tokens in %5d out  %d  %5.2f s%s" % (
                time.strftime("%H:%M:%S"), request.purpose or request.path, request.tokens_in,
                request.tokens_out, request.status, request.took_s,
                "  " + " ".join(request.fault) if request.fault else ""), flush=True)

    # -- what a real server refuses --

    def refuse_as_real(self, work):
        request, settings = work.request, self.settings
        if not request.kind or not request.base_fits:
            return faults.refuse(work, 404, {"detail": "Not Found"})
        wanted = "Bearer %s" % settings["api_key"]
        if settings["api_key"] and request.headers.get("authorization") != wanted:
            return FAULT("status")(work, {"status": 401})
        if request.kind == "models":
            return None if request.method == "GET" else FAULT("status")(work, {"status": 405})
        if request.method != "POST":
            return faults.refuse(work, 405, {"detail": "Method Not Allowed"})
        if not request.is_object:
            return FAULT("status")(work, {"status": 400, "message": "The body is no JSON object."})
        if settings["models"] and request.body.get("model") not in settings["models"]:
            return FAULT("status")(work, {"status": 404})
        checks = {"chat": self.refuse_chat, "embed": self.refuse_embed,
                  "rerank": self.refuse_rerank}
        return checks[request.kind](work)

    def refuse_chat(self, work):
        request, settings = work.request, self.settings
        if not request.body.get("messages"):
            return bad(work, "messages is empty.", "messages")
        for param in settings["refuse"]:
            if param in request.body:
                return FAULT("unsupported")(work, {
                    "param": param, "style": settings["refuse_style"],
                    "status": settings["refuse_status"]})
        if request.rung not in settings["formats"]:
            return bad(work, "Invalid parameter: 'response_format' of type '%s' is not supported "
                       "with this model." % request.body["response_format"]["type"],
                       "response_format")
        if settings["json_word"] and request.rung == "object" \
                and "json" not in (request.system + request.user).lower():
            return bad(work, "'messages' must contain the word 'json' in some form, to use "
                       "'response_format' of type 'json_object'.", "messages")
        wrong = request.rung == "strict" and settings["strict_checks"] \
            and wire.strict_schema_fault(request.body)
        if wrong:
            return bad(work, "Invalid schema for response_format: " + wrong, "response_format")
        if settings["context_tokens"] and request.tokens_in > settings["context_tokens"]:
            return FAULT("context_length")(work, {"limit": settings["context_tokens"]})
        return None

    def refuse_embed(self, work):
        request, settings, texts = work.request, self.settings, work.request.texts
        if not texts or not all(isinstance(text, str) and text for text in texts):
            return bad(work, "'$.input' is invalid: no empty string, and nothing but strings.",
                       "input")
        if settings["inputs_most"] and len(texts) > settings["inputs_most"]:
            return FAULT("status")(work, {
                "status": settings["inputs_status"], "param": "input",
                "message": "batch size %d > maximum allowed batch size %d" % (
                    len(texts), settings["inputs_most"])})
        longest = max(answers.tokens(text) for text in texts)
        if settings["input_tokens"] and longest > settings["input_tokens"]:
            return FAULT("context_length")(work, {"limit": settings["input_tokens"]})
        if settings["batch_tokens"] and request.tokens_in > settings["batch_tokens"]:
            return FAULT("status")(work, {"status": 413})
        if "dimensions" in request.body and settings["dimensions"] == "refuse":
            return bad(work, "This model does not support specifying dimensions.", "dimensions")
        return None

    def refuse_rerank(self, work):
        request, settings = work.request, self.settings
        wrong = wire.rerank_fault(settings["rerank"], request.body)
        if wrong:
            return faults.refuse(work, 422, wrong)
        if settings["rerank_most"] and len(request.texts) > settings["rerank_most"]:
            return faults.refuse(work, 413, {
                "error": "batch size %d > maximum allowed batch size %d" % (
                    len(request.texts), settings["rerank_most"]), "error_type": "Validation"})
        longest = max(answers.tokens(text) for text in request.texts)
        if settings["document_tokens"] and longest > settings["document_tokens"]:
            return FAULT("status")(work, {
                "status": 500, "message": "input (%d tokens) is too large to process. increase the "
                "physical batch size" % longest})
        return None

    # -- what it answers --

    def chat(self, work):
        request, options = work.request, work.rule.options if work.rule else {}
        work.content = self.mind.chat(work.question)
        if "answer" in options:
            work.content = as_text(options["answer"](request))
        elif "content" in options:
            work.content = as_text(options["content"])
        if "patch" in options:
            work.content = as_text(dict(json.loads(work.content), **options["patch"]))
        faults.apply_stage(work, "content")
        self.limit_tokens(work)
        work.message = {"role": "assistant", "content": work.content}
        faults.apply_stage(work, "message")
        faults.apply_stage(work, "choice")
        request.tokens_out = answers.tokens(work.content)
        work.data = {
            "id": "chatcmpl-%d" % request.number, "object": "chat.completion",
            "created": 1700000000, "model": request.body.get("model") or "fake",
            "choices": [{"index": 0, "message": work.message, "logprobs": None,
                         "finish_reason": work.finish}]}
        if self.settings["usage"]:
            work.data["usage"] = usage_of(request)

    def limit_tokens(self, work):
        most = work.request.body.get("max_tokens") or \
            work.request.body.get("max_completion_tokens") or 0
        if self.settings["honour_max_tokens"] and most and answers.tokens(work.content) > most:
            work.content = work.content[:4 * most]
            work.finish = "length"

    def embed(self, work):
        request, settings = work.request, self.settings
        dimension = settings["dimension"]
        if settings["dimensions"] == "honour":
            dimension = request.body.get("dimensions") or dimension
        work.rows = [{"object": "embedding", "index": i, "embedding": self.encoder.vector(
            text, dimension, settings["scale"])} for i, text in enumerate(request.texts)]
        asked = request.body.get("encoding_format") or "float"
        work.encoding = settings["encoding"]
        faults.apply_stage(work, "rows")
        form = {"asked": asked, "opposite": "float" if asked == "base64" else "base64"}.get(
            work.encoding, work.encoding)
        for row in work.rows:
            row["embedding"] = faults.encode_row(row["embedding"], form)
        work.data = {"object": "list", "data": work.rows,
                     "model": request.body.get("model") or "fake"}
        if settings["usage"]:
            work.data["usage"] = {"prompt_tokens": request.tokens_in,
                                  "total_tokens": request.tokens_in}

    def rerank(self, work):
        request = work.request
        scored = [(i, answers.rerank_score(request.asked, text))
                  for i, text in enumerate(request.texts)]
        work.scores = sorted(scored, key=lambda pair: (-pair[1], pair[0]))
        most = wire.rerank_most(request.body)
        if most:
            del work.scores[most:]
        faults.apply_stage(work, "scores")
        work.data = wire.rerank_reply(self.settings["rerank"], request, work.scores)

    def models(self, work):
        names = self.settings["models"] or ["fake"]
        work.data = {"object": "list", "data": [
            {"id": name, "object": "model", "created": 1700000000, "owned_by": "fake"}
            for name in names]}


def FAULT(name):
    return faults.FAULTS[name][1]


def bad(work, message, param):
    FAULT("status")(work, {"status": 400, "message": message, "param": param})


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def usage_of(request):
    return {"prompt_tokens": request.tokens_in, "completion_tokens": request.tokens_out,
            "total_tokens": request.tokens_in + request.tokens_out}
