/* journal.so: what a power cut would have taken, for LD_PRELOAD.
 *
 * SIGKILL leaves the page cache alone, so after it a missing sync goes unnoticed. This library
 * writes down, before each write to a file below one directory, what the write is about to replace,
 * and forgets it once the file is synced. After the kill the driver (undo.py) puts the old bytes
 * back: what remains is what a disk would hold that kept only what it had promised.
 *
 *   write(data.mdb) -->  journal: WRITE old bytes   then the write itself
 *   fdatasync(data.mdb)  the sync itself            then journal: SYNCED up to the last record
 *   write(O_DSYNC fd) -> journal: WRITE old bytes, the write, journal: DONE
 *
 *   J1  a record is in the journal, whole, before its write is issued. A kill may cut the last
 *       record short; then its write has not been issued.
 *   J2  SYNCED covers only writes that had returned when the sync began; it is written after the
 *       sync returned. A kill in between counts the sync as not done: nobody can have been told.
 *   J3  old bytes are whole pages of 4 KiB, cut off at the end of the file.
 *   J4  each file has a journal of its own, which is emptied when nothing of the file is unsynced:
 *       so it holds one transaction, not a day.
 *
 * A failed sync is written down too (FAILED): the kernel drops the dirty mark of such pages, so a
 * later sync that succeeds proves nothing about them.
 *
 * Not seen: what is written through a shared mapping (LMDB does not, without MDB_WRITEMAP), by
 * stdio, by truncation on open, and changes of directories. sync_file_range() promises nothing and
 * counts as nothing.
 *
 * Environment (the daemon refuses HYPERMEM_* that it does not know):
 *   HMCRASH_DATA     the directory whose files are watched; absolute, without symbolic links
 *   HMCRASH_JOURNAL  an existing directory outside it; gets `files`, a line "number path" for each
 *                    file, and `journal.NUMBER`
 *   HMCRASH_FAIL     op:nth:error[:count], comma-separated. op: meta (a write through O_DSYNC, as
 *                    of LMDB's meta page), data (any other write), sync. error: eio, enospc, short
 *                    (a write that takes half). From the nth call on `count` calls fail, 0 = all;
 *                    default 1
 *   HMCRASH_SWITCH   a path: while it does not exist nothing fails and nothing is counted
 *
 * One lock, held from the record to the return of its write, so records and writes have one order.
 * On x86-64 as on every 64-bit Linux off_t is 64 bits, and pwrite and pwrite64 are twins. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "64-bit offsets");

enum { PAGE = 4096, FILES_MAX = 256, RULES_MAX = 16, DIE_STATUS = 98 };
enum { RECORD_WRITE = 1, RECORD_SYNCED, RECORD_DONE, RECORD_FAILED };
enum { RECORD_MAGIC = 0x314a4d48 }; /* "HMJ1" */
enum { OP_DATA, OP_META, OP_SYNC, OPS };
enum { SHORT = -1 }; /* a rule's error that is no errno */

/* Native byte order: the driver runs on the same machine. */
struct record {
    uint32_t magic;
    uint32_t kind;
    uint64_t seq;         /* WRITE: its number; DONE: the number of its WRITE */
    uint64_t upto;        /* SYNCED, FAILED: covers records up to this one */
    uint64_t at;          /* WRITE: where the old bytes begin, a multiple of PAGE */
    uint64_t len;         /* WRITE: bytes of the write from `at` on, a multiple of PAGE */
    uint64_t size_before; /* WRITE: size of the file */
    uint64_t end;         /* WRITE, DONE: where the write ends */
    uint64_t old_len;     /* WRITE: old bytes that follow this record */
};
_Static_assert(sizeof(struct record) == 64, "undo.py unpacks this");

struct watched {
    dev_t dev;
    ino_t ino;
    int read_fd;    /* never closed: so the inode is not used again while we know it */
    int journal_fd; /* append only */
    uint64_t last;  /* the last write that is not known to be synced; 0: none */
    bool lost;      /* a sync failed: the journal must be kept */
};

struct rule {
    int op;
    int error;
    uint64_t first, count;
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* guards all below */
    char data[PATH_MAX];  /* with a slash at the end; "" = watch nothing */
    size_t data_len;
    const char *journal, *fail_switch;
    int files_fd;
    uint64_t seq;
    struct watched files[FILES_MAX];
    unsigned n_files;
    struct rule rules[RULES_MAX];
    unsigned n_rules;
    uint64_t calls[OPS];
} shim = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*pwrite)(int, const void *, size_t, off_t);
    ssize_t (*writev)(int, const struct iovec *, int);
    ssize_t (*pwritev)(int, const struct iovec *, int, off_t);
    ssize_t (*pwritev2)(int, const struct iovec *, int, off_t, int);
    int (*ftruncate)(int, off_t);
    int (*fsync)(int);
    int (*fdatasync)(int);
} real;

