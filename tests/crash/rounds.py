"""Rounds of kill and reopen on one data directory, and the proof that nothing was lost.

    arc = Arc(seed, rounds)          the input, its undisturbed run, an empty directory
    arc.round(...)                   kills, takes back what was not synced, looks
    arc.finish()                     sends the rest, waits for all jobs, compares the digests

A life of the daemon ends with SIGKILL: at a named fault point, when clients have got so many
replies, or while it starts. After each kill come the undoing of unsynced writes and fsck; the next
life begins with a look at everything that was acknowledged.
"""
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time

import clients
import harness
import story
import undo

OPTIONS = ("--log-level=warn",)
SPACES = ("c0", "c1", "c2", "c3")
CALLS_A_LIFE = 9        # for each conversation, until the clients rest
IDLE_S = 0.25           # after that a planned fault gets so long to be reached
LIFE_S = 20
# The largest n of "the n-th visit" that a life of this size reaches.
NTH = {"writer.mid_apply": 40, "writer": 15, "stage": 12, "reply": 40, "fold": 2, "purge": 2}


def fault_names():
    done = harness.run("config", "--faults", fault=True)
    if done.returncode != 0 or not done.stdout.split():
        raise AssertionError("config --faults: %s%s" % (done.stdout, done.stderr))
    # Those of the work with models belong to models.py.
    return [name for name in done.stdout.split() if not name.startswith("work.")]


def fsck(data_dir, *args, statuses=(0,)):
    done = harness.run("fsck", "--data-dir", data_dir, *args, fault=True, seconds=120)
    if done.returncode not in statuses:
        raise clients.Wrong("fsck %s ended with %d\n%s%s" % (
            " ".join(args), done.returncode, done.stdout[-3000:], done.stderr[-3000:]))
    return done


def digests(data_dir):
    """{space: digest}."""
    lines = fsck(data_dir, "--digest").stdout.split("\n")
    return dict(line.rsplit(" ", 1) for line in lines if line.count(" ") == 1)


class Life:
    """One start of the daemon, under the shim or not."""

    def __init__(self, data_dir, shim=None, options=(), binary="", env=None):
        self.daemon = harness.Daemon(*OPTIONS, *options, data_dir=data_dir, fault=True, start=False,
                                     env=dict(env or {}, **(shim.begin() if shim else {})))
        self.daemon.binary = binary or self.daemon.binary
        self.daemon.spawn()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.daemon.show()
        self.daemon.kill()
        self.daemon.close()

    def is_dead(self):
        return self.daemon.process.poll() is not None

    def wait_ready(self):
        """False when it was killed before it listened, which is what a fault point may do."""
        def listening():
            if self.is_dead():
                return "dead"
            return self.daemon.find_address()
        try:
            found = harness.wait_until(listening, harness.START_S, "the listening line")
        except AssertionError:
            if self.is_dead() and self.daemon.process.returncode == -9:
                return False
            raise
        if found == "dead":
            if self.daemon.process.returncode == -9:
                return False
            raise clients.Wrong("the daemon ended with status %d before it listened\n%s" % (
                self.daemon.process.returncode, self.daemon.log()))
        self.daemon.port = int(found.group(2))
        return True

    def client(self):
        return self.daemon.client(seconds=clients.REPLY_S)

    def must_be_ready(self):
        if not self.wait_ready():
            raise clients.Wrong("the daemon died at its start\n" + self.daemon.log())
        return self

    def stop(self):
        status = self.daemon.stop()
        if status != 0:
            raise clients.Wrong("SIGTERM: the daemon ended with status %d\n%s" % (
                status, self.daemon.log()))


