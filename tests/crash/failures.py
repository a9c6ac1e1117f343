"""Disks that fail, stops in the middle, copies made under load: one function a case.

A case raises when something is wrong, and Skipped when this machine does not let it be tried. The
table CASES at the end is what run.py goes through.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import clients
import harness
import rounds
import story
import undo

FULL_FS_BYTES = 3 << 20


class Skipped(Exception):
    """The case cannot be tried here; the text says why."""


class Scene:
    """A directory, its shim, one client's turns and what was acknowledged of them."""

    def __init__(self, fail="", data_dir=""):
        self.home = tempfile.mkdtemp(prefix="hmcrash-")
        self.data_dir = data_dir or os.path.join(self.home, "data")
        os.makedirs(self.data_dir, exist_ok=True)
        self.shim = undo.Shim(self.data_dir, fail)
        # Turns only: whatever comes next is a write that answers 202 on a healthy disk.
        self.poster = clients.Poster("c0", [call for call in story.conversation(11, "c0", 400)
                                            if call.turns])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shim.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def life(self, *options):
        return rounds.Life(self.data_dir, self.shim, options)

    def post(self, client, count):
        for _ in range(count):
            if not self.poster.step(client):
                raise clients.Wrong("a write was refused on a healthy disk")

    def try_write(self, client):
        """One more turn; the reply as it is. It counts as sent, not as acknowledged."""
        call = self.poster.calls[self.poster.position]
        self.poster.is_pending = True
        return client.call(call.method, call.path, call.body, call.headers, **call.params)

    def verify(self, client):
        self.poster.verify(client)

    def check_after_power_cut(self, life):
        """Kills, undoes, and looks at what is left in a new life that takes writes again."""
        life.daemon.kill()
        self.shim.undo()
        rounds.fsck(self.data_dir)
        with self.life() as again, again.must_be_ready().client() as client:
            self.verify(client)
            self.post(client, 5)
            self.verify(client)
            again.stop()
        rounds.fsck(self.data_dir)


def expect_reads(scene, client):
    """Reads go on, whatever writes do."""
    scene.verify(client)
    client.get("/v1/spaces/c0/query", q="marathon").expect(200)
    client.get("/health/live").expect(200)


def check_refused(scene, client, *statuses):
    """Writes until one is refused; returns the refusal."""
    def refused():
        reply = scene.try_write(client)
        if reply.status == 202:
            scene.poster.step(client)  # a duplicate: it is acknowledged
            return None
        return reply.expect(*statuses)
    return harness.wait_until(refused, 10, "a refused write")


# --- the shim itself ---

SHIM_CHILD = """
import os, signal, sys
path = sys.argv[1] + "/f"
f = os.open(path, os.O_RDWR | os.O_CREAT)
os.pwrite(f, b"a" * 10000, 0)
os.fdatasync(f)
os.pwrite(f, b"b" * 100, 50)
os.pwritev(f, [b"c" * 10, b"d" * 6000], 9000)
at_once = os.open(path, os.O_WRONLY | os.O_DSYNC)
os.pwrite(at_once, b"M" * 8, 4096)
os.lseek(f, 0, os.SEEK_END)
os.write(f, b"tail")
os.ftruncate(f, 20000)
os.ftruncate(f, 100)
g = os.open(sys.argv[1] + "/g", os.O_WRONLY | os.O_CREAT)
os.writev(g, [b"never", b"synced"])
os.kill(os.getpid(), signal.SIGKILL)
"""


def shim_takes_back_what_was_not_synced():
    with Scene() as scene:
        subprocess.run([sys.executable, "-c", SHIM_CHILD, scene.data_dir], check=False,
                       env=dict(os.environ, **scene.shim.begin()))
        scene.shim.undo()
        with open(os.path.join(scene.data_dir, "f"), "rb") as file:
            got = file.read()
        want = b"a" * 4096 + b"M" * 8 + b"a" * (10000 - 4096 - 8)
        if got != want:
            raise clients.Wrong("the shim left %d bytes, %d differ" % (
                len(got), sum(a != b for a, b in zip(got, want))))
        if os.path.getsize(os.path.join(scene.data_dir, "g")) != 0:
            raise clients.Wrong("the shim left bytes of a file that was never synced")


# --- a full disk ---

def check_refused_then_well(scene, client, fill, drain):
    """507 once fill() was called, until drain() was; reads go on and nothing is half stored."""
    fill()
    error = check_refused(scene, client, 507)["error"]
    if error["code"] != "storage_full":
        raise clients.Wrong("507 says %r" % (error,))
    expect_reads(scene, client)
    scene.try_write(client).expect(507)
    drain()
    harness.wait_until(lambda: scene.try_write(client).status == 202, 10,
                       "writes to be taken again")
    scene.post(client, 3)
    expect_reads(scene, client)


