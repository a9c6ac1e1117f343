"""The input: what several clients say, the same for a seed, whatever the daemon does meanwhile.

    calls = conversation(seed=1, space="c0", count=200)    # [Call], to be sent in this order

A conversation has what makes the stages work: sessions that interleave, hours of silence, relative
dates, sentences said again word for word, flushes of one session in the middle. Most turns have ids
of their own; some calls have an Idempotency-Key instead. Turns are deleted only after a flush that
was waited for, so that what the delete finds does not depend on how fast the stages were.
"""
import collections
import datetime
import random

# turns: what a POST of turns adds; target: the id that a DELETE takes away, else "".
Call = collections.namedtuple("Call", "method path body params headers turns target")

PEOPLE = ("Mira", "Jonas", "Priya", "assistant")
SESSIONS = ("work", "home", "phone")
WHENS = ("yesterday", "last Friday", "two weeks ago", "next month", "tomorrow", "this morning",
         "on 3 March", "last night", "in three days")
PLACES = ("Lisbon", "the harbour", "Graz", "the old mill", "Kyoto", "the library", "Oslo")
STORIES = {
    "marathon": ("I ran {n} km by the river near {place} {when}.",
                 "My knee hurt after the long training run {when}.",
                 "The marathon in {place} has {n}00 runners and a steep last hill.",
                 "New running shoes arrived {when}; they cost ${n}9.",
                 "The trainer wants {n} intervals at marathon pace {when}."),
    "launch": ("The product launch moved, we ship the billing module {when}.",
               "Overtime again: {n} tickets of the launch are still open.",
               "The customer from {place} signed the contract {when}.",
               "Our release checklist has {n} items, the rollback plan is missing.",
               "The load test of the billing module failed {when} at {n}0 requests."),
    "kitchen": ("The carpenter measured the kitchen {when}.",
                "We chose oak for the worktop, {n}2 cm deep.",
                "The oven is delivered to {place} {when}.",
                "The tiles of the kitchen cost {n}4 euros a box.",
                "The electrician forgot {n} sockets behind the fridge."),
    "cat": ("We adopted a cat from the shelter in {place} {when}.",
            "The cat is {n} years old and afraid of the vacuum cleaner.",
            "The vet saw the cat {when} and gave it {n} pills.",
            "The cat slept on my keyboard {when}.",
            "She caught {n} moths in the attic of {place}."),
    "choir": ("The choir sings in {place} {when}.",
              "I have the alto solo in the third movement.",
              "Rehearsal lasted {n} hours {when}, the conductor was strict.",
              "Only {n} basses came to the rehearsal.",
              "The concert tickets for {place} sold out {when}."),
}
SMALL_TALK = ("Good morning!", "Okay, thanks.", "Ha, that is funny.", "Really?", "See you later.")


class Conversation:
    """One space's clients, speaking one after another."""

    def __init__(self, seed, space):
        self.random = random.Random("%s of %s" % (space, seed))
        self.space = space
        self.path = "/v1/spaces/" + space
        hours = self.random.choice((0, 2, -5))
        self.clock = datetime.datetime(2024, 1, 8, 9, 0, tzinfo=datetime.timezone(
            datetime.timedelta(hours=hours)))
        self.settings = {"timezone": "%+03d:00" % hours if hours else "UTC"}
        self.story = {name: self.random.choice(sorted(STORIES)) for name in SESSIONS}
        self.said = []
        self.names = []     # ids of turns that are there
        self.number = 0

    def calls(self, count):
        made = [self.call("PUT", "", self.settings)]
        while len(made) < count - 1:
            made += self.next_calls()
        return made + [self.flush_all()]

    def call(self, method, path, body, params=(), headers=(), turns=(), target=""):
        return Call(method, self.path + path, body, dict(params), dict(headers), turns, target)

    def next_calls(self):
        kind = self.random.random()
        if kind < 0.02 and self.names:
            count = self.random.randint(0, min(2, len(self.names)))
            return [self.flush_all()] + [self.delete() for _ in range(count)]
        if kind < 0.05:
            body = {"session": self.random.choice(SESSIONS)}
            waits = {"wait": True} if self.random.random() < 0.5 else {}
            return [self.call("POST", "/flush", body, waits)]
        return [self.speak(self.random.choice(SESSIONS))]

    def flush_all(self):
        return self.call("POST", "/flush", {}, {"wait": True})

    def delete(self):
        name = self.names.pop(self.random.randrange(len(self.names)))
        return self.call("DELETE", "/turns/" + name, None, target=name)

    def speak(self, session):
        self.pass_time(session)
        turns = [self.turn(session) for _ in range(self.random.choice((1, 1, 2, 3, 4)))]
        headers = {}
        if self.random.random() < 0.12:
            headers["Idempotency-Key"] = turns[0]["id"]
            for turn in turns:
                del turn["id"]
        self.names += [turn["id"] for turn in turns if "id" in turn]
        return self.call("POST", "/turns", {"turns": turns}, headers=headers, turns=tuple(turns))

    def pass_time(self, session):
        if self.random.random() < 0.07:
            self.clock += datetime.timedelta(hours=self.random.randint(5, 60))
            self.story[session] = self.random.choice(sorted(STORIES))

    def turn(self, session):
        self.number += 1
        self.clock += datetime.timedelta(seconds=self.random.randint(-20, 400))
        speaker = self.random.choice(PEOPLE)
        turn = {"id": "%s-%05d" % (self.space, self.number), "speaker": speaker,
                "role": "assistant" if speaker == "assistant" else "user",
                "text": self.text(session), "timestamp": self.clock.isoformat()}
        if session != "phone":
            turn["session"] = session
        if self.random.random() < 0.1:
            turn["metadata"] = {"mood": self.random.choice(("good", "bad")), "number": self.number}
        return turn

    def text(self, session):
        kind = self.random.random()
        if kind < 0.08:
            return self.random.choice(SMALL_TALK)
        if kind < 0.16 and self.said:
            return self.random.choice(self.said)
        text = " ".join(self.sentence(session) for _ in range(self.random.choice((1, 1, 2, 3))))
        self.said = self.said[-30:] + [text]
        return text

    def sentence(self, session):
        return self.random.choice(STORIES[self.story[session]]).format(
            n=self.random.randint(2, 19), when=self.random.choice(WHENS),
            place=self.random.choice(PLACES))


def conversation(seed, space, count):
    """About `count` calls; the first sets the space up, the last closes every episode."""
    return Conversation(seed, space).calls(count)


def marked_word(space, number):
    return "zq%s%05dx" % (space, number)


def marked_turn(space, number, rng):
    """A turn whose every sentence holds a word that occurs nowhere else; returns (turn, word)."""
    word = marked_word(space, number)
    story = STORIES[rng.choice(sorted(STORIES))]
    text = " ".join(
        rng.choice(story).format(n=rng.randint(2, 19), when=rng.choice(WHENS),
                                 place=rng.choice(PLACES)).replace(".", " with %s." % word)
        for _ in range(rng.choice((1, 2))))
    when = datetime.datetime(2024, 2, 1, tzinfo=datetime.timezone.utc)
    when += datetime.timedelta(minutes=number * 11 + (number // 9) * 900)
    return {"id": "%s-%05d" % (space, number), "session": rng.choice(SESSIONS),
            "speaker": rng.choice(PEOPLE[:3]), "text": text, "timestamp": when.isoformat()}, word
