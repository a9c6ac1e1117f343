"""Takes back what a power cut would have taken: the other half of journal.c.

    shim = Shim(data_dir)                     # a journal directory of its own, outside the data
    daemon = harness.Daemon(env=shim.begin(), ...)
    daemon.kill()
    shim.undo()                               # every unsynced page is as it was when last synced
    shim.undo(random.Random(7))               # a coin decides for each of those pages

For each page of 4 KiB the journal gives what it held before each write since the last sync. The
oldest of these is what the disk had promised to keep; the disk may hold any later one too, which is
what the random mode chooses from. Bytes of a file above its promised size are cut off.
"""
import collections
import os
import shutil
import struct
import tempfile

PAGE = 4096
MAGIC = 0x314A4D48
RECORD = struct.Struct("=IIQQQQQQQ")
WRITE, SYNCED, DONE, FAILED = 1, 2, 3, 4
Record = collections.namedtuple("Record",
                                "magic kind seq upto at length size_before end old_length")


class Version:
    """What a page held before write `seq`; `lost`: a sync of that write failed."""

    __slots__ = ("seq", "old", "lost")

    def __init__(self, seq, old):
        self.seq, self.old, self.lost = seq, old, False


class Unsynced:
    """What one file's journal says: the pages whose last content is not promised."""

    def __init__(self):
        self.pages = {}         # page number -> [Version], oldest first
        self.sizes = []         # (seq, size before that write), oldest first
        self.least_size = 0     # what a write through O_DSYNC has promised
        self.ranges = {}        # seq -> its page numbers

    def replay(self, journal):
        step = {WRITE: self.write, SYNCED: self.synced, DONE: self.done, FAILED: self.failed}
        for record, old in read_records(journal):
            step[record.kind](record, old)
        return self

    def write(self, record, old):
        old += bytes(record.length - len(old))
        first = record.at // PAGE
        self.ranges[record.seq] = range(first, first + record.length // PAGE)
        for i, page in enumerate(self.ranges[record.seq]):
            self.pages.setdefault(page, []).append(
                Version(record.seq, old[i * PAGE:(i + 1) * PAGE]))
        self.sizes.append((record.seq, record.size_before))

    def synced(self, record, _old):
        for page in list(self.pages):
            self.keep_after(page, record.upto)
        self.sizes = [item for item in self.sizes if item[0] > record.upto]

    def done(self, record, _old):
        """A write through O_DSYNC takes whole pages to the disk, older writes to them included."""
        for page in self.ranges[record.seq]:
            self.keep_after(page, record.seq)
        self.sizes = [item for item in self.sizes if item[0] != record.seq]
        self.least_size = max(self.least_size, record.end)

    def failed(self, record, _old):
        for versions in self.pages.values():
            for version in versions:
                version.lost = version.lost or version.seq <= record.upto

    def keep_after(self, page, upto):
        """The page is promised as write `upto` left it, unless the kernel had given it up."""
        versions = self.pages[page]
        good = [i for i, version in enumerate(versions)
                if version.seq <= upto and not version.lost]
        if good:
            del versions[:good[-1] + 1]
        if not versions:
            del self.pages[page]

    def apply(self, path, rng):
        """Makes the file what the disk holds; returns how many pages were taken back."""
        with open(path, "r+b") as file:
            now = os.fstat(file.fileno()).st_size
            size = max(self.sizes[0][1], self.least_size) if self.sizes else now
            taken = 0
            for page, versions in sorted(self.pages.items()):
                pick = rng.randrange(len(versions) + 1) if rng else 0
                if pick < len(versions):
                    file.seek(page * PAGE)
                    file.write(versions[pick].old)
                    taken += 1
                elif page * PAGE >= size:
                    size = min(now, (page + 1) * PAGE)
            file.truncate(size)
        return taken


def read_records(path):
    """The whole records of a journal; a kill may have cut the last one short."""
    with open(path, "rb") as file:
        while True:
            head = file.read(RECORD.size)
            if len(head) < RECORD.size:
                return
            record = Record._make(RECORD.unpack(head))
            if record.magic != MAGIC:
                raise ValueError("%s is no journal" % path)
            old = file.read(record.old_length)
            if len(old) < record.old_length:
                return
            yield record, old


class Shim:
    """journal.so around one data directory, over any number of lives of the daemon."""

    def __init__(self, data_dir, fail="", library=None):
        self.data_dir = os.path.realpath(data_dir)
        self.home = tempfile.mkdtemp(prefix="hmcrash-")
        self.journal = os.path.join(self.home, "journal")
        self.switch = os.path.join(self.home, "fail-now")
        self.fail = fail
        self.library = library or os.path.join(os.environ["HMTEST_BUILD"], "journal.so")
        self.begin()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)

    def begin(self):
        """A new life: an empty journal, and nothing fails; returns its environment."""
        shutil.rmtree(self.journal, ignore_errors=True)
        os.mkdir(self.journal)
        self.fail_now(False)
        env = {"LD_PRELOAD": self.library, "HMCRASH_DATA": self.data_dir,
               "HMCRASH_JOURNAL": self.journal}
        if self.fail:
            env.update(HMCRASH_FAIL=self.fail, HMCRASH_SWITCH=self.switch)
        return env

    def fail_now(self, on):
        """From here on the rules of `fail` count."""
        if on:
            with open(self.switch, "w", encoding="utf-8"):
                pass
        elif os.path.exists(self.switch):
            os.unlink(self.switch)

    def files(self):
        """(path, journal) of each file that was written to."""
        try:
            with open(os.path.join(self.journal, "files"), encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            return
        for line in lines:
            number, path = line.split(" ", 1)
            yield path, os.path.join(self.journal, "journal." + number)

    def undo(self, rng=None):
        """After the kill; returns how many pages were taken back."""
        taken = 0
        for path, journal in self.files():
            if os.path.exists(path):
                taken += Unsynced().replay(journal).apply(path, rng)
        self.begin()
        return taken
