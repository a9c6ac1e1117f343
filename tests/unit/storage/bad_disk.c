#include "tests/unit/storage/bad_disk.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The two meta pages are the file's first pages; LMDB writes only a part of them. */
enum { META_END = 2 * 4096, META_WRITE_MAX = 512 };

static atomic_int disk;
static atomic_long calls_left; /* to the failing one; 0: off or done */
static atomic_int nth_error;
static atomic_bool nth_failed;

void bad_disk_set(enum bad_disk mode)
{
    atomic_store(&disk, (int)mode);
}

void bad_disk_fail_nth(long n, int error)
{
    atomic_store(&nth_failed, false);
    atomic_store(&nth_error, error);
    atomic_store(&calls_left, n);
}

bool bad_disk_failed(void)
{
    atomic_store(&calls_left, 0);
    return atomic_load(&nth_failed);
}

/* The errno that this call fails with, or 0. */
static int fate(int mode_error)
{
    if (mode_error != 0)
        return mode_error;
    if (atomic_load(&calls_left) == 0 || atomic_fetch_sub(&calls_left, 1) != 1)
        return 0;
    atomic_store(&nth_failed, true);
    return atomic_load(&nth_error);
}

static int data_error(void)
{
    int mode = atomic_load(&disk);
    return mode == DISK_DATA_EIO ? EIO : mode == DISK_DATA_FULL ? ENOSPC : 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc reserves its own */
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    bool meta = at < META_END && n < META_WRITE_MAX;
    int meta_error = atomic_load(&disk) == DISK_META_EIO ? EIO : 0;
    int error = fate(meta ? meta_error : data_error());
    if (error != 0) {
        errno = error;
        return -1;
    }
    return (ssize_t)syscall(SYS_pwrite64, fd, bytes, n, at);
}

/* Several adjacent pages go through lseek and writev. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc reserves its own */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
    int error = fate(data_error());
    if (error != 0) {
        errno = error;
        return -1;
    }
    return (ssize_t)syscall(SYS_writev, fd, parts, n);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc reserves its own */
int fdatasync(int fd)
{
    int error = fate(atomic_load(&disk) == DISK_SYNC_EIO ? EIO : 0);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}
