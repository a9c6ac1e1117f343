"""The clients: each has one space, sends again until it is answered, and knows what must be there.

    Poster   a conversation, in order                     its list of turns is a prefix of the input
    Eraser   turns with marked words, deletes some again  what it deleted stays deleted
    Ghost    makes its space, deletes it, makes it again  nothing of an earlier life comes back

run(port, more) acts while more() is true and the daemon answers; verify(client) raises Lost when
something acknowledged is missing, and Wrong when something else is not as it must be. An action
without an answer may have happened or not; it stays `pending` and is sent again in the next life.
"""
import http.client
import json
import random
import re
import socket
import time

import harness
import story

GONE = (OSError, http.client.HTTPException)
BUSY = (429, 503, 507)
LIST_LIMIT = 1000
REPLY_S = 20
MARK = re.compile(r"zq[a-z]+\d{5}x")


class Wrong(AssertionError):
    """The daemon's state is not what its replies said."""


class Lost(Wrong):
    """Something acknowledged is missing."""


def list_all(client, space, noun, limit=LIST_LIMIT):
    """Every row, page by page; None: no such space."""
    rows, cursor = [], None
    while True:
        params = {"limit": limit}
        if cursor:
            params["cursor"] = cursor
        reply = client.get("/v1/spaces/%s/%s" % (space, noun), **params)
        if reply.status == 404:
            return None
        data = reply.expect(200)
        rows += data[noun]
        cursor = data.get("next_cursor")
        if not cursor:
            return rows


class Spokesman:
    """What the three have in common."""

    def __init__(self, space):
        self.space = space
        self.path = "/v1/spaces/" + space
        self.answered = 0
        self.trouble = None
        self.seq = self.processed_seq = 0   # neither ever falls

    def run(self, port, more):
        """Never raises: it runs in a thread. `trouble` has what went wrong."""
        client = harness.Client(port, seconds=REPLY_S)
        self.begin()
        try:
            while more(self) and not self.is_finished():
                if not self.step(client):
                    time.sleep(0.005)
        except socket.timeout:
            self.trouble = Wrong("%s: no reply within %g s" % (self.space, REPLY_S))
        except GONE:
            pass
        except Exception as error:
            self.trouble = error
        finally:
            client.close()

    def begin(self):
        """Before the first step of a life."""

    def is_finished(self):
        return False

    def send(self, client, method, path, body=None, headers=None, **params):
        """The reply, or None when the daemon is too busy, full, stopping or latched."""
        reply = client.call(method, path, body, headers, **params)
        if reply.status in BUSY:
            return None
        self.answered += 1
        if reply.status in (200, 202) and "seq" in reply.data:
            self.seq = self.risen("seq", self.seq, reply.data["seq"], reply)
        return reply

    def risen(self, name, old, new, reply):
        if new < old and not reply.header("Idempotent-Replayed"):
            raise Lost("%s: %s fell from %d: %r" % (self.space, name, old, reply))
        return max(old, new)

    def verify_space(self, client):
        """The space's own figures; None: it is not there."""
        reply = client.get(self.path)
        if reply.status == 404:
            return None
        data = reply.expect(200)
        self.seq = self.risen("seq", self.seq, data["seq"], reply)
        self.processed_seq = self.risen("processed_seq", self.processed_seq,
                                        data["processed_seq"], reply)
        return data


def is_row_of(row, turn):
    """The listed turn is what was sent."""
    name = turn.get("id") or "turn_%d" % row["n"]
    return row["id"] == name and all(
        row.get(field) == turn.get(field) for field in ("text", "speaker", "role", "session"))