/* --- setting up --- */

static void die(const char *what)
{
    char text[256];
    int n = snprintf(text, sizeof text, "journal.so: %s: %s\n", what, strerror(errno));
    if (real.write != NULL && n > 0)
        (void)real.write(STDERR_FILENO, text, (size_t)n);
    _exit(DIE_STATUS);
}

static void resolve(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL)
        die(name);
    memcpy(function, &found, sizeof found); /* ISO C has no cast from data to function */
}

static int error_named(const char *name)
{
    if (strcmp(name, "eio") == 0)
        return EIO;
    if (strcmp(name, "enospc") == 0)
        return ENOSPC;
    if (strcmp(name, "short") == 0)
        return SHORT;
    errno = EINVAL;
    die("HMCRASH_FAIL: no such error");
    return 0;
}

static int op_named(const char *name)
{
    static const char *const names[OPS] = {"data", "meta", "sync"};
    for (int op = 0; op < OPS; op++) {
        if (strcmp(name, names[op]) == 0)
            return op;
    }
    errno = EINVAL;
    die("HMCRASH_FAIL: no such operation");
    return 0;
}

static void add_rule(const char *text)
{
    char op[16], error[16];
    unsigned long long first = 0, count = 1;
    int end = 0; /* the text is the test's own: sscanf is good enough */
    /* NOLINTNEXTLINE(cert-err34-c): out of range numbers come from nobody */
    int n = sscanf(text, "%15[a-z]:%llu:%15[a-z]%n:%llu%n", op, &first, error, &end, &count, &end);
    if (n < 3 || text[end] != '\0' || first == 0 || shim.n_rules == RULES_MAX) {
        errno = EINVAL;
        die("HMCRASH_FAIL");
    }
    shim.rules[shim.n_rules++] = (struct rule){op_named(op), error_named(error), first, count};
}

static void read_rules(const char *text)
{
    char one[64];
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, ",");
        if (len >= sizeof one) {
            errno = EINVAL;
            die("HMCRASH_FAIL");
        }
        memcpy(one, text, len);
        one[len] = '\0';
        add_rule(one);
        text += len + (text[len] == ',');
    }
}

static int open_journal(const char *name)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", shim.journal, name) >= sizeof path) {
        errno = ENAMETOOLONG;
        die("HMCRASH_JOURNAL");
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    return fd;
}

static void init(void)
{
    resolve(&real.write, "write");
    resolve(&real.pwrite, "pwrite");
    resolve(&real.writev, "writev");
    resolve(&real.pwritev, "pwritev");
    resolve(&real.pwritev2, "pwritev2");
    resolve(&real.ftruncate, "ftruncate");
    resolve(&real.fsync, "fsync");
    resolve(&real.fdatasync, "fdatasync");
    const char *data = getenv("HMCRASH_DATA");
    shim.journal = getenv("HMCRASH_JOURNAL");
    if (data == NULL || shim.journal == NULL)
        return;
    int n = snprintf(shim.data, sizeof shim.data, "%s/", data);
    if (n < 0 || (size_t)n >= sizeof shim.data) {
        errno = ENAMETOOLONG;
        die("HMCRASH_DATA");
    }
    shim.data_len = (size_t)n;
    shim.files_fd = open_journal("files");
    shim.fail_switch = getenv("HMCRASH_SWITCH");
    read_rules(getenv("HMCRASH_FAIL"));
}

static void ready(void)
{
    (void)pthread_once(&shim.once, init);
}

__attribute__((constructor)) static void load(void)
{
    ready();
}

/* --- which files --- */

static struct watched *watch(int fd, const struct stat *st, const char *path)
{
    char line[PATH_MAX + 32];
    if (shim.n_files == FILES_MAX) {
        errno = EMFILE;
        die("too many files");
    }
    struct watched *file = &shim.files[shim.n_files];
    *file = (struct watched){.dev = st->st_dev, .ino = st->st_ino};
    (void)snprintf(line, sizeof line, "/proc/self/fd/%d", fd);
    file->read_fd = open(line, O_RDONLY | O_CLOEXEC);
    if (file->read_fd < 0)
        die(path);
    (void)snprintf(line, sizeof line, "journal.%u", shim.n_files);
    file->journal_fd = open_journal(line);
    int n = snprintf(line, sizeof line, "%u %s\n", shim.n_files, path);
    if (real.write(shim.files_fd, line, (size_t)n) != n)
        die("files");
    shim.n_files++;
    return file;
}

