"""Rounds of kill and reopen while a chat model tells the episodes (tests/fakes/model_server.py).

Each round: a life with a fault point of the work with models, or a kill at a random moment, while
turns are posted, flushed (so that drafts are split) and deleted, and the model fails now and then.
After each kill: fsck, and every acknowledged turn is there once. At the end all jobs have ended and
every turn is in one episode.
"""
import os
import random
import shutil
import tempfile
import threading
import time

import clients
import failures
import harness
import rounds
from model_server import ModelServer

POINTS = {"work.before_call": 12, "work.after_answer": 12, "work.after_commit": 16,
          "stage.after_build": 8, "stage.after_commit": 8, "writer.mid_apply": 60}
SPACES = ("m0", "m1", "m2")
LIFE_S = 8
BAD_S, BAD_CALLS = 3, 4  # those that were on their way
STEPS = 12  # of each teller in a life
LINES = ("We talked about %s with %d friends.", "The price of %s is %d euros now.",
         "I dreamt of %s for %d nights.", "Correction: %s cost %d euros.")
THINGS = ("the marathon", "the flat in Leipzig", "the brown dog", "the piano", "the choir")


class Teller:
    """One space's client: posts runs of turns, flushes, deletes; knows what was acknowledged."""

    def __init__(self, space, seed):
        self.path = "/v1/spaces/" + space
        self.space, self.random = space, random.Random("%s tells %s" % (space, seed))
        self.number, self.there, self.maybe, self.trouble = 0, set(), set(), None

    def turn(self):
        self.number += 1
        text = self.random.choice(LINES) % (self.random.choice(THINGS), self.number)
        if self.number % 4 == 1:
            text = "New subject: " + text
        return {"id": "t%d" % self.number, "session": "s%d" % self.random.randint(1, 2),
                "speaker": ("Nora", "Idris")[self.number % 2], "text": text,
                "timestamp": "2026-03-%02dT10:%02d:00Z" % (1 + self.number // 60 % 28,
                                                           self.number % 60)}

    def step(self, client):
        kind = self.random.random()
        if kind < 0.12 and self.there:
            name = self.random.choice(sorted(self.there))
            self.maybe, self.there = {name}, self.there - {name}
            client.delete("%s/turns/%s" % (self.path, name)).expect(200)
        elif kind < 0.2 and self.there:
            client.post(self.path + "/redo", {}).expect(202)
        else:
            some = [self.turn() for _ in range(self.random.choice((2, 9, 13)))]
            self.maybe = {turn["id"] for turn in some}
            client.post(self.path + "/turns", {"turns": some}).expect(202)
            self.there |= self.maybe
            client.post(self.path + "/flush", wait=False).expect(202)
        self.maybe = set()

    def run(self, port, more):
        client = harness.Client(port, seconds=clients.REPLY_S)
        try:
            for _ in range(STEPS):
                if more():
                    self.step(client)
        except (OSError, ValueError, harness.http.client.HTTPException):
            pass  # killed in the middle: what was under way may be there or not
        except AssertionError as error:
            self.trouble = error
        finally:
            client.close()

    def verify(self, client):
        rows = clients.list_all(client, self.space, "turns") or []
        names = [row["id"] for row in rows]
        if len(set(names)) != len(names):
            raise clients.Wrong("%s: a turn is there twice" % self.space)
        missing, extra = self.there - set(names), set(names) - self.there
        if missing:
            raise clients.Lost("%s: acknowledged turns missing: %s" % (self.space, sorted(missing)))
        if extra and extra != self.maybe:
            raise clients.Wrong("%s: turns %s are there" % (self.space, sorted(extra)))
        self.there, self.maybe = set(names), set()

    def verify_end(self, client):
        """All work is done."""
        client.post(self.path + "/flush", wait=False).expect(202)
        client.settle(self.space, 90, flush=False)
        harness.wait_until(lambda: not self.unfinished(client), 90,
                           "the jobs of %s have ended" % self.space)
        self.verify(client)
        told = [name for row in clients.list_all(client, self.space, "episodes") or []
                for name in row["turn_ids"]]
        if sorted(told) != sorted(self.there):
            raise clients.Wrong("%s: not every turn is in one episode: %s" % (
                self.space, sorted(set(told) ^ self.there)))
        for row in clients.list_all(client, self.space, "episodes") or []:
            if not row["topic_ids"]:
                raise clients.Wrong("%s: %s stayed a draft" % (self.space, row["id"]))

    def unfinished(self, client):
        return [job for job in clients.list_all(client, self.space, "jobs") or []
                if job["state"] in ("pending", "running", "waiting")]


def settings(models):
    return {"HYPERMEM_LLM_BASE_URL": models.url, "HYPERMEM_LLM_MODEL": "fake",
            "HYPERMEM_LLM_ATTEMPTS": "1", "HYPERMEM_LLM_PATIENCE_S": "5",
            "HYPERMEM_STAGE_PACE_MS": "0"}


