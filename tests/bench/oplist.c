#include "tests/bench/oplist.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 24, CONNECTIONS_MAX = 4096 };

void oplist_put_op(struct buf *out, const struct oplist_op *op)
{
    buf_u8(out, op->type);
    buf_u8(out, 0);
    buf_u16(out, (uint16_t)op->key.len);
    buf_u32(out, (uint32_t)op->value.len);
    buf_u32(out, op->flags);
    buf_put(out, op->key.at, op->key.len);
    buf_put(out, op->value.at, op->value.len);
}

bool oplist_next(struct unpack *ops, struct oplist_op *op)
{
    op->type = unpack_u8(ops);
    (void)unpack_u8(ops);
    uint16_t key = unpack_u16(ops);
    uint32_t value = unpack_u32(ops);
    op->flags = unpack_u32(ops);
    op->key = unpack_bytes(ops, key);
    op->value = unpack_bytes(ops, value);
    return !ops->bad;
}

static bool map_file(const char *path, struct oplist *list)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && st.st_size > HEAD_BYTES) {
        list->map_size = (size_t)st.st_size;
        list->map = mmap(NULL, list->map_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
        if (list->map == MAP_FAILED)
            list->map = NULL;
    }
    (void)close(fd);
    return list->map != NULL;
}

static struct unpack body_of(const struct oplist *list)
{
    const char *at = list->map;
    return unpack_of((struct str){at + HEAD_BYTES, list->map_size - HEAD_BYTES});
}

/* Reads the next call and skips its operations. */
static bool next_call(struct unpack *u, uint32_t *connection, struct oplist_call *call)
{
    struct oplist_op op;
    *connection = unpack_u32(u);
    call->n = unpack_u32(u);
    call->ops = *u;
    call->bytes = 0;
    for (uint32_t i = 0; i < call->n && !u->bad; i++) {
        if (oplist_next(u, &op))
            call->bytes += op.key.len + op.value.len;
    }
    call->ops.end = u->at;
    return !u->bad && *connection < CONNECTIONS_MAX;
}

/* First pass: how many calls each connection has. */
static bool count(struct oplist *list)
{
    struct unpack u = body_of(list);
    struct oplist_call call;
    uint32_t connection;
    list->first = calloc(CONNECTIONS_MAX + 2, sizeof *list->first);
    list->call = calloc(list->calls, sizeof *list->call);
    if (list->first == NULL || list->call == NULL)
        return false;
    for (uint64_t i = 0; i < list->calls; i++) {
        if (!next_call(&u, &connection, &call))
            return false;
        list->bytes += call.bytes;
        list->first[connection + 2]++; /* shifted by two: becomes the place to fill, then the end */
        if (connection >= list->connections)
            list->connections = connection + 1;
    }
    for (uint32_t c = 0; c < list->connections; c++)
        list->first[c + 2] += list->first[c + 1];
    return unpack_done(&u);
}

bool oplist_open(const char *path, struct oplist *list)
{
    *list = (struct oplist){0};
    if (!map_file(path, list))
        return false;
    const char *head = list->map;
    list->calls = le64_get(head + 8);
    list->ops = le64_get(head + 16);
    if (memcmp(head, OPLIST_MAGIC, 8) != 0 || list->calls > list->map_size || !count(list))
        return false;
    struct unpack u = body_of(list);
    struct oplist_call call;
    uint32_t connection;
    while (!unpack_done(&u) && next_call(&u, &connection, &call))
        list->call[list->first[connection + 1]++] = call;
    return true;
}

void oplist_close(struct oplist *list)
{
    if (list->map != NULL)
        (void)munmap(list->map, list->map_size);
    free(list->call);
    free(list->first);
}
