/* One growable byte buffer with a ceiling; what builds strings, records and replies.
 *
 * Failure is sticky: once growth hits `max` or memory is short, `failed` is set, later puts do
 * nothing, and the owner asks buf_ok() once at the end. A buffer lives in an arena (old storage is
 * left to the arena) or on the heap (arena NULL, buf_fini frees; buf_take_heap moves out).
 * Integers are little-endian, varints LEB128 as in protocol buffers. */
#ifndef HM_CORE_BASE_BUF_H
#define HM_CORE_BASE_BUF_H

#include "core/base/str.h"

struct buf {
    char *at;
    size_t len;
    size_t cap;
    size_t max;          /* ceiling in bytes */
    struct arena *arena; /* NULL: heap */
    bool failed;
};

void buf_init(struct buf *buf, struct arena *arena, size_t max);
void buf_fini(struct buf *buf); /* heap buffers only free here */
static inline bool buf_ok(const struct buf *buf)
{
    return !buf->failed;
}
static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->at != NULL ? buf->at : "", buf->len};
}
static inline void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}
/* Moves a heap buffer's bytes out (caller frees with free()); NULL when failed or empty. */
char *buf_take_heap(struct buf *buf, size_t *len);

char *buf__enlarge(struct buf *buf, size_t n);
/* Room for `n` more bytes, len advanced; NULL when failed. */
static inline char *buf_grow(struct buf *buf, size_t n)
{
    if (buf->failed || n > buf->cap - buf->len)
        return buf__enlarge(buf, n);
    char *at = buf->at + buf->len;
    buf->len += n;
    return at;
}
static inline void buf_put(struct buf *buf, const void *bytes, size_t n)
{
    char *at = n == 0 ? NULL : buf_grow(buf, n);
    if (at != NULL)
        memcpy(at, bytes, n);
}
static inline void buf_str_put(struct buf *buf, struct str s)
{
    /* An absent string has no length; said for those who read code without running it. */
    buf_put(buf, s.at, s.at != NULL ? s.len : 0);
}
static inline void buf_char(struct buf *buf, char c)
{
    buf_put(buf, &c, 1);
}
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);

void buf_u8(struct buf *buf, uint8_t v);
void buf_u16(struct buf *buf, uint16_t v);
void buf_u32(struct buf *buf, uint32_t v);
void buf_u64(struct buf *buf, uint64_t v);
void buf_varint(struct buf *buf, uint64_t v);
/* varint length, then the bytes; the absent string is stored as the empty one. */
void buf_lstr(struct buf *buf, struct str s);

/* The reading twin: sticky `bad`, every read after the end gives 0 or the empty string. Strings
 * borrow from the bytes read. */
struct unpack {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

static inline struct unpack unpack_of(struct str s)
{
    if (s.at == NULL)
        return (struct unpack){.bad = true};
    return (struct unpack){.at = (const uint8_t *)s.at, .end = (const uint8_t *)s.at + s.len};
}
uint8_t unpack_u8(struct unpack *u);
uint16_t unpack_u16(struct unpack *u);
uint32_t unpack_u32(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
uint64_t unpack_varint(struct unpack *u);
struct str unpack_bytes(struct unpack *u, size_t n);
struct str unpack_lstr(struct unpack *u);
/* True when all was read and nothing was bad. */
static inline bool unpack_done(const struct unpack *u)
{
    return !u->bad && u->at == u->end;
}

/* Fixed-place little-endian and big-endian access, unaligned. */
static inline uint32_t le32_get(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t le64_get(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void le32_set(void *p, uint32_t v)
{
    memcpy(p, &v, 4);
}
static inline void le64_set(void *p, uint64_t v)
{
    memcpy(p, &v, 8);
}
static inline uint32_t be32_get(const void *p)
{
    return __builtin_bswap32(le32_get(p));
}
static inline uint64_t be64_get(const void *p)
{
    return __builtin_bswap64(le64_get(p));
}
static inline void be32_set(void *p, uint32_t v)
{
    le32_set(p, __builtin_bswap32(v));
}
static inline void be64_set(void *p, uint64_t v)
{
    le64_set(p, __builtin_bswap64(v));
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "on-disk integers are little-endian");

#endif