class Arc:
    """A directory, three tellers, one model that outlives the daemons."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.home = tempfile.mkdtemp(prefix="hmcrash-")
        self.data_dir = os.path.join(self.home, "data")
        os.mkdir(self.data_dir)
        self.people = [Teller(space, seed) for space in SPACES]
        self.models = ModelServer(delay_s=0.01)
        self.hits = dict.fromkeys(POINTS, 0)
        self.share, self.turn = 0.0, 0

    def __enter__(self):
        self.models.__enter__()
        for fault in ({"do": "status", "status": 503}, {"content": "no"}):
            self.models.script(dict(fault, times=None,
                                    when=lambda _: self.random.random() < self.share / 2))
        return self

    def __exit__(self, *_):
        self.models.__exit__(None, None, None)
        shutil.rmtree(self.home, ignore_errors=True)

    def life(self, *options):
        return rounds.Life(self.data_dir, options=options, env=settings(self.models))

    def busy_life(self, options, is_over):
        with self.life(*options) as life:
            if life.wait_ready():
                stop = time.monotonic() + LIFE_S

                def more():
                    return not is_over(life) and time.monotonic() < stop
                threads = [threading.Thread(target=person.run, args=(life.daemon.port, more))
                           for person in self.people]
                for thread in threads:
                    thread.start()
                while more():
                    time.sleep(0.003)
                was_dead = life.is_dead()
                life.daemon.kill()
                for thread in threads:
                    thread.join()
            else:
                was_dead = True
        for person in self.people:
            if person.trouble:
                raise person.trouble
        return was_dead

    def round(self):
        self.share = self.random.choice((0, 0.1, 0.4))
        name = sorted(POINTS)[self.turn % len(POINTS)]
        self.turn += 1
        nth = self.random.randint(1, POINTS[name])
        was_hit = self.busy_life(("--fault=%s:%d:kill" % (name, nth),),
                                 lambda life: life.is_dead())
        self.hits[name] += was_hit
        self.look()
        end = time.monotonic() + self.random.random() * 0.6
        self.busy_life((), lambda _: time.monotonic() > end)
        self.look()
        return "%s:%d%s, and at random" % (name, nth, "" if was_hit else " (not reached)")

    def look(self):
        rounds.fsck(self.data_dir)
        with self.life() as life:
            life.must_be_ready()
            with life.client() as client:
                for person in self.people:
                    person.verify(client)
            life.daemon.kill()

    def finish(self):
        self.share = 0.0
        with self.life() as life:
            life.must_be_ready()
            with life.client() as client:
                for person in self.people:
                    person.verify_end(client)
            log = life.daemon.log()
            life.stop()
        rounds.fsck(self.data_dir)
        for word in ("stage_failed", "stage_stalled"):
            if word in log:
                raise clients.Wrong(log)
        missed = [name for name in POINTS if name.startswith("work.") and not self.hits[name]]
        if self.turn >= len(POINTS) and missed:
            raise AssertionError("never reached: %s" % ", ".join(missed))
        return "%d turns, %s" % (sum(len(person.there) for person in self.people), ", ".join(
            "%s %d" % item for item in sorted(self.hits.items()) if item[1]))


def bad_disk(rule, status, mend):
    """What a model answers cannot be kept: it is not asked over and over meanwhile, and when
    writing works again all of it is told, nothing by rule. mend(scene, life) gives the life after
    it."""
    with failures.Scene(rule) as scene, ModelServer(delay_s=0.02) as models:
        person = Teller("m0", 7)
        with rounds.Life(scene.data_dir, scene.shim, env=settings(models)) as life:
            with life.must_be_ready().client() as client:
                told = tell_bad_disk(scene, models, person, client, status)
            with mend(scene, models, life) as again:
                with again.must_be_ready().client() as client:
                    check_told(person, client)
                again.stop()
        rounds.fsck(scene.data_dir)
    return told


def tell_bad_disk(scene, models, person, client, status):
    for _ in range(8):
        some = [person.turn() for _ in range(12)]
        client.post(person.path + "/turns", {"turns": some}).expect(202)
        person.there |= {turn["id"] for turn in some}
    client.post(person.path + "/flush", wait=False).expect(202)
    harness.wait_until(lambda: models.stats()["requests"] >= 4, 20, "the model is asked")
    scene.shim.fail_now(True)
    harness.wait_until(lambda: client.put("/v1/spaces/other").status == status, 20, "a bad disk")
    before = models.stats()["requests"]
    time.sleep(BAD_S)
    asked = models.stats()["requests"] - before
    if asked > BAD_CALLS:
        raise clients.Wrong("the model was asked %d times for nothing" % asked)
    person.verify(client)
    waiting = len(person.unfinished(client))
    if not waiting:
        raise AssertionError("all was done before the disk was bad")
    return "%d calls meanwhile, %d jobs waited" % (asked, waiting)


def check_told(person, client):
    harness.wait_until(lambda: client.put("/v1/spaces/other").status in (200, 201), 20, "writes")
    person.verify_end(client)
    for row in clients.list_all(client, person.space, "episodes"):
        if row["degraded"]:
            raise clients.Wrong("%s is by rule" % row["id"])


def make_room(scene, _, life):
    scene.shim.fail_now(False)
    return life


def replace_disk(scene, models, life):
    life.daemon.kill()
    scene.shim.undo()
    return rounds.Life(scene.data_dir, env=settings(models))


def run(tally, seed, count):
    tally.check("with models: a full disk", lambda: bad_disk("data:1:enospc:0", 507, make_room))
    tally.check("with models: a broken disk", lambda: bad_disk("sync:1:eio:1", 503, replace_disk))
    with Arc(seed) as arc:
        for number in range(1, count + 1):
            if not tally.check("with models: round %d of %d" % (number, count), arc.round):
                return
        tally.check("with models: the end", arc.finish)
