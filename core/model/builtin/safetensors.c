#include "core/model/builtin/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/model/builtin/safetensors_int.h"

enum { LENGTH_BYTES = 8, ARENA_BYTES = 16 << 20 };

static const struct {
    const char *slug;
    size_t size;
} types[] = {
    [TENSOR_F32] = {"f32", 4},
    [TENSOR_F16] = {"f16", 2},
    [TENSOR_BF16] = {"bf16", 2},
    [TENSOR_OTHER] = {"other", 0},
};

const char *tensor_type_slug(enum tensor_type type)
{
    return types[type].slug;
}

size_t tensor_type_size(enum tensor_type type)
{
    return types[type].size;
}

/* --- opening --- */

struct mapping {
    void *at;
    size_t bytes;
};

static enum err_code map_file(int fd, const char *path, struct mapping *out, struct err *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return err_set(err, ERR_INVALID, "%s is no file", path);
    if (about.st_size < LENGTH_BYTES)
        return err_set(err, ERR_INVALID, "%s is cut off: it has %lld bytes", path,
                       (long long)about.st_size);
    out->bytes = (size_t)about.st_size;
    out->at = mmap(NULL, out->bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (out->at == MAP_FAILED)
        return err_set(err, ERR_EXHAUSTED, "%s can't be mapped: %s", path, strerror(errno));
    return ERR_OK;
}

static enum err_code map_path(const char *path, struct mapping *out, struct err *err)
{
    /* A FIFO must not hold up the start. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_INVALID, "%s: %s", path,
                       strerror(errno));
    enum err_code code = map_file(fd, path, out, err);
    (void)close(fd);
    return code;
}

static enum err_code split(struct safetensors *file, struct str bytes, struct err *err)
{
    if (bytes.len < LENGTH_BYTES)
        return err_set(err, ERR_INVALID, "%s is cut off: it has %zu bytes", file->name, bytes.len);
    uint64_t header = le64_get(bytes.at);
    if (header > TENSORS_HEADER_MAX)
        return err_set(err, ERR_INVALID, "%s: a header of %llu bytes, at most %d", file->name,
                       (unsigned long long)header, TENSORS_HEADER_MAX);
    if (header > bytes.len - LENGTH_BYTES)
        return err_set(err, ERR_INVALID, "%s is cut off in its header", file->name);
    file->header = str_part(bytes, LENGTH_BYTES, LENGTH_BYTES + (size_t)header);
    file->data = str_part(bytes, LENGTH_BYTES + (size_t)header, bytes.len);
    return ERR_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    if (x->at != y->at)
        return (const char *)x->at < (const char *)y->at ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static enum err_code check_overlaps(const struct safetensors *file, struct err *err)
{
    for (size_t i = 1; i < file->n; i++) {
        const struct tensor *before = &file->table[i - 1], *t = &file->table[i];
        if ((const char *)before->at + before->bytes > (const char *)t->at)
            return err_set(err, ERR_INVALID, "%s: tensors '%.60s' and '%.60s' overlap", file->name,
                           before->name.at, t->name.at);
    }
    return ERR_OK;
}

static enum err_code read_all(struct safetensors *file, struct str bytes, struct err *err)
{
    enum err_code code = split(file, bytes, err);
    if (code == ERR_OK)
        code = safetensors__index(file, err);
    if (code != ERR_OK)
        return code;
    qsort(file->table, file->n, sizeof *file->table, by_place);
    if ((code = check_overlaps(file, err)) != ERR_OK)
        return code;
    qsort(file->table, file->n, sizeof *file->table, by_name);
    return ERR_OK;
}

enum err_code safetensors_of(struct str bytes, const char *name, struct safetensors **out,
                             struct err *err)
{
    struct safetensors *file = calloc(1, sizeof *file);
    struct arena *arena = arena_new(ARENA_BYTES);
    *out = NULL;
    if (file == NULL || arena == NULL) {
        free(file);
        arena_free(arena);
        return err_set(err, ERR_EXHAUSTED, "no memory to open %s", name);
    }
    file->arena = arena;
    file->name = name;
    enum err_code code = read_all(file, bytes, err);
    file->name = NULL;
    if (code != ERR_OK) {
        safetensors_close(file);
        return code;
    }
    *out = file;
    return ERR_OK;
}

enum err_code safetensors_open(const char *path, struct safetensors **out, struct err *err)
{
    struct mapping map = {NULL, 0};
    struct safetensors *file = NULL;
    *out = NULL;
    enum err_code code = map_path(path, &map, err);
    if (code != ERR_OK)
        return code;
    code = safetensors_of((struct str){map.at, map.bytes}, path, &file, err);
    if (file == NULL) {
        (void)munmap(map.at, map.bytes);
        return code;
    }
    file->mapped = map.at;
    file->mapped_bytes = map.bytes;
    *out = file;
    return ERR_OK;
}

void safetensors_close(struct safetensors *file)
{
    if (file == NULL)
        return;
    arena_free(file->arena);
    if (file->mapped != NULL)
        (void)munmap(file->mapped, file->mapped_bytes);
    free(file);
}

/* --- reading --- */

const struct tensor *safetensors_find(const struct safetensors *file, struct str name)
{
    const struct tensor wanted = {.name = name};
    if (file->n == 0)
        return NULL;
    return bsearch(&wanted, file->table, file->n, sizeof *file->table, by_name);
}

size_t safetensors_count(const struct safetensors *file)
{
    return file->n;
}

const struct tensor *safetensors_at(const struct safetensors *file, size_t i)
{
    return i < file->n ? &file->table[i] : NULL;
}

struct str safetensors_header(const struct safetensors *file)
{
    return file->header;
}

struct str safetensors_data(const struct safetensors *file)
{
    return file->data;
}

void safetensors_check(const struct safetensors *file)
{
    for (size_t i = 0; i < file->n; i++) {
        const struct tensor *t = &file->table[i];
        size_t size = tensor_type_size(t->type);
        const char *at = t->at;
        ASSERT(at >= file->data.at && t->bytes <= file->data.len &&
               (size_t)(at - file->data.at) <= file->data.len - t->bytes); /* I1 */
        ASSERT(size == 0 || (uintptr_t)at % size == 0);                    /* I1 */
        ASSERT(i == 0 || str_cmp(file->table[i - 1].name, t->name) < 0);   /* I2 */
        for (uint32_t d = 0; d < t->rank; d++)
            size *= (size_t)t->shape[d];
        ASSERT(t->type == TENSOR_OTHER || size == t->bytes); /* I1 */
    }
}
