/* Hot copies (`hypermemd backup`) and their way back (`hypermemd restore`).
 *
 * A backup is a directory of its own with one compacted data.mdb: what free pages still held is not
 * in it. It is written under another name, synced, renamed and only then there, so half a copy is
 * never taken for one. It is one snapshot; a running daemon goes on writing beside it (its file
 * grows by what is overwritten meanwhile). A restore is a copy too, compared with its source row by
 * row before it gets its name. */
#ifndef HM_STORAGE_BACKUP_H
#define HM_STORAGE_BACKUP_H

#include "storage/storage.h"

/* `to` does not exist or is an empty directory; made with 0700. ERR_CONFLICT when it holds
 * something. The copy is opened and walked once before this returns. */
enum err_code storage_backup(struct store *store, const char *to, struct err *err) MUST_USE;

/* `from` is a backup, or the directory of a daemon that does not run; `to` as above. */
enum err_code storage_restore(const char *from, const char *to, const struct log *log,
                              const struct clock *clock, struct err *err) MUST_USE;

#endif
