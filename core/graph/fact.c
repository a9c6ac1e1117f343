#include "core/graph/fact.h"

#include "core/base/hash.h"
#include "core/graph/node_id.h"
#include "core/graph/record_int.h"
#include "core/text/token.h"

static const struct civil first_day = {1, 1, 1};
static const struct civil last_day = {9999, 12, 31};

static void time_encode(const struct fact *fact, struct buf *out)
{
    buf_u8(out, fact->has_time);
    if (!fact->has_time)
        return;
    ASSERT(civil_is_valid(fact->from) && civil_is_valid(fact->to) && fact->grain <= DATE_YEAR);
    buf_u32(out, (uint32_t)(int32_t)civil_to_days(fact->from));
    buf_u32(out, (uint32_t)(int32_t)civil_to_days(fact->to));
    buf_u8(out, fact->grain);
}

static struct civil day_decode(struct unpack *u)
{
    int64_t days = (int32_t)unpack_u32(u);
    if (days < civil_to_days(first_day) || days > civil_to_days(last_day)) {
        u->bad = true;
        return first_day;
    }
    return civil_from_days(days);
}

static void time_decode(struct unpack *u, struct fact *fact)
{
    uint8_t has_time = unpack_u8(u);
    if (has_time > 1)
        u->bad = true;
    if (u->bad || has_time == 0)
        return;
    fact->has_time = true;
    fact->from = day_decode(u);
    fact->to = day_decode(u);
    fact->grain = unpack_u8(u);
    if (fact->grain > DATE_YEAR)
        u->bad = true;
}

static void ids_encode(const uint32_t *ids, uint32_t n, struct buf *out)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        buf_varint(out, ids[i]);
}

static enum err_code ids_decode(struct arena *arena, struct unpack *u, uint32_t **ids, uint32_t *n,
                                struct err *err)
{
    *n = unpack_count(u, 1);
    *ids = ARENA_ARRAY(arena, uint32_t, *n);
    if (*ids == NULL)
        return record_memory(err);
    for (uint32_t i = 0; i < *n; i++) {
        (*ids)[i] = unpack_varint32(u);
        if ((*ids)[i] == 0)
            u->bad = true;
    }
    return ERR_OK;
}

/* Ascending and none of them 0, which is no id. */
static bool are_ascending(const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] <= (i == 0 ? 0 : ids[i - 1]))
            return false;
    }
    return true;
}

void fact_encode(const struct fact *fact, struct buf *out)
{
    ASSERT(are_ascending(fact->sources, fact->n_sources));
    record_head(out, fact->seq);
    buf_u32(out, fact->speaker_no);
    buf_u64(out, (uint64_t)fact->valid_from);
    buf_u64(out, (uint64_t)fact->valid_to);
    buf_u32(out, fact->superseded_by);
    buf_u16(out, fact->weight);
    buf_u8(out, fact->flags);
    time_encode(fact, out);
    buf_u64(out, fact->hash);
    buf_lstr(out, fact->time_text);
    buf_lstr(out, fact->content);
    buf_lstr(out, fact->speaker);
    buf_lstr(out, fact->role);
    buf_lstr(out, fact->keywords);
    buf_lstr(out, fact->potential);
    ids_encode(fact->sources, fact->n_sources, out);
    ids_encode(fact->episodes, fact->n_episodes, out);
    if (fact->supersedes != 0)
        buf_u32(out, fact->supersedes);
}

enum err_code fact_decode(struct arena *arena, struct str value, uint32_t id, struct fact *fact,
                          struct err *err)
{
    struct unpack u = unpack_of(value);
    *fact = (struct fact){.seq = record_open(&u), .id = id};
    fact->speaker_no = unpack_u32(&u);
    fact->valid_from = (int64_t)unpack_u64(&u);
    fact->valid_to = (int64_t)unpack_u64(&u);
    fact->superseded_by = unpack_u32(&u);
    fact->weight = unpack_u16(&u);
    fact->flags = unpack_u8(&u);
    time_decode(&u, fact);
    fact->hash = unpack_u64(&u);
    fact->time_text = unpack_lstr(&u);
    fact->content = unpack_lstr(&u);
    fact->speaker = unpack_lstr(&u);
    fact->role = unpack_lstr(&u);
    fact->keywords = unpack_lstr(&u);
    fact->potential = unpack_lstr(&u);
    enum err_code rc = ids_decode(arena, &u, &fact->sources, &fact->n_sources, err);
    if (rc == ERR_OK)
        rc = ids_decode(arena, &u, &fact->episodes, &fact->n_episodes, err);
    if (rc == ERR_OK && !unpack_done(&u))
        fact->supersedes = unpack_u32(&u);
    if (rc == ERR_OK && (!unpack_done(&u) || !are_ascending(fact->sources, fact->n_sources)))
        rc = record_damaged(NODE_FACT, id, err);
    if (rc != ERR_OK)
        *fact = (struct fact){0};
    return rc;
}

enum err_code fact_get(struct store_txn *txn, uint64_t space, uint32_t id, struct arena *arena,
                       struct fact *fact, struct err *err)
{
    struct str value;
    *fact = (struct fact){0};
    enum err_code rc = store_get_u32(txn, space, KIND_FACT, id, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    return fact_decode(arena, value, id, fact, err);
}

/* Counted from 1 January of year 1 as day 1, so that 0 stays free for "no time". */
static uint32_t day_number(struct civil date)
{
    return (uint32_t)(civil_to_days(date) - civil_to_days(first_day) + 1);
}

void fact_key(const struct fact *fact, char out[FACT_KEY])
{
    be64_set(out, fact->hash);
    be32_set(out + 8, fact->speaker_no);
    be32_set(out + 12, fact->has_time ? day_number(fact->from) : 0);
    be32_set(out + 16, fact->has_time ? day_number(fact->to) : 0);
}

uint32_t fact_key_mark(const struct fact *fact)
{
    char key[FACT_KEY];
    fact_key(fact, key);
    return (uint32_t)hash64((struct str){key, sizeof key});
}

uint64_t fact_hash_term(uint64_t hash)
{
    _Static_assert(TERM_MASK >> 39 == 1, "40 bits are left of 64");
    return hash * UINT64_C(0x9e3779b97f4a7c15) >> 24;
}
