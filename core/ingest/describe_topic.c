/* Titles and summaries of topics. */
#include "core/ingest/describe_int.h"

enum { TITLE_WORDS = 5 };

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory for a topic's summary");
}

/* What the title says behind the participants. */
static struct str subjects_of(const struct episode *episode)
{
    for (size_t i = 0; i + 1 < episode->title.len; i++) {
        if (episode->title.at[i] == ':' && episode->title.at[i + 1] == ' ')
            return str_part(episode->title, i + 2, episode->title.len);
    }
    return episode->title;
}

static bool holds(struct str words, struct str word)
{
    return word.len == 0 ||
           (words.len != 0 && memmem(words.at, words.len, word.at, word.len) != NULL);
}

static void put_title(struct buf *out, const struct topic *topic, const struct episode *first)
{
    uint32_t n = 0;
    for (uint16_t i = 0; i < topic->n_keywords && n < TITLE_WORDS; i++) {
        struct str word = topic->keywords[i].text;
        if (holds(buf_str(out), word) || out->len + word.len + 2 > DESCRIBE_TITLE_BYTES)
            continue;
        if (n++ > 0)
            buf_str_put(out, STR(", "));
        describe__clip(out, word, 64);
    }
    if (n == 0)
        describe__clip(out, subjects_of(first), DESCRIBE_TITLE_BYTES);
}

static void put_member(struct buf *out, const struct episode *episode)
{
    if (out->len != 0)
        buf_char(out, ' ');
    describe__date(out, episode->start_ms, episode->offset_min);
    buf_str_put(out, STR(": "));
    describe__clip(out, subjects_of(episode), DESCRIBE_TITLE_BYTES);
    buf_char(out, '.');
}

/* How many of the latest members fit beside the first. */
static uint32_t count_latest(const struct episode *const *members, uint32_t n)
{
    enum { DATE = 22 };
    size_t used = subjects_of(members[0]).len + DATE;
    uint32_t latest = 0;
    while (latest + 1 < n) {
        used += subjects_of(members[n - 1 - latest]).len + DATE;
        if (used > DESCRIBE_TOPIC_BYTES)
            break;
        latest++;
    }
    return latest;
}

enum err_code describe_topic(struct arena *arena, struct topic *topic,
                             const struct episode *const *members, uint32_t n, struct err *err)
{
    ASSERT(n >= 1);
    struct buf title;
    struct buf summary;
    buf_init(&title, arena, 1024);
    buf_init(&summary, arena, 4096);
    put_title(&title, topic, members[0]);
    uint32_t latest = count_latest(members, n);
    put_member(&summary, members[0]);
    if (latest + 1 < n)
        buf_str_put(&summary, STR(" …"));
    for (uint32_t i = n - latest; i < n; i++)
        put_member(&summary, members[i]);
    if (!buf_ok(&title) || !buf_ok(&summary))
        return memory(err);
    topic->title = buf_str(&title);
    topic->summary = buf_str(&summary);
    return ERR_OK;
}