def full_disk_at_fault_points():
    for name in ("writer.before_apply", "writer.mid_apply", "writer.before_commit"):
        with Scene() as scene, scene.life("--fault=%s:40:enospc" % name) as life:
            with life.must_be_ready().client() as client:
                check_one_refusal(scene, client)
            scene.check_after_power_cut(life)


def check_one_refusal(scene, client):
    """Writes until one is refused; the probe then finds the disk well."""
    statuses = []
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        reply = scene.try_write(client)
        statuses.append(reply.status)
        if reply.status == 507:
            expect_reads(scene, client)
        elif 507 in statuses:
            reply.expect(202)
            break
        else:
            reply.expect(202)
            scene.poster.step(client)
    if 507 not in statuses or statuses[-1] != 202:
        raise clients.Wrong("a full disk gave %s" % statuses[-20:])
    scene.poster.step(client)
    expect_reads(scene, client)


def full_disk_below_lmdb(error):
    with Scene("data:1:%s:0" % error) as scene, scene.life() as life:
        with life.must_be_ready().client() as client:
            scene.post(client, 20)
            check_refused_then_well(scene, client, lambda: scene.shim.fail_now(True),
                                    lambda: scene.shim.fail_now(False))
        scene.check_after_power_cut(life)


def mount_small(path):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % FULL_FS_BYTES, "hmcrash",
                           path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skipped("no small file system can be mounted here: %s" % done.stderr.strip())


