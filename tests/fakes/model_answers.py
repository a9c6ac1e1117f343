"""What the fake model server answers when it behaves: chat, vectors and rerank scores.

Nothing here knows the daemon's prompts. A chat request is understood by the names of the properties
that its reply must have, from a schema in response_format, else from a schema found in the
messages, else from lines `name:` in them, and by what the messages show:

    12 Caroline: Hey Mel!                 a turn; lines that begin with a blank belong to it
    [Mon 2023-05-08 13:56]                the date of the turns below
    Topic 3, last on 2023-05-01: title    a candidate, with its texts in the lines below
    Known facts:                          stored facts, numbered, perhaps with a date; or in one
    7 (2023-05-01) content                line each: "Known fact 7, ...: content"
    [fact_12] / ... [fact_12]             recalled memory

The reply is built for whatever the schema says: a property that is known by its name gets its
value, any other gets a plausible one of its type. The same request gets the same reply, but for one
thing: speakers' names are remembered, since they tell nothing of what an episode is about.
"""
import collections
import datetime
import hashlib
import json
import math
import re

STOP_WORDS = frozenset("""a about above after again all also always am an and any are around as at
away back be because been before being between both but by can come could day did do does doing done
down each even ever every few first for from get gets getting go goes going gone good got had has
have having he her here hers hey hi him his hello how i if in into is it its just keep know last let
like little long look made make many may maybe me might mine more most much must my need never new
next no nor not nothing now of off oh ok okay old on once one only or other our out over own people
please put quite really right said same saw say says see she should since so some something soon
still such sure take tell than thanks that the their them then there these they thing things think
this those though time to today tomorrow too two until up us very was way we well went were what
when where which while who why will with without would yeah yes yesterday yet you your
subject""".split())

# The names of a reply's properties that tell what was asked, in order of how sure they are.
PURPOSES = (
    ("boundary", ("cuts", "should_wait", "should_end", "boundaries")),
    ("facts", ("facts", "potential", "supersedes", "same_as")),
    ("topic", ("join", "topics", "new")),
    ("describe", ("title", "summary")),
)

# For a request in plain text whose messages name properties but hold no schema.
TEXTS = {"type": "array", "items": {"type": "string"}}
TOPIC_ITEM = {"title": {"type": "string"}, "summary": {"type": "string"}, "keywords": TEXTS,
              "weight": {"type": "number"}, "role": {"type": "string"}}


def objects(properties):
    return {"type": "array", "items": {"type": "object", "properties": properties}}


PROPERTIES = {
    "boundary": {"cuts": {"type": "array", "items": {"type": "number"}},
                 "should_end": {"type": "boolean"}, "should_wait": {"type": "boolean"}},
    "describe": {"title": {"type": "string"}, "summary": {"type": "string"}},
    "topic": {"topics": objects(dict(TOPIC_ITEM, id={"type": "number"})),
              "join": objects(dict(TOPIC_ITEM, topic={"type": "number"})),
              "new": {"type": ["object", "null"], "properties": TOPIC_ITEM}},
    "facts": {"facts": objects({
        "content": {"type": "string"}, "potential": TEXTS, "keywords": TEXTS,
        "turns": {"type": "array", "items": {"type": "number"}}, "from": {"type": "string"},
        "to": {"type": "string"}, "when": {"type": "string"}, "weight": {"type": "number"},
        "role": {"type": "string"}, "same_as": {"type": "number"},
        "supersedes": {"type": "number"}})},
}

Turn = collections.namedtuple("Turn", "number speaker text date")
Topic = collections.namedtuple("Topic", "number title summary keywords")


def tokens(text):
    """The estimate that all counts use."""
    return (len(text) + 3) // 4


# ---- Words --------------------------------------------------------------------------------------

def words(text):
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text)