class Poster(Spokesman):
    def __init__(self, space, calls):
        super().__init__(space)
        self.calls = calls
        self.position = 0        # so many calls are acknowledged
        self.is_pending = False  # the next one was sent
        self.known = []          # (turn, n) of each acknowledged turn that was not deleted
        self.settings = {}
        self.early = None        # a flush that ended before its time and its work

    def is_finished(self):
        return self.position == len(self.calls)

    def begin(self):
        self.early = None

    def step(self, client):
        call = self.calls[self.position]
        was_pending, self.is_pending = self.is_pending, True
        reply = self.send(client, call.method, call.path, call.body, call.headers, **call.params)
        if reply is None:
            return False
        if self.early:
            raise Wrong("%s: a flush that was waited for: %r" % (self.space, self.early))
        if reply.status == 202 and call.params.get("wait"):
            # Right if the daemon is stopping: then this was its last answer.
            self.early = reply
            return False
        self.check_reply(call, reply, was_pending)
        self.position += 1
        self.is_pending = False
        return True

    def check_reply(self, call, reply, was_pending):
        if call.turns:
            self.acknowledge(call, reply.expect(202), was_pending)
        elif call.target:
            reply.expect(*(200, 404) if was_pending else (200,))
            self.known = self.without(call.target)
        elif call.params.get("wait"):
            if reply.expect(200)["pending_turns"] != 0:
                raise Wrong("%s: a flush that was waited for: %r" % (self.space, reply))
        elif call.method == "PUT":
            reply.expect(200, 201)
            self.settings = call.body
        else:
            reply.expect(202)

    def acknowledge(self, call, data, was_pending):
        count = len(call.turns)
        counts = (data["accepted"], data["duplicates"])
        named = [turn.get("id") or "turn_%d" % got["n"]
                 for turn, got in zip(call.turns, data["turns"])]
        if [got["id"] for got in data["turns"]] != named or len(named) != count or (
                counts != (count, 0) and not (was_pending and counts == (0, count))):
            raise Wrong("%s: sent %s, was answered %s" % (self.space, call.turns, data))
        self.known += zip(call.turns, (got["n"] for got in data["turns"]))

    def without(self, name):
        return [item for item in self.known if item[0].get("id") != name]

    def verify(self, client):
        space = self.verify_space(client)
        if space is None:
            if self.position:
                raise Lost("%s: the space with %d turns" % (self.space, len(self.known)))
            return
        for name, value in self.settings.items():
            if space["settings"][name] != value:
                raise Lost("%s: its settings: %s" % (self.space, space))
        self.verify_turns(list_all(client, self.space, "turns"))

    def verify_turns(self, rows):
        """Everything that was acknowledged, and of the call in flight all or nothing."""
        pending = self.calls[self.position] if self.is_pending else None
        wanted = [self.known]
        if pending and pending.target:
            wanted.append(self.without(pending.target))
        elif pending:
            wanted.append(self.known + [(turn, None) for turn in pending.turns])
        if not any(self.is_list(rows, items) for items in wanted):
            self.complain(rows, wanted[-1] if pending and pending.target else self.known)

    def is_list(self, rows, items):
        return len(rows) == len(items) and all(
            is_row_of(row, turn) and n in (None, row["n"]) for row, (turn, n) in zip(rows, items))

    def complain(self, rows, must):
        there = {row["n"] for row in rows}
        missing = [n for _, n in must if n not in there]
        if missing:
            raise Lost("%s: %d of %d acknowledged turns missing, numbers %s" % (
                self.space, len(missing), len(must), missing[:5]))
        wrong = [row for row, (turn, n) in zip(rows, must)
                 if row["n"] != n or not is_row_of(row, turn)]
        raise Wrong("%s: %d turns listed, %d acknowledged; the first that differ: %s" % (
            self.space, len(rows), len(must), (wrong + rows[len(must):])[:3]))