/* The file behind a descriptor; NULL: not below the directory, or no file at all. */
static struct watched *find_locked(int fd)
{
    struct stat st;
    char link[64], path[PATH_MAX];
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    for (unsigned i = 0; i < shim.n_files; i++) {
        if (shim.files[i].ino == st.st_ino && shim.files[i].dev == st.st_dev)
            return &shim.files[i];
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return NULL;
    path[n] = '\0';
    return strncmp(path, shim.data, shim.data_len) == 0 ? watch(fd, &st, path) : NULL;
}

/* Locked when it is ours; errno is kept. */
static struct watched *find(int fd)
{
    int saved = errno;
    ready();
    struct watched *file = NULL;
    if (shim.data_len != 0) {
        (void)pthread_mutex_lock(&shim.lock);
        file = find_locked(fd);
        if (file == NULL)
            (void)pthread_mutex_unlock(&shim.lock);
    }
    errno = saved;
    return file;
}

static void unlock(void)
{
    (void)pthread_mutex_unlock(&shim.lock);
}

/* --- failing on purpose --- */

/* 0, an errno, or SHORT. */
static int fault(int op)
{
    if (shim.n_rules == 0 || (shim.fail_switch != NULL && access(shim.fail_switch, F_OK) != 0))
        return 0;
    uint64_t call = ++shim.calls[op];
    for (unsigned i = 0; i < shim.n_rules; i++) {
        const struct rule *rule = &shim.rules[i];
        if (rule->op == op && call >= rule->first &&
            (rule->count == 0 || call - rule->first < rule->count))
            return rule->error;
    }
    return 0;
}

/* --- the journal --- */

/* An iovec wants void *, but nothing here is written to through one. */
static void *unconst(const void *bytes)
{
    void *same;
    memcpy(&same, &bytes, sizeof same);
    return same;
}

static void append(const struct watched *file, const struct record *record, const void *old)
{
    struct iovec parts[2] = {{unconst(record), sizeof *record}, {unconst(old), record->old_len}};
    ssize_t all = (ssize_t)(sizeof *record + record->old_len);
    if (real.writev(file->journal_fd, parts, 2) != all)
        die("journal");
}

/* J4, or the record that says what is synced now. */
static void settle(const struct watched *file, const struct record *record)
{
    if (file->last != 0 || file->lost)
        append(file, record, NULL);
    else if (real.ftruncate(file->journal_fd, 0) != 0)
        die("journal");
}

static char *read_old(const struct watched *file, uint64_t at, uint64_t len, uint64_t *got)
{
    char *old = malloc(len);
    if (old == NULL)
        die("old bytes");
    *got = 0;
    while (*got < len) {
        ssize_t n = pread(file->read_fd, old + *got, len - *got, (off_t)(at + *got));
        if (n < 0)
            die("old bytes");
        if (n == 0)
            break;
        *got += (uint64_t)n;
    }
    return old;
}

/* J1, J3. */
static struct record journal_write(const struct watched *file, uint64_t at, uint64_t len)
{
    struct stat st;
    if (fstat(file->read_fd, &st) != 0)
        die("fstat");
    uint64_t first = at / PAGE * PAGE;
    uint64_t end = at + len;
    uint64_t last = (end + PAGE - 1) / PAGE * PAGE;
    struct record record = {.magic = RECORD_MAGIC,
                            .kind = RECORD_WRITE,
                            .seq = ++shim.seq,
                            .at = first,
                            .len = last - first,
                            .size_before = (uint64_t)st.st_size,
                            .end = end};
    char *old = read_old(file, first, last - first, &record.old_len);
    append(file, &record, old);
    free(old);
    return record;
}

/* --- writes --- */

static bool is_at_once(int fd, int flags)
{
    int mode = fcntl(fd, F_GETFL);
    /* O_SYNC contains O_DSYNC's bit. */
    return (mode != -1 && (mode & O_DSYNC) != 0) || (flags & (RWF_DSYNC | RWF_SYNC)) != 0;
}

static uint64_t position(int fd, const struct watched *file, off_t at)
{
    struct stat st;
    if (at >= 0)
        return (uint64_t)at;
    if ((fcntl(fd, F_GETFL) & O_APPEND) != 0 && fstat(file->read_fd, &st) == 0)
        return (uint64_t)st.st_size;
    off_t here = lseek(fd, 0, SEEK_CUR);
    if (here < 0)
        die("lseek");
    return (uint64_t)here;
}

static size_t sum(const struct iovec *iov, int n)
{
    size_t len = 0;
    for (int i = 0; i < n; i++)
        len += iov[i].iov_len;
    return len;
}

/* at -1: at the descriptor's own position. */
static ssize_t put(int fd, const struct iovec *iov, int n, off_t at, int flags)
{
    if (flags != 0)
        return real.pwritev2(fd, iov, n, at, flags);
    return at < 0 ? real.writev(fd, iov, n) : real.pwritev(fd, iov, n, at);
}

static ssize_t put_half(int fd, const struct iovec *iov, int n, off_t at, int flags)
{
    struct iovec half = {iov[0].iov_base, n > 1 ? iov[0].iov_len : iov[0].iov_len / 2};
    return put(fd, &half, 1, at, flags);
}

/* The file is found and locked; unlocks it. */
static ssize_t write_watched(struct watched *file, int fd, const struct iovec *iov, int n, off_t at,
                             int flags)
{
    size_t len = sum(iov, n);
    bool at_once = is_at_once(fd, flags);
    int error = fault(at_once ? OP_META : OP_DATA);
    ssize_t done = -1;
    if (error > 0 || len == 0) {
        unlock();
        errno = error;
        return error > 0 ? -1 : 0;
    }
    struct record record = journal_write(file, position(fd, file, at), len);
    done = error == SHORT ? put_half(fd, iov, n, at, flags) : put(fd, iov, n, at, flags);
    int saved = errno;
    if (at_once && done == (ssize_t)len) {
        record = (struct record){
            .magic = RECORD_MAGIC, .kind = RECORD_DONE, .seq = record.seq, .end = record.end};
        settle(file, &record);
    } else {
        file->last = record.seq;
    }
    unlock();
    errno = saved;
    return done;
}

ssize_t write(int fd, const void *buf, size_t n)
{
    struct iovec iov = {unconst(buf), n};
    struct watched *file = find(fd);
    return file == NULL ? real.write(fd, buf, n) : write_watched(file, fd, &iov, 1, -1, 0);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
    struct iovec iov = {unconst(buf), n};
    struct watched *file = find(fd);
    return file == NULL ? real.pwrite(fd, buf, n, offset)
                        : write_watched(file, fd, &iov, 1, offset, 0);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t offset)
{
    return pwrite(fd, buf, n, offset);
}

ssize_t writev(int fd, const struct iovec *iovec, int count)
{
    struct watched *file = find(fd);
    return file == NULL ? real.writev(fd, iovec, count)
                        : write_watched(file, fd, iovec, count, -1, 0);
}

ssize_t pwritev(int fd, const struct iovec *iovec, int count, off_t offset)
{
    struct watched *file = find(fd);
    return file == NULL ? real.pwritev(fd, iovec, count, offset)
                        : write_watched(file, fd, iovec, count, offset, 0);
}

ssize_t pwritev64(int fd, const struct iovec *iovec, int count, off64_t offset)
{
    return pwritev(fd, iovec, count, offset);
}

ssize_t pwritev2(int fd, const struct iovec *iodev, int count, off_t offset, int flags)
{
    struct watched *file = find(fd);
    return file == NULL ? real.pwritev2(fd, iodev, count, offset, flags)
                        : write_watched(file, fd, iodev, count, offset, flags);
}

ssize_t pwritev64v2(int fd, const struct iovec *iodev, int count, off64_t offset, int flags)
{
    return pwritev2(fd, iodev, count, offset, flags);
}

/* Growing replaces nothing but the size; shrinking takes the tail away. */
int ftruncate(int fd, off_t length)
{
    struct watched *file = length < 0 ? NULL : find(fd);
    struct stat st;
    if (file == NULL)
        return real.ftruncate(fd, length);
    if (fstat(fd, &st) != 0)
        die("ftruncate");
    uint64_t from = (uint64_t)(length < st.st_size ? length : st.st_size);
    uint64_t tail = (uint64_t)st.st_size - from;
    struct record record = journal_write(file, from, tail);
    file->last = record.seq;
    int rc = real.ftruncate(fd, length);
    int saved = errno;
    unlock();
    errno = saved;
    return rc;
}

int ftruncate64(int fd, off64_t length)
{
    return ftruncate(fd, length);
}

/* --- syncs --- */

/* J2. The lock is free during the sync: others may write meanwhile. */
static int sync_watched(struct watched *file, int fd, int (*sync)(int))
{
    struct record record = {.magic = RECORD_MAGIC, .upto = shim.seq};
    int error = fault(OP_SYNC);
    unlock();
    int rc = error > 0 ? -1 : sync(fd);
    int saved = error > 0 ? error : errno;
    (void)pthread_mutex_lock(&shim.lock);
    if (rc == 0) {
        record.kind = RECORD_SYNCED;
        if (file->last <= record.upto)
            file->last = 0;
        settle(file, &record);
    } else {
        record.kind = RECORD_FAILED;
        file->lost = true;
        append(file, &record, NULL);
    }
    unlock();
    errno = saved;
    return rc;
}

int fsync(int fd)
{
    struct watched *file = find(fd);
    return file == NULL ? real.fsync(fd) : sync_watched(file, fd, real.fsync);
}

int fdatasync(int fildes)
{
    struct watched *file = find(fildes);
    return file == NULL ? real.fdatasync(fildes) : sync_watched(file, fildes, real.fdatasync);
}