def stem(word):
    word = re.sub(r"['’].*", "", word.casefold())
    for ending in ("ings", "ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[:-len(ending)]
    return word


def content_words(text, without=()):
    """Distinct words that tell something, as they stand, in order."""
    out = {}
    for word in words(text):
        folded = word.casefold()
        if len(folded) < 3 and not folded.isdigit():
            continue
        if folded not in STOP_WORDS and folded not in without and "'" not in folded:
            out.setdefault(stem(folded), word)
    return list(out.values())


def stems(text, without=()):
    return {stem(word) for word in content_words(text, without)}


def overlap(left, right):
    """How much of the smaller set is in the other, 0..1."""
    if not left or not right:
        return 0.0
    return len(left & right) / min(len(left), len(right))


ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
CALENDAR = frozenset("""monday tuesday wednesday thursday friday saturday sunday january february
march april june july august september october november december""".split())


def names_in(text, without=()):
    """Words with a capital inside a sentence, but for days, months and the given ones."""
    found = re.findall(r"(?<=[\w,;] )[^\W\d_a-z]\w+", text)
    return {word for word in found if word.casefold() not in CALENDAR
            and word.casefold() not in STOP_WORDS and word.casefold() not in without}


def best_keywords(text, without, n):
    """The most frequent content words; of two alike a name, then the earlier."""
    text = ISO_DATE.sub(" ", text)
    found = [word for word in content_words(text, without) if not word.isdigit()]
    count = collections.Counter(stem(word) for word in words(text))
    names = names_in(text)
    order = sorted(range(len(found)), key=lambda i: (
        -count[stem(found[i])], found[i] not in names, i))
    return [found[i] for i in order[:n]]


def clip(text, most):
    """At a blank if there is one."""
    if len(text) <= most:
        return text
    return text[:most].rsplit(" ", 1)[0]


# ---- What the messages show ----------------------------------------------------------------------

TURN = re.compile(r"^\[?#?(\d+)\]?[.)]? ([^:\n]{1,200}):(?: (.*))?$")
DATE = re.compile(r"^\[\D{0,12}(\d{4}-\d\d-\d\d)[^\]]*\]$")
TOPIC = re.compile(r"^(?:Candidate |Known )?[Tt]opic #?(\d+)\b[^:]*: *(.*)$")
FACT = re.compile(r"^(?:Known |Stored )?[Ff]act #?(\d+)\b[^:]*: *(.*)$")
FACTS_HEAD = re.compile(r"^\W*(?:known|stored|existing)\b[^:]*\bfacts?\b[^:]*:?$", re.I)
OTHER_HEAD = re.compile(r"^(?:<<<|\W*(?:dialogue|conversation|episode|turns|topic)\b)", re.I)
NUMBERED = re.compile(r"^\[?#?(\d+)\]?[.):]? (?:\([^)]*\) )?(.+)$")


class Shown:
    """The user's message, read."""

    def __init__(self, text):
        self.turns, self.topics, self.known, self.episode = [], [], [], ""
        self.date, self.put, self.in_facts = "", None, False
        for line in text.split("\n"):
            self.add(line)

    def add(self, line):
        if DATE.match(line):
            self.date, self.put, self.in_facts = DATE.match(line).group(1), None, False
        elif line[:1] in (" ", "\t"):
            if self.put is not None:
                self.put(line.strip())
        elif FACTS_HEAD.match(line):
            self.in_facts = True
        elif FACT.match(line):
            self.known.append((int(FACT.match(line).group(1)), FACT.match(line).group(2)))
        elif TOPIC.match(line):
            self.add_topic(TOPIC.match(line))
        elif self.in_facts and NUMBERED.match(line):
            self.known.append((int(NUMBERED.match(line).group(1)), NUMBERED.match(line).group(2)))
        elif TURN.match(line) and not self.topics:
            self.add_turn(TURN.match(line))
        else:
            self.add_other(line)

    def add_turn(self, found):
        number, speaker, text = int(found.group(1)), found.group(2), found.group(3) or ""
        speaker = re.sub(r" \(\w+\)$", "", speaker)
        self.turns.append(Turn(number, speaker, text, self.date))

        def put(more):
            turn = self.turns[-1]
            self.turns[-1] = turn._replace(text=(turn.text + " " + more).strip())
        self.put = put

    def add_topic(self, found):
        self.topics.append(Topic(int(found.group(1)), found.group(2), "", []))

        def put(more):
            topic = self.topics[-1]
            if more.startswith("Keywords: "):
                topic = topic._replace(keywords=more[10:].split(", "))
            else:
                topic = topic._replace(summary=(topic.summary + " " + more).strip())
            self.topics[-1] = topic
        self.put, self.in_facts = put, False

    def add_other(self, line):
        if OTHER_HEAD.match(line):
            self.in_facts = False
        if re.match(r"^\S*>>>$|^<<<", line):
            self.put = None
        elif self.topics and self.put is not None:
            self.put(line)
        elif not self.topics and not self.turns:
            self.episode += line + "\n"


# ---- What is asked -------------------------------------------------------------------------------

def property_names(schema):
    """All names of properties, however deep."""
    out, todo = [], [schema]
    while todo:
        node = todo.pop(0)
        if isinstance(node, dict):
            if isinstance(node.get("properties"), dict):
                out += node["properties"]
            todo += node.values()
        elif isinstance(node, list):
            todo += node
    return out


def embedded_schema(text):
    """The first JSON schema of an object that stands in a text."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"\{", text):
        try:
            value, _ = decoder.raw_decode(text, found.start())
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("properties"), dict):
            return value
    return None


def text_of(content):
    """A message's content: a string or parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def response_schema(body):
    """(rung, schema or None): strict, schema, object or plain."""
    asked = body.get("response_format")
    if isinstance(asked, dict) and asked.get("type") == "json_schema":
        inner = asked.get("json_schema") or {}
        return ("strict" if inner.get("strict") else "schema"), inner.get("schema")
    if isinstance(asked, dict) and asked.get("type") == "json_object":
        return "object", asked.get("schema")
    for name in ("json_schema", "guided_json"):
        if isinstance(body.get(name), dict):
            return "schema", body[name]
    return "plain", None


def purpose_of(names):
    for purpose, marks in PURPOSES:
        if any(mark in names for mark in marks):
            return purpose
    return ""


class Question:
    """A chat request, understood."""

    def __init__(self, body):
        messages = [m for m in body.get("messages") or [] if isinstance(m, dict)]
        self.system = "\n".join(text_of(m.get("content")) for m in messages
                                if m.get("role") in ("system", "developer"))
        self.user = "\n".join(text_of(m.get("content")) for m in messages
                              if m.get("role") == "user")
        self.rung, self.schema = response_schema(body)
        if self.schema is None:
            self.schema = embedded_schema(self.system) or embedded_schema(self.user)
        if self.schema is not None:
            self.purpose = purpose_of(property_names(self.schema)) or "unknown"
        else:
            self.guess()

    def guess(self):
        """No schema anywhere: names at the beginning of lines, or in quotation marks."""
        found = re.findall(r"^\W*(\w+):|[\"'`](\w+)[\"'`]", self.system, re.M)
        names = {name for pair in found for name in pair if name}
        self.purpose = purpose_of(names) or "answer"
        if self.purpose != "answer":
            have = PROPERTIES[self.purpose]
            kept = {name: part for name, part in have.items() if name in names}
            self.schema = {"type": "object", "properties": kept or have}


# ---- Filling a schema ----------------------------------------------------------------------------

MISSING = object()


def types_of(schema):
    kinds = schema.get("type")
    if kinds is None:
        for name in ("anyOf", "oneOf"):
            for one in schema.get(name) or []:
                return types_of(one) + ["null"] * any(o.get("type") == "null"
                                                      for o in schema[name])
        kinds = "object" if "properties" in schema else "string"
    return list(kinds) if isinstance(kinds, list) else [kinds]


def fill(schema, known=MISSING, name="value"):
    """A value of the schema: `known` where it fits, else something of the type."""
    kinds = types_of(schema)
    for branch in schema.get("anyOf") or schema.get("oneOf") or []:
        if branch.get("type") == kinds[0]:
            schema = branch
            break
    if known is None and "null" in kinds:
        return None
    if schema.get("enum"):
        return known if known in schema["enum"] else schema["enum"][0]
    kind = next((k for k in kinds if k != "null"), "null")
    return FILLERS[kind](schema, known, name)


def fill_object(schema, known, _):
    if isinstance(known, list):
        known = known[0] if known else {}
    have = known if isinstance(known, dict) else {}
    return {name: fill(part, pick(have, name, part), name)
            for name, part in (schema.get("properties") or {}).items()}


def pick(have, name, part):
    """By name, else for a list of numbers whatever numbers there are."""
    if name in have:
        return have[name]
    kind = types_of(part)[0]
    if kind == "array" and types_of(part.get("items") or {})[0] in ("number", "integer"):
        return have.get("*numbers", MISSING)
    return MISSING


def fill_array(schema, known, name):
    items = schema.get("items") or {}
    if known is MISSING or known is None:
        return [fill(items, MISSING, name) for _ in range(schema.get("minItems") or 0)]
    return [fill(items, one, name) for one in (known if isinstance(known, list) else [known])]


def fill_string(_, known, name):
    if known is MISSING:
        return "some " + name
    if known is None:
        return ""
    return known if isinstance(known, str) else json.dumps(known)


def fill_number(_, known, __):
    good = isinstance(known, (int, float)) and not isinstance(known, bool)
    return known if good else 0.5


def fill_integer(_, known, __):
    good = isinstance(known, (int, float)) and not isinstance(known, bool)
    return int(known) if good else 1


FILLERS = {
    "object": fill_object, "array": fill_array, "string": fill_string, "number": fill_number,
    "integer": fill_integer, "boolean": lambda _, known, __: known is True,
    "null": lambda _, __, ___: None,
}


# ---- The five questions --------------------------------------------------------------------------

class Mind:
    """Answers, by the settings of the server (SETTINGS in model_brain.py)."""

    def __init__(self, settings):
        self.settings = settings
        self.names = set()  # words of speakers' names, folded

    def chat(self, question):
        """The text of a well-behaved reply."""
        shown = Shown(question.user)
        for turn in shown.turns:
            self.names |= {word.casefold() for word in words(turn.speaker)}
        if question.purpose == "answer":
            return self.answer(question.user)
        makers = {"boundary": self.boundary, "describe": self.describe, "topic": self.topic,
                  "facts": self.facts}
        maker = makers.get(question.purpose)
        known = maker(shown) if maker else MISSING
        return json.dumps(fill(question.schema, known), ensure_ascii=False)

    def boundary(self, shown):
        every, turns = self.settings["cut_every"], shown.turns
        cuts = []
        for i in range(1, len(turns)):
            marked = self.settings["marker"] and self.settings["marker"] in turns[i].text
            if marked or (every and i % every == 0):
                behind = self.settings["cut_side"] == "behind"
                cuts.append(turns[i - 1 if behind else i].number)
        last = turns[-1].text if turns else ""
        return {"cuts": cuts, "boundaries": cuts, "*numbers": cuts,
                "should_end": self.settings["end_marker"] in last,
                "should_wait": self.settings["wait_marker"] in last}

    def title_of(self, shown):
        marker = self.settings["marker"]
        for turn in shown.turns:
            if marker and marker in turn.text:
                subject = re.split(r"[.!?]", turn.text.split(marker, 1)[1])[0].strip()
                if subject:
                    return clip(subject, 80)
        text = " ".join(turn.text for turn in shown.turns)
        found = best_keywords(text, self.names, 3) or ["Small talk"]
        return (", ".join(found[:-1]) + " and " if len(found) > 1 else "") + found[-1]

    def describe(self, shown):
        people = list(dict.fromkeys(turn.speaker for turn in shown.turns)) or ["Somebody"]
        longest = sorted(range(len(shown.turns)), key=lambda i: (-len(shown.turns[i].text), i))[:2]
        said = ["%s%s said: %s" % ("On %s " % turn.date if turn.date else "", turn.speaker,
                                   clip(turn.text, 160).rstrip(".") + ".")
                for turn in (shown.turns[i] for i in sorted(longest))]
        title = self.title_of(shown)
        summary = "%s talked about %s. %s" % (" and ".join(people[:4]), title, " ".join(said))
        return {"title": title, "summary": summary.strip(),
                "keywords": best_keywords(" ".join(t.text for t in shown.turns), self.names, 8)}

    def topic(self, shown):
        said = shown.episode.split(":", 1)[-1].strip()
        title = clip(said.split("\n")[0].strip() or "A new story", 80)
        keywords = best_keywords(said, self.names, 8) or [title]
        joined = []
        for topic in shown.topics:
            text = "\n".join([topic.title, topic.summary, "Keywords: " + ", ".join(topic.keywords)])
            common = self.likeness(said, text)
            if common >= self.settings["join_overlap"]:
                joined.append((-common, topic))
        joined.sort(key=lambda pair: (pair[0], pair[1].number))
        join = [self.topic_item(topic.number, topic.title or title,
                                topic.summary + " " + said.replace("\n", " "),
                                list(dict.fromkeys(topic.keywords + keywords))[:12],
                                round(-common, 2), "developing")
                for common, topic in joined[:self.settings["join_most"]]]
        fresh = None
        if not join:
            fresh = self.topic_item(0, title, said.replace("\n", " "), keywords, 0.8, "initiating")
        return {"join": join, "new": fresh, "topics": join or [fresh]}

    def likeness(self, left, right):
        """0..1: common words, or common names; two of them are half."""
        left, right = ISO_DATE.sub(" ", left), ISO_DATE.sub(" ", right)
        named = {stem(word) for word in names_in(left, self.names)} & {
            stem(word) for word in names_in(right, self.names)}
        return min(1.0, max(overlap(stems(left, self.names), stems(right, self.names)),
                            len(named) / 4))

    @staticmethod
    def topic_item(number, title, summary, keywords, weight, role):
        summary = clip(summary.strip(), 600) or title
        return {"topic": number, "id": number, "number": number, "topic_id": number, "title": title,
                "summary": summary, "keywords": keywords, "weight": weight, "role": role}

    def facts(self, shown):
        out = []
        for turn in shown.turns:
            if len(words(turn.text)) >= self.settings["fact_words"]:
                out.append(self.fact(turn, shown.known))
        return {"facts": out[:self.settings["facts_most"]]}

    def fact(self, turn, known):
        content = "%s said: %s" % (turn.speaker, clip(turn.text, 300))
        keywords = content_words(turn.text, self.names)[:8]
        when, day = time_of(turn)
        same = supersedes = 0
        for number, text in known:
            if stems(text) == stems(content) and self.settings["same_as"] and same == 0:
                same = number
        if same == 0 and self.settings["supersede"] in turn.text and known:
            mine = stems(turn.text, self.names)
            best = max(known, key=lambda one: len(mine & stems(one[1], self.names)))
            if mine & stems(best[1], self.names):
                supersedes = best[0]
        about = " and ".join(keywords[:2]) or "it"
        return {"content": content, "text": content, "potential": [
            "What did %s say about %s?" % (turn.speaker, about)], "keywords": keywords,
                "turns": [turn.number], "*numbers": [turn.number], "from": day, "to": day,
                "when": when, "time": {"from": day, "to": day, "text": when, "when": when},
                "weight": min(1.0, round(0.3 + 0.02 * len(words(turn.text)), 2)),
                "role": "temporal" if when else "core", "same_as": same, "supersedes": supersedes}

    def answer(self, text):
        """A line of the memory with its id: the first, or the one most like the question."""
        lines = [(line, re.search(r"\b(?:fact|turn)_\d+\b", line).group(0))
                 for line in text.split("\n") if re.search(r"\[[^\]]*\b(?:fact|turn)_\d+\b", line)]
        facts = [pair for pair in lines if pair[1].startswith("fact_")] or lines
        if not facts:
            return "The memory does not tell."
        chosen = facts[0]
        if self.settings["answer"] == "best":
            asked = stems(text.split("Question:")[-1])
            chosen = max(facts, key=lambda pair: len(asked & stems(pair[0])))
        said = re.sub(r"\s*\[[^\]]*\]\s*", " ", chosen[0]).strip(" -•*")
        return "%s [%s]" % (said or "It is remembered", chosen[1])


def time_of(turn):
    """(phrase, YYYY-MM-DD or ""): a date in the text, or a word counted from the turn's date."""
    found = re.search(r"\b\d{4}-\d\d-\d\d\b", turn.text)
    if found:
        return found.group(0), found.group(0)
    found = re.search(r"\b(yesterday|today|tomorrow)\b", turn.text, re.I)
    if not found or not turn.date:
        return "", ""
    days = {"yesterday": -1, "today": 0, "tomorrow": 1}[found.group(1).lower()]
    try:
        day = datetime.date(*map(int, turn.date.split("-"))) + datetime.timedelta(days=days)
    except (ValueError, OverflowError):
        return "", ""
    return found.group(1), day.isoformat()


# ---- Vectors and scores --------------------------------------------------------------------------

class Encoder:
    """Vectors from hashed words: texts that share words are near. Unit length times `scale`."""

    def __init__(self):
        self.directions = {}

    def direction(self, word, dimension):
        """+1 or -1 for each place, from the word's hash."""
        key = (word, dimension)
        if key not in self.directions:
            bits, at = b"", 0
            while len(bits) * 8 < dimension:
                bits += hashlib.blake2b(("%d %s" % (at, word)).encode("utf-8")).digest()
                at += 1
            self.directions[key] = [1.0 if bits[i >> 3] >> (i & 7) & 1 else -1.0
                                    for i in range(dimension)]
        return self.directions[key]

    def vector(self, text, dimension, scale=1.0):
        total = [0.0] * dimension
        for word in words(text) or [text]:
            weight = 0.2 if word.casefold() in STOP_WORDS else 1.0
            for i, sign in enumerate(self.direction(stem(word) or word, dimension)):
                total[i] += weight * sign
        norm = math.sqrt(sum(x * x for x in total))
        if norm == 0.0:
            return self.vector("again " + text, dimension, scale)
        return [scale * x / norm for x in total]


def rerank_score(query, document):
    """The part of the question's words that the document has, 0..1; a hair more for a short one."""
    asked = stems(query) or {stem(word) for word in words(query)}
    have = {stem(word) for word in words(document)}
    if not asked:
        return 0.0
    share = len(asked & have) / len(asked)
    return round(0.02 + 0.96 * share + 0.01 / (1 + len(have)), 6)
