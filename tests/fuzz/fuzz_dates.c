/* The first eight bytes are the turn's time, two more its offset, the rest is the text. */
#include "core/text/dates.h"

enum { HEAD = 10, MENTIONS = 64 };

static void check_mentions(struct str text, const struct date_mention *m, size_t n)
{
    struct buf out;
    size_t end = 0;
    buf_init(&out, NULL, 4096);
    for (size_t i = 0; i < n; i++) {
        ASSERT(m[i].len > 0 && m[i].at >= end && m[i].at + m[i].len <= text.len);
        ASSERT(civil_is_valid(m[i].from) && civil_is_valid(m[i].to));
        ASSERT(civil_to_days(m[i].from) <= civil_to_days(m[i].to));
        buf_clear(&out);
        dates_write(&out, &m[i]);
        dates_index_words(&out, &m[i]);
        ASSERT(buf_ok(&out) && out.len != 0);
        end = m[i].at + m[i].len;
    }
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct date_mention mentions[MENTIONS];
    if (size < HEAD)
        return 0;
    /* Mostly within the calendar, so that something is found. */
    int64_t utc_ms = (int64_t)le64_get(data) >> (data[7] & 0x0f);
    int offset_min = (data[8] | data[9] << 8) - 32768;
    if ((data[9] & 1) == 0)
        offset_min %= 1440;
    struct str text = {(const char *)data + HEAD, size - HEAD};
    size_t n = dates_find(text, utc_ms, offset_min, mentions, MENTIONS);
    ASSERT(n <= MENTIONS);
    check_mentions(text, mentions, n);
    struct arena *arena = arena_new(64 << 20);
    ASSERT(arena != NULL);
    struct str once = dates_resolve(arena, text, utc_ms, offset_min);
    ASSERT(once.at == NULL || once.len >= text.len);
    arena_free(arena);
    return 0;
}