class Eraser(Spokesman):
    """Posts, and deletes turns, facts and episodes; one action at a time."""

    def __init__(self, space, seed):
        super().__init__(space)
        self.random = random.Random("%s erases %s" % (seed, space))
        self.number = 0
        self.there = {}          # turn id -> its marked word
        self.gone = {}           # the same, deleted
        self.gone_facts = {}     # fact id -> content
        self.pending = None      # (kind, ...) sent and not answered
        self.deleted = 0

    def step(self, client):
        is_again = self.pending is not None
        if not is_again:
            self.pending = self.next_action(client)
        kind, path, subject = self.pending
        if kind == "post":
            reply = self.send(client, "POST", path, {"turns": [turn for turn, _ in subject]})
        else:
            reply = self.send(client, "DELETE", path)
        if reply is None:
            return False
        if kind == "post":
            reply.expect(202)
        elif reply.status == 404 and kind == "fact" and not is_again:
            self.pending = None  # the rebuild after an earlier delete was faster
            return True
        else:
            reply.expect(200, 404) if is_again else reply.expect(200)
            self.deleted += 1
        self.settle(kind, subject)
        return True

    def settle(self, kind, subject):
        if kind == "post":
            self.there.update((turn["id"], word) for turn, word in subject)
        elif kind == "fact":
            self.gone_facts[subject["id"]] = subject["content"]
        else:
            for name in subject:
                self.gone[name] = self.there.pop(name)
        self.pending = None

    def next_action(self, client):
        kind = self.random.random()
        if kind < 0.2 and len(self.there) > 10:
            name = self.random.choice(sorted(self.there))
            return "turn", self.path + "/turns/" + name, [name]
        if kind < 0.35:
            fact = self.one_of(client, "facts")
            if fact:
                return "fact", self.path + "/facts/" + fact["id"], fact
        if kind < 0.4:
            episode = self.one_of(client, "episodes")
            if episode:
                return "episode", self.path + "/episodes/" + episode["id"], episode["turn_ids"]
        return "post", self.path + "/turns", [self.new_turn() for _ in range(3)]

    def one_of(self, client, noun):
        reply = client.get("%s/%s" % (self.path, noun), limit=20)
        rows = reply.data[noun] if reply.status == 200 else ()
        return self.random.choice(rows) if rows else None

    def new_turn(self):
        self.number += 1
        return story.marked_turn(self.space, self.number, self.random)

    def verify(self, client):
        self.verify_space(client)
        rows = list_all(client, self.space, "turns")
        there = [row["id"] for row in rows or ()]
        if len(set(there)) != len(there):
            raise Wrong("%s: a turn is listed twice" % self.space)
        must, may = self.expected()
        missing = sorted(must - set(there))
        if missing:
            raise Lost("%s: acknowledged turns missing: %s" % (self.space, missing[:5]))
        extra = set(there) - must
        if extra and extra != may:
            raise Wrong("%s: deleted or unknown turns are there: %s, pending %r" % (
                self.space, sorted(extra)[:5], self.pending))
        if rows is not None:
            self.verify_deleted(client)

    def expected(self):
        """Turns that must be there, and those of the pending action: all of them or none."""
        must, may = set(self.there), set()
        if self.pending and self.pending[0] == "post":
            may = {turn["id"] for turn, _ in self.pending[2]}
        elif self.pending and self.pending[0] in ("turn", "episode"):
            may = set(self.pending[2])
        return must - may, may

    def verify_deleted(self, client):
        for name in self.random.sample(sorted(self.gone), min(3, len(self.gone))):
            client.get("%s/turns/%s" % (self.path, name)).expect(404)
        dead = set(self.gone.values())
        for noun in ("facts", "episodes", "topics"):
            rows = list_all(client, self.space, noun) or ()
            alive = dead & set(MARK.findall(json.dumps(rows)))
            if alive:
                raise Wrong("%s: %s still hold deleted words: %s" % (
                    self.space, noun, sorted(alive)[:5]))
            if noun == "facts":
                self.verify_facts(rows)

    def verify_facts(self, rows):
        contents = {row["content"] for row in rows}
        for row in rows:
            if row["id"] in self.gone_facts:
                raise Wrong("%s: deleted fact %s is back" % (self.space, row["id"]))
        back = contents & set(self.gone_facts.values())
        if back:
            raise Wrong("%s: deleted facts were made again: %s" % (self.space, sorted(back)[:3]))

    def words_gone(self, count):
        """Some marked words that no live value may hold."""
        return self.random.sample(sorted(self.gone.values()), min(count, len(self.gone)))


class Ghost(Spokesman):
    """Its space is deleted as soon as it has some turns."""

    TURNS = 40

    def __init__(self, space, seed):
        super().__init__(space)
        self.random = random.Random("%s haunts %s" % (seed, space))
        self.number = 0
        self.there = []     # turn ids, acknowledged
        self.pending = None  # turns sent, or "delete"
        self.deleted = 0

    def step(self, client):
        is_again = self.pending is not None
        if not is_again:
            self.pending = "delete" if len(self.there) >= self.TURNS else self.new_turns()
        if self.pending == "delete":
            reply = self.send(client, "DELETE", self.path, confirm=self.space)
        else:
            reply = self.send(client, "POST", self.path + "/turns", {"turns": self.pending})
        if reply is None:
            return False
        if self.pending == "delete":
            reply.expect(200, 404) if is_again else reply.expect(200)
            self.there, self.deleted = [], self.deleted + 1
        else:
            reply.expect(202)
            self.there += [turn["id"] for turn in self.pending]
        self.pending = None
        return True

    def new_turns(self):
        turns = []
        for _ in range(self.TURNS // 4):
            self.number += 1
            turns.append(story.marked_turn(self.space, self.number, self.random)[0])
        return turns

    def verify(self, client):
        rows = list_all(client, self.space, "turns")
        there = [row["id"] for row in rows or ()]
        allowed = [self.there]
        if self.pending == "delete":
            allowed.append([])
        elif self.pending:
            allowed.append(self.there + [turn["id"] for turn in self.pending])
        if there not in allowed:
            missing = set(self.there) - set(there)
            raise (Lost if missing else Wrong)("%s: has %s, wants %s" % (
                self.space, there[:50], allowed))

    def vanish(self, client):
        """The end: its space is deleted for good."""
        client.delete(self.path, confirm=self.space).expect(200, 404)
        self.there, self.pending = [], None

    def words_gone(self, count):
        """Some marked words, once it has vanished."""
        numbers = self.random.sample(range(1, self.number + 1), min(count, self.number))
        return [story.marked_word(self.space, number) for number in numbers]