def full_file_system():
    folder = tempfile.mkdtemp(prefix="hmcrash-full-")
    try:
        mount_small(folder)
        try:
            with Scene(data_dir=os.path.join(folder, "data")) as scene:
                run_on_full_file_system(scene, os.path.join(folder, "ballast"))
        finally:
            subprocess.run(["umount", "-l", folder], check=False)
    except FileNotFoundError as error:
        raise Skipped("no mount command: %s" % error) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_on_full_file_system(scene, ballast):
    def fill():
        with open(ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
    with scene.life() as life:
        with life.must_be_ready().client() as client:
            scene.post(client, 20)
            check_refused_then_well(scene, client, fill, lambda: os.unlink(ballast))
        scene.check_after_power_cut(life)


# --- a broken disk ---

def check_latched(scene, client):
    """Writes fail for good, reads go on."""
    check_refused(scene, client, 503)
    for _ in range(3):
        expect_reads(scene, client)
        scene.try_write(client).expect(503)


def broken_disk_at_fault_points():
    for name in ("writer.before_apply", "writer.mid_apply", "writer.before_commit"):
        with Scene() as scene, scene.life("--fault=%s:20:eio" % name) as life:
            with life.must_be_ready().client() as client:
                check_latched(scene, client)
            scene.check_after_power_cut(life)


def broken_disk_below_lmdb(rule):
    """The next writes would work again; the daemon must not believe it."""
    with Scene(rule) as scene, scene.life() as life:
        with life.must_be_ready().client() as client:
            scene.post(client, 20)
            scene.shim.fail_now(True)
            check_latched(scene, client)
            scene.shim.fail_now(False)
            scene.try_write(client).expect(503)
        scene.check_after_power_cut(life)


def full_disk_at_meta_page():
    """On a file system that copies on write even this can fail for want of space; LMDB is in panic
    then. Reads go on, writes are refused, and a restart finds all that was acknowledged."""
    with Scene("meta:1:enospc:1") as scene, scene.life() as life:
        with life.must_be_ready().client() as client:
            scene.post(client, 20)
            scene.shim.fail_now(True)
            check_refused(scene, client, 503, 507)
            for _ in range(3):
                expect_reads(scene, client)
        scene.check_after_power_cut(life)


def broken_disk_then_sigterm():
    with Scene("sync:1:eio:1") as scene:
        with scene.life() as life, life.must_be_ready().client() as client:
            scene.post(client, 10)
            scene.shim.fail_now(True)
            check_latched(scene, client)
            life.daemon.signal()
            life.daemon.wait()
        scene.shim.undo()
        with scene.life() as life, life.must_be_ready().client() as client:
            scene.verify(client)
            life.stop()


# --- stopped and copied in the middle ---

def start_crowd(life, posters):
    """The posters at work, with some replies already."""
    crowd = rounds.Crowd(posters, life.must_be_ready().daemon.port)
    crowd.must(lambda: crowd.answered() >= crowd.before + 30)
    return crowd


def fresh_posters(count=120):
    return [clients.Poster(space, story.conversation(5, space, count)) for space in rounds.SPACES]


def stop_under_load():
    with Scene() as scene:
        posters = fresh_posters()
        for number in (signal.SIGTERM, signal.SIGINT):
            with rounds.Life(scene.data_dir) as life:
                crowd = start_crowd(life, posters)
                rounds.fsck(scene.data_dir)  # beside a busy daemon it sees one whole state
                life.daemon.signal(number)
                status = life.daemon.wait()
                crowd.join()
                if status != 0:
                    raise clients.Wrong("signal %d: ended with status %d" % (number, status))
            rounds.fsck(scene.data_dir)
        with rounds.Life(scene.data_dir) as life, life.must_be_ready().client() as client:
            for poster in posters:
                poster.verify(client)
            life.stop()


def backup_under_load():
    """A copy taken while turns come in is a whole state: with the rest of the input it ends as the
    original does."""
    with Scene() as scene:
        copy, restored = os.path.join(scene.home, "copy"), os.path.join(scene.home, "restored")
        posters = fresh_posters()
        with rounds.Life(scene.data_dir) as life:
            crowd = start_crowd(life, posters)
            must_run("backup", "--data-dir", scene.data_dir, "--to", copy)
            most = [poster.position + 1 for poster in posters]
            crowd.must(lambda: crowd.answered() >= crowd.before + 60)
            crowd.join()
            rounds.post_all(life, posters)
            life.stop()
        os.mkdir(restored)
        must_run("restore", "--data-dir", restored, "--from", copy)
        rounds.fsck(restored)
        finish_restored(restored, posters, most)
        if rounds.digests(restored) != rounds.digests(scene.data_dir):
            raise clients.Wrong("the restored copy does not end as the original did")


def finish_restored(data_dir, originals, most):
    """What was acknowledged before the backup ended may be in it, in order; then all is sent."""
    posters = [clients.Poster(poster.space, poster.calls) for poster in originals]
    with rounds.Life(data_dir) as life:
        with life.must_be_ready().client() as client:
            for poster, limit in zip(posters, most):
                resume(client, poster, limit)
        rounds.post_all(life, posters)
        life.stop()


def resume(client, poster, most):
    """Moves the poster to where the copy ends: after a whole number of its calls, as it knows."""
    rows = clients.list_all(client, poster.space, "turns") or []
    got = client.get(poster.path)
    if rows and got.expect(200)["counts"]["turns"] != len(rows):
        raise clients.Wrong("%s: counts %s, %d turns" % (poster.space, got, len(rows)))
    n = 0
    while poster.position < most and not poster.is_list(rows, poster.known):
        call = poster.calls[poster.position]
        if call.target:
            poster.known = poster.without(call.target)
        poster.known += [(turn, n + i) for i, turn in enumerate(call.turns, 1)]
        n += len(call.turns)
        poster.position += 1
    if not poster.is_list(rows, poster.known):
        raise clients.Wrong("%s: the copy holds %d turns, not what was sent up to some call" % (
            poster.space, len(rows)))


def must_run(*args):
    done = harness.run(*args, fault=True, seconds=60)
    if done.returncode != 0:
        raise clients.Wrong("%s ended with %d\n%s%s" % (
            " ".join(args), done.returncode, done.stdout, done.stderr))


# --- the suite itself ---

def missing_sync_is_seen():
    """The same rounds on a build that does not sync must find that turns are lost."""
    with rounds.Arc(seed=3, rounds=1) as arc:
        arc.life_undisturbed()
        arc.is_fickle = False  # everything unsynced is lost, not a part that leaves ruins
        arc.binary = os.environ["HMTEST_NOSYNC_BIN"]
        arc.life_killed_at_random(least=20)
        with arc.life() as life:
            try:
                arc.verify(life.must_be_ready())
            except clients.Lost as loss:
                return str(loss)
    raise clients.Wrong("a build without syncs lost nothing: this suite would not notice one")


CASES = (
    ("the shim takes back what was not synced", shim_takes_back_what_was_not_synced),
    ("a build without syncs is found out", missing_sync_is_seen),
    ("ENOSPC at the fault points: 507 until the probe succeeds", full_disk_at_fault_points),
    ("ENOSPC below LMDB", lambda: full_disk_below_lmdb("enospc")),
    ("short writes below LMDB, which it reports as EIO", lambda: full_disk_below_lmdb("short")),
    ("a full file system", full_file_system),
    ("EIO at the fault points: writes latched until restart", broken_disk_at_fault_points),
    ("EIO of a write", lambda: broken_disk_below_lmdb("data:1:eio:1")),
    ("EIO of fdatasync", lambda: broken_disk_below_lmdb("sync:1:eio:1")),
    ("EIO of the meta page, which leaves LMDB in panic",
     lambda: broken_disk_below_lmdb("meta:1:eio:1")),
    ("ENOSPC of the meta page", full_disk_at_meta_page),
    ("EIO, then SIGTERM", broken_disk_then_sigterm),
    ("SIGTERM and SIGINT under load", stop_under_load),
    ("backup under load, restore, and on", backup_under_load),
)
