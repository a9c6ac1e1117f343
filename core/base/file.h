/* Small files as a whole: the settings and vocabularies that lie beside a model's weights. */
#ifndef HM_CORE_BASE_FILE_H
#define HM_CORE_BASE_FILE_H

#include "core/base/buf.h"

/* Puts the bytes of `path` behind what is in `out`, whose ceiling bounds them. Messages name the
 * path. ERR_NOT_FOUND: there is none; ERR_INVALID: it is no regular file, or larger than the room;
 * ERR_UNAVAILABLE: the system refuses; ERR_EXHAUSTED: memory is short. */
enum err_code file_read(const char *path, struct buf *out, struct err *err) MUST_USE;

#endif
