#include "core/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAP = 256 };

void buf_init(struct buf *buf, struct arena *arena, size_t max)
{
    *buf = (struct buf){.arena = arena, .max = max};
}

void buf_fini(struct buf *buf)
{
    if (buf->arena == NULL)
        free(buf->at);
    *buf = (struct buf){.failed = true};
}

char *buf_take_heap(struct buf *buf, size_t *len)
{
    ASSERT(buf->arena == NULL);
    char *bytes = buf->failed ? NULL : buf->at;
    if (buf->failed)
        free(buf->at);
    *len = bytes == NULL ? 0 : buf->len;
    *buf = (struct buf){.max = buf->max};
    return bytes;
}

static bool reserve(struct buf *buf, size_t n)
{
    if (n > buf->max - buf->len)
        return false;
    if (n <= buf->cap - buf->len)
        return true;
    size_t cap = buf->cap < FIRST_CAP ? FIRST_CAP : buf->cap * 2;
    if (cap < buf->len + n)
        cap = buf->len + n;
    if (cap > buf->max)
        cap = buf->max;
    char *at =
        buf->arena == NULL ? realloc(buf->at, cap) : arena_grow(buf->arena, buf->at, buf->cap, cap);
    if (at == NULL)
        return false;
    buf->at = at;
    buf->cap = cap;
    return true;
}

char *buf__enlarge(struct buf *buf, size_t n)
{
    if (buf->failed || !reserve(buf, n)) {
        buf->failed = true;
        return NULL;
    }
    char *at = buf->at + buf->len;
    buf->len += n;
    return at;
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
    char text[512];
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0) {
        buf->failed = true;
    } else if ((size_t)n < sizeof text) {
        buf_put(buf, text, (size_t)n);
    } else if (buf_grow(buf, (size_t)n + 1) != NULL) {
        (void)vsnprintf(buf->at + buf->len - (size_t)n - 1, (size_t)n + 1, fmt, again);
        buf->len--;
    }
    va_end(again);
}

void buf_u8(struct buf *buf, uint8_t v)
{
    buf_put(buf, &v, 1);
}

void buf_u16(struct buf *buf, uint16_t v)
{
    buf_put(buf, &v, 2);
}

void buf_u32(struct buf *buf, uint32_t v)
{
    buf_put(buf, &v, 4);
}

void buf_u64(struct buf *buf, uint64_t v)
{
    buf_put(buf, &v, 8);
}

void buf_varint(struct buf *buf, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
        n++;
    } while (v != 0);
    buf_put(buf, bytes, n);
}

void buf_lstr(struct buf *buf, struct str s)
{
    buf_varint(buf, s.len);
    buf_put(buf, s.at, s.len);
}

static const uint8_t *advance(struct unpack *u, size_t n)
{
    if (u->bad || (size_t)(u->end - u->at) < n) {
        u->bad = true;
        return NULL;
    }
    const uint8_t *at = u->at;
    u->at += n;
    return at;
}

uint8_t unpack_u8(struct unpack *u)
{
    const uint8_t *at = advance(u, 1);
    return at == NULL ? 0 : *at;
}

uint16_t unpack_u16(struct unpack *u)
{
    uint16_t v = 0;
    const uint8_t *at = advance(u, sizeof v);
    if (at != NULL)
        memcpy(&v, at, sizeof v);
    return v;
}

uint32_t unpack_u32(struct unpack *u)
{
    const uint8_t *at = advance(u, 4);
    return at == NULL ? 0 : le32_get(at);
}

uint64_t unpack_u64(struct unpack *u)
{
    const uint8_t *at = advance(u, 8);
    return at == NULL ? 0 : le64_get(at);
}

uint64_t unpack_varint(struct unpack *u)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = unpack_u8(u);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    u->bad = true;
    return 0;
}

struct str unpack_bytes(struct unpack *u, size_t n)
{
    const uint8_t *at = advance(u, n);
    return at == NULL ? STR("") : (struct str){(const char *)at, n};
}

struct str unpack_lstr(struct unpack *u)
{
    uint64_t n = unpack_varint(u);
    if (n > SIZE_MAX / 2) {
        u->bad = true;
        n = 0;
    }
    return unpack_bytes(u, (size_t)n);
}
