/* What a failed write means, and whether writing works again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "storage/storage_int.h"

enum { PROBE_BYTES = 1 << 20 };

static bool is_full_code(int rc)
{
    return rc == ENOSPC || rc == EDQUOT || rc == EFBIG || rc == MDB_MAP_FULL;
}

/* A file beside the data, written through to the disk. */
static int probe_file(const struct store *store)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/PROBE", store->dir);
    if (n < 0 || (size_t)n >= sizeof path)
        return ENAMETOOLONG;
    char *bytes = calloc(1, PROBE_BYTES);
    if (bytes == NULL)
        return ENOMEM;
    int rc = 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        rc = errno;
        goto out;
    }
    for (size_t done = 0; rc == 0 && done < PROBE_BYTES;) {
        ssize_t put = write(fd, bytes + done, PROBE_BYTES - done);
        if (put <= 0)
            rc = put < 0 && errno != EINTR ? errno : put == 0 ? ENOSPC : 0;
        else
            done += (size_t)put;
    }
    if (rc == 0 && fdatasync(fd) != 0)
        rc = errno;
    (void)close(fd);
    (void)unlink(path);
out:
    free(bytes);
    return rc;
}

/* The data file is about to reach the process's file size limit. */
static bool is_at_file_limit(const struct store *store)
{
    struct rlimit limit;
    struct stat st;
    int fd;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    if (mdb_env_get_fd(store->env, &fd) != 0 || fstat(fd, &st) != 0)
        return false;
    return (rlim_t)st.st_size + PROBE_BYTES > limit.rlim_cur;
}

/* LMDB reports a short write, which is how a disk fills up, as EIO. */
static bool full_explains_eio(const struct store *store)
{
    return is_at_file_limit(store) || is_full_code(probe_file(store));
}

enum write_failure failure__kind(const struct store *store, int rc)
{
    if (is_full_code(rc))
        return FAIL_FULL;
    switch (rc) {
    case MDB_TXN_FULL:
    case MDB_BAD_VALSIZE:
    case STORAGE_DAMAGED:
    case ENOMEM: return FAIL_BATCH;
    case EIO: return full_explains_eio(store) ? FAIL_FULL : FAIL_LATCH;
    default: return FAIL_LATCH;
    }
}

int failure__probe(struct store *store)
{
    if (is_at_file_limit(store))
        return EFBIG;
    int rc = probe_file(store);
    if (rc != 0)
        return rc;
    MDB_txn *txn = NULL;
    struct format_row row;
    rc = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (rc != 0)
        return rc;
    /* The same bytes again: a real commit that changes nothing. */
    rc = format__get(txn, store->dbi, &row);
    if (rc == 0)
        rc = format__put(txn, store->dbi, &row);
    if (rc != 0) {
        mdb_txn_abort(txn);
        return rc;
    }
    return mdb_txn_commit(txn);
}
