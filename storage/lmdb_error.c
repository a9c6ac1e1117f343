#include <errno.h>
#include <string.h>

#include "storage/storage_int.h"

const char *storage__text(int rc)
{
    return rc == STORAGE_DAMAGED ? "a row is damaged, run hypermemd fsck" : mdb_strerror(rc);
}

static enum err_code code_of(int rc)
{
    switch (rc) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case MDB_MAP_FULL: return ERR_STORAGE_FULL;
    case MDB_READERS_FULL:
    case MDB_MAP_RESIZED:
    case MDB_PANIC:
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE: return ERR_UNAVAILABLE;
    case EACCES:
    case EPERM:
    case EROFS: return ERR_DENIED;
    case ENOENT: return ERR_NOT_FOUND;
    case MDB_VERSION_MISMATCH:
    case MDB_INVALID: return ERR_PRECONDITION;
    default: return ERR_INTERNAL;
    }
}

enum err_code storage__error(struct err *err, int rc, const char *doing)
{
    return err_set(err, code_of(rc), "storage: %s: %s", doing, storage__text(rc));
}