class Crowd:
    """The clients at work, each in a thread; ends when all have ended."""

    def __init__(self, people, port, quota=None):
        self.people = people
        self.stopped = False
        self.base = {id(person): person.answered for person in people}
        self.before = self.answered()

        def more(person):
            done = person.answered - self.base[id(person)]
            return not self.stopped and (quota is None or done < quota)
        self.threads = [threading.Thread(target=person.run, args=(port, more), daemon=True)
                        for person in people]
        for thread in self.threads:
            thread.start()

    def answered(self):
        return sum(person.answered for person in self.people)

    def is_working(self):
        return any(thread.is_alive() for thread in self.threads)

    def wait(self, condition, seconds):
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.003)
        return condition()

    def must(self, condition):
        if not self.wait(condition, LIFE_S):
            raise clients.Wrong("the daemon answers nobody: %d replies within %d s" % (
                self.answered() - self.before, LIFE_S))

    def join(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()
        for person in self.people:
            if person.trouble:
                raise person.trouble


class Faults:
    """Takes the fault points in turn, and notes which have killed."""

    def __init__(self, rng):
        self.random = rng
        self.names = fault_names()
        self.most = {name: NTH.get(name, NTH.get(name.split(".")[0], 10)) for name in self.names}
        self.hits = dict.fromkeys(self.names, 0)
        self.turn = 0

    def next(self):
        """(name, n-th visit); points without a hit come first once each had its turn."""
        missed = [name for name in self.names if not self.hits[name]]
        pool = missed if self.turn >= len(self.names) and missed else self.names
        name = pool[self.turn % len(pool)]
        self.turn += 1
        return name, self.random.randint(1, self.most[name])

    def record(self, name, was_hit):
        self.hits[name] += was_hit
        if not was_hit:
            self.most[name] = max(1, self.most[name] // 3)


class Arc:
    def __init__(self, seed, rounds, lives_a_round=3, binary=""):
        self.seed, self.binary = seed, binary
        self.random = random.Random(seed)
        self.home = tempfile.mkdtemp(prefix="hmcrash-")
        self.data_dir = os.path.join(self.home, "data")
        os.mkdir(self.data_dir)
        self.shim = undo.Shim(self.data_dir)
        # Many a life is over before its clients rest; what they did not send goes at the end.
        count = max(40, rounds * lives_a_round * CALLS_A_LIFE * 2 // 3)
        self.posters = [clients.Poster(space, story.conversation(seed, space, count))
                        for space in SPACES]
        self.eraser = clients.Eraser("eraser", seed)
        self.ghost = clients.Ghost("ghost", seed)
        self.people = self.posters + [self.eraser, self.ghost]
        self.is_fickle = True  # every other power cut leaves a random part of what was not synced
        self.kills = self.pages = 0
        self.reference = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shim.close()
        shutil.rmtree(self.home, ignore_errors=True)

    # --- the undisturbed run ---

    def run_reference(self):
        """The same input without a kill, in a directory of its own."""
        data_dir = os.path.join(self.home, "reference")
        os.mkdir(data_dir)
        posters = [clients.Poster(poster.space, poster.calls) for poster in self.posters]
        with Life(data_dir) as life:
            life.must_be_ready()
            post_all(life, posters)
            life.stop()
        fsck(data_dir)
        self.reference = digests(data_dir)
        if set(self.reference) != set(SPACES):
            raise clients.Wrong("fsck --digest tells %s" % self.reference)
        shutil.rmtree(data_dir)

    # --- rounds ---

    def round(self, faults, fault_lives):
        """A kill at each of `fault_lives` fault points, one at a random time, then a look."""
        told = []
        for _ in range(fault_lives):
            name, nth = faults.next()
            was_hit = self.life_with_fault(name, nth)
            faults.record(name, was_hit)
            told.append("%s:%d%s" % (name, nth, "" if was_hit else " (not reached)"))
        if self.random.random() < 0.15:
            told.append(self.life_killed_at_start())
        told.append(self.life_killed_at_random())
        with self.life() as life:
            self.verify(life.must_be_ready())
            self.die(life)
        return ", ".join(told)

    def life(self, *options):
        return Life(self.data_dir, self.shim, options, self.binary)

    def life_with_fault(self, name, nth):
        """True when the fault point has killed; else the plan was too high, and we do it."""
        with self.life("--fault=%s:%d:kill" % (name, nth)) as life:
            if life.wait_ready():
                crowd = Crowd(self.people, life.daemon.port, CALLS_A_LIFE)
                crowd.must(lambda: life.is_dead() or not crowd.is_working())
                crowd.wait(life.is_dead, IDLE_S)
                was_hit = life.is_dead()
                self.die(life, crowd)
            else:
                was_hit = True
                self.die(life)
        return was_hit

    def life_killed_at_random(self, least=0):
        with self.life() as life:
            self.verify(life.must_be_ready())
            crowd = Crowd(self.people, life.daemon.port, CALLS_A_LIFE)
            after = self.random.randint(least, CALLS_A_LIFE * len(self.people))
            crowd.must(lambda: crowd.answered() - crowd.before >= after or
                       not crowd.is_working())
            pause = self.random.choice((0, 0.002, 0.01, 0.05))
            time.sleep(self.random.random() * pause)
            self.die(life, crowd)
        return "random after %d replies" % after

    def life_undisturbed(self):
        with self.life() as life:
            life.must_be_ready().stop()

    def life_killed_at_start(self):
        with self.life() as life:
            time.sleep(self.random.random() * 0.04)
            self.die(life)
        return "at start"

    def die(self, life, crowd=None):
        """The kill, the power cut, and fsck on what is left."""
        if life.is_dead() and life.daemon.process.returncode != -9:
            raise clients.Wrong("the daemon ended by itself with status %d\n%s" % (
                life.daemon.process.returncode, life.daemon.log()))
        life.daemon.kill()
        if crowd:
            crowd.join()
        self.kills += 1
        is_coin = self.is_fickle and self.kills % 2 == 0
        self.pages += self.shim.undo(self.random if is_coin else None)
        if os.path.exists(os.path.join(self.data_dir, "data.mdb")) and self.has_data():
            fsck(self.data_dir)

    def has_data(self):
        """Before the first commit there is no tree, which fsck refuses."""
        return any(person.answered for person in self.people)

    def verify(self, life):
        with life.client() as client:
            for person in self.people:
                person.verify(client)

    # --- the end ---

    def finish(self):
        """All input is sent, all jobs end, and nobody could tell that anything had happened."""
        with self.life() as life:
            self.verify(life.must_be_ready())
            post_all(life, self.posters)
            with life.client() as client:
                if self.eraser.answered:
                    client.settle(self.eraser.space)
                self.ghost.vanish(client)
                self.verify(life)
                for space in SPACES + (self.eraser.space,):
                    check_jobs(client, space)
            for word in self.eraser.words_gone(2):
                fsck(self.data_dir, "--find", word)
            wait_gone(self.data_dir, self.ghost.words_gone(1))
            life.stop()
        fsck(self.data_dir)
        self.compare()

    def compare(self):
        mine = digests(self.data_dir)
        differ = [space for space in SPACES if mine.get(space) != self.reference[space]]
        if differ:
            raise clients.Wrong("digests differ from the undisturbed run: %s" % ", ".join(differ))


def post_all(life, posters):
    """Sends what is left, and waits until every turn is looked at and every job is done."""
    crowd = Crowd(posters, life.daemon.port)
    crowd.wait(lambda: not crowd.is_working(), 300)
    crowd.join()
    with life.client() as client:
        for poster in posters:
            if not poster.is_finished():
                raise clients.Wrong("%s: %d of %d calls answered\n%s" % (
                    poster.space, poster.position, len(poster.calls), life.daemon.log()))
            got = client.settle(poster.space)
            if got["open_turns"] != 0:
                raise clients.Wrong("%s: open turns after a flush: %s" % (poster.space, got))


def check_jobs(client, space):
    """All that anybody was promised is done; nothing failed on the way."""
    def rows():
        return clients.list_all(client, space, "jobs", limit=100) or []
    harness.wait_until(lambda: all(job["state"] not in ("pending", "running", "waiting")
                                   for job in rows()), 10, "the jobs of %s to end" % space)
    bad = [job for job in rows() if job["state"] != "completed"]
    if bad:
        raise clients.Wrong("%s: jobs that did not complete: %s" % (space, bad[:5]))


def wait_gone(data_dir, words):
    """A deleted space's range goes in steps; until then fsck may still find its words."""
    for word in words:
        harness.wait_until(
            lambda: fsck(data_dir, "--find", word, statuses=(0, 3)).returncode == 0, 10,
            "the deleted word %s to be gone" % word)
