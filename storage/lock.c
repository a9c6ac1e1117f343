/* The lock on the data directory, twice: the directory itself under flock(2), which no removal of a
 * file undoes, and DIR/LOCK, which names the holder, under an open-file-description write lock.
 * The kernel drops it when the holder dies, so a file that was left behind means nothing by
 * itself; its text (pid and host) only serves the message. Open-file-description locks, unlike
 * fcntl's classic ones, also exclude a second opening within one process and survive the closing
 * of another descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "storage/storage_int.h"

enum { PATH_BYTES = 4096 };

static enum err_code held(int fd, const char *dir, struct err *err)
{
    char text[128];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    size_t len = n > 0 ? (size_t)n : 0;
    text[len] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return err_set(err, ERR_CONFLICT, "data directory %s is in use by %s", dir,
                   text[0] != '\0' ? text : "another process");
}

static enum err_code sign(int fd, const char *path, struct err *err)
{
    char host[80] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        (void)snprintf(host, sizeof host, "unknown");
    char text[128];
    int n = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
    ASSERT(n > 0 && (size_t)n < sizeof text);
    if (ftruncate(fd, 0) != 0)
        return storage__error(err, errno, path);
    ssize_t written = pwrite(fd, text, (size_t)n, 0);
    /* A full disk must not keep the daemon from serving reads: the text is a courtesy. */
    if (written != n && errno != ENOSPC && errno != EDQUOT)
        return storage__error(err, errno, path);
    return ERR_OK;
}

static enum err_code lock_both(const struct dir_lock *lock, const char *dir, const char *path,
                               struct err *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(lock->file, F_OFD_SETLK, &whole) != 0)
        return errno == EAGAIN || errno == EACCES ? held(lock->file, dir, err)
                                                  : storage__error(err, errno, path);
    if (flock(lock->dir, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? held(lock->file, dir, err) : storage__error(err, errno, dir);
    return sign(lock->file, path, err);
}

enum err_code lock__take(const char *dir, struct dir_lock *out, struct err *err)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/LOCK", dir);
    if (n < 0 || (size_t)n >= sizeof path)
        return err_set(err, ERR_INVALID, "the data directory's path is too long");
    struct dir_lock lock = {open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), -1};
    if (lock.file < 0)
        return storage__error(err, errno, path);
    lock.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err_code code =
        lock.dir < 0 ? storage__error(err, errno, dir) : lock_both(&lock, dir, path, err);
    if (code == ERR_OK) {
        *out = lock;
        return ERR_OK;
    }
    (void)close(lock.file);
    if (lock.dir >= 0)
        (void)close(lock.dir);
    return code;
}

static int sync_one(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int rc = fsync(fd) != 0 ? errno : 0;
    (void)close(fd);
    return rc;
}

int dir__sync(const char *dir)
{
    char parent[PATH_BYTES];
    int n = snprintf(parent, sizeof parent, "%s/..", dir);
    if (n < 0 || (size_t)n >= sizeof parent)
        return ENAMETOOLONG;
    int rc = sync_one(dir);
    if (rc == 0)
        rc = sync_one(parent);
    return rc == EACCES ? 0 : rc; /* a parent that is not ours to read: it is not new */
}

void lock__release(struct dir_lock lock)
{
    if (lock.file < 0)
        return;
    /* The text goes first: whoever reads it later should not be told of a process that left. */
    (void)!ftruncate(lock.file, 0);
    (void)close(lock.file);
    (void)close(lock.dir);
}
