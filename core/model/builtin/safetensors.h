/* A file of tensors in the safetensors format, mapped read-only.
 *
 *   u64 little-endian: bytes of the header | header: JSON, {name: {dtype, shape, data_offsets}} |
 *   data; offsets count from its start
 *
 * Nothing is believed: lengths, offsets, shapes and types are checked once when the file is opened,
 * so that who finds a tensor may read all of it. The format allows no gaps; we do, but no overlaps.
 *
 * I1  Every tensor lies inside the data, on a multiple of its element's size, and has as many bytes
 *     as its shape and type say.
 * I2  Tensors are sorted by name, and names are unique.
 *
 * Threads: any, once open. Memory: the table on the heap; values stay in the file. */
#ifndef HM_CORE_MODEL_BUILTIN_SAFETENSORS_H
#define HM_CORE_MODEL_BUILTIN_SAFETENSORS_H

#include "core/base/err.h"
#include "core/base/str.h"

/* A model of 24 layers has 400 tensors and 50 KiB of header. */
enum { TENSOR_RANK_MAX = 8, TENSORS_MAX = 1 << 14, TENSORS_HEADER_MAX = 2 << 20 };

enum tensor_type {
    TENSOR_F32,
    TENSOR_F16,
    TENSOR_BF16,
    TENSOR_OTHER /* integers and the like: listed, of no use here */
};

struct tensor {
    struct str name; /* ends with a NUL that is not counted */
    enum tensor_type type;
    uint32_t rank;
    uint64_t shape[TENSOR_RANK_MAX];
    const void *at;
    uint64_t bytes;
};

struct safetensors;

/* ERR_NOT_FOUND: there is no such file. ERR_INVALID: it is broken; ERR_EXHAUSTED: memory or map. */
enum err_code safetensors_open(const char *path, struct safetensors **out,
                               struct err *err) MUST_USE;
/* The same on bytes that the caller keeps; `name` stands in messages. They begin on a multiple of
 * eight. */
enum err_code safetensors_of(struct str bytes, const char *name, struct safetensors **out,
                             struct err *err) MUST_USE;
void safetensors_close(struct safetensors *file); /* NULL is fine */

const struct tensor *safetensors_find(const struct safetensors *file, struct str name);
size_t safetensors_count(const struct safetensors *file);
const struct tensor *safetensors_at(const struct safetensors *file, size_t i);
struct str safetensors_header(const struct safetensors *file); /* as it stands in the file */
struct str safetensors_data(const struct safetensors *file);
void safetensors_check(const struct safetensors *file);

const char *tensor_type_slug(enum tensor_type type);
size_t tensor_type_size(enum tensor_type type); /* 0 for TENSOR_OTHER */

#endif
