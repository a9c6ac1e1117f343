#include "core/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static enum err_code refused(const char *path, struct err *err)
{
    bool missing = errno == ENOENT || errno == ENOTDIR;
    return err_set(err, missing ? ERR_NOT_FOUND : ERR_UNAVAILABLE, "%s: %s", path, strerror(errno));
}

static enum err_code read_open(FILE *file, const char *path, struct buf *out, struct err *err)
{
    struct stat st;
    if (fstat(fileno(file), &st) != 0)
        return refused(path, err);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is no regular file", path);
    size_t size = (size_t)st.st_size;
    if (size > out->max - out->len)
        return err_set(err, ERR_INVALID, "%s has %zu bytes, at most %zu are read", path, size,
                       out->max - out->len);
    char *room = size == 0 ? out->at : buf_grow(out, size);
    if (!buf_ok(out))
        return err_set(err, ERR_EXHAUSTED, "no memory for %s", path);
    if (size != 0 && fread(room, 1, size, file) != size)
        return err_set(err, ERR_UNAVAILABLE, "%s could not be read as a whole", path);
    return ERR_OK;
}

enum err_code file_read(const char *path, struct buf *out, struct err *err)
{
    /* A FIFO must not hold up the start. */
    struct stat st;
    if (stat(path, &st) != 0)
        return refused(path, err);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is no regular file", path);
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return refused(path, err);
    enum err_code code = read_open(file, path, out, err);
    (void)fclose(file);
    return code;
}
