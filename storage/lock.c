/* The lock on the data directory: DIR/LOCK under an open-file-description write lock. The kernel
 * drops it when the holder dies, so a file that was left behind means nothing by itself; its text
 * (pid and host) only serves the message. Open-file-description locks, unlike fcntl's classic ones,
 * also exclude a second opening within one process and survive the closing of another descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

enum err_code lock__take(const char *dir, int *out, struct err *err)
{
    char path[PATH_BYTES];
    int fd = -1;
    enum err_code code = ERR_OK;
    int n = snprintf(path, sizeof path, "%s/LOCK", dir);
    if (n < 0 || (size_t)n >= sizeof path)
        return err_set(err, ERR_INVALID, "the data directory's path is too long");
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return storage__error(err, errno, path);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        code = errno == EAGAIN || errno == EACCES ? held(fd, dir, err)
                                                  : storage__error(err, errno, path);
        goto out;
    }
    code = sign(fd, path, err);
    if (code == ERR_OK) {
        *out = fd;
        fd = -1;
    }
out:
    if (fd >= 0)
        (void)close(fd);
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

void lock__release(int fd)
{
    if (fd < 0)
        return;
    /* The text goes first: whoever reads it later should not be told of a process that left. */
    (void)!ftruncate(fd, 0);
    (void)close(fd);
}
