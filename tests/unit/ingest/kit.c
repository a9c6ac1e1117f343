#include "tests/unit/ingest/kit.h"

#include "core/index/lengths.h"
#include "core/index/segment.h"
#include "core/text/date_terms.h"

void kit_init(struct kit *kit)
{
    *kit = (struct kit){.settings = space_default(KIT_NOW), .now_ms = KIT_NOW};
    fixture_init(&kit->f);
}

void kit_fini(struct kit *kit)
{
    fixture_fini(&kit->f);
}

struct arena *kit_arena(struct kit *kit)
{
    return kit->f.arena;
}

enum err_code kit_build(struct kit *kit, const struct turn_input *turns, uint32_t n, bool messages,
                        struct accept_plan *plan)
{
    struct accept_call call = {turns, n, messages, kit->now_ms, kit->embeds, NULL};
    struct store_txn *txn = begin(&kit->f);
    kit->err = (struct err){.code = ERR_OK};
    enum err_code rc =
        accept_build(txn, kit->space, STR("s"), kit->space != 0 ? NULL : &kit->settings, &call,
                     kit_arena(kit), plan, &kit->err);
    store_end(txn);
    ck_assert_int_eq(rc, kit->err.code);
    return rc;
}

enum err_code kit_post(struct kit *kit, const struct turn_input *turns, uint32_t n, bool messages,
                       struct accept_plan *plan)
{
    enum err_code rc = kit_build(kit, turns, n, messages, plan);
    if (rc == ERR_OK && plan->batch != NULL)
        rc = apply_err(&kit->f, plan->batch, &kit->err);
    if (rc != ERR_OK)
        return rc;
    kit->space = find_space(&kit->f, "s");
    ck_assert(accept_receipt(kit_arena(kit), plan));
    return ERR_OK;
}

uint32_t kit_say(struct kit *kit, struct turn_input turn)
{
    struct accept_plan plan;
    enum err_code rc = kit_post(kit, &turn, 1, false, &plan);
    ck_assert_msg(rc == ERR_OK, "%s: %s", kit->err.param, kit->err.message);
    ck_assert_uint_eq(plan.accepted, 1);
    return plan.turns[0].n;
}

struct space_stat kit_stat(struct kit *kit)
{
    return stat_of(&kit->f, kit->space);
}

struct turn kit_turn(struct kit *kit, uint32_t n)
{
    struct arena *arena = kit_arena(kit);
    struct store_txn *txn = begin(&kit->f);
    struct str value;
    struct turn turn = {0};
    struct err err;
    ck_assert_int_eq(store_get_u32(txn, kit->space, KIND_TURN, n, &value, &err), ERR_OK);
    if (value.at != NULL) {
        ck_assert_int_eq(turn_decode(str_copy(arena, value), n, &turn, &err), ERR_OK);
        ck_assert_int_eq(turn_load_text(txn, kit->space, arena, &turn, &err), ERR_OK);
    }
    store_end(txn);
    return turn;
}

struct str kit_text(struct kit *kit, char c, size_t len)
{
    char *at = arena_alloc(kit_arena(kit), len);
    memset(at, c, len);
    return (struct str){at, len};
}

void kit_raw(struct kit *kit, enum store_kind kind, struct str key, struct str value)
{
    struct batch *batch = batch_of(&kit->f, kit->space);
    batch_put(batch, kind, key, value, 0);
    ck_assert_int_eq(apply(&kit->f, batch), ERR_OK);
}

static uint32_t find_term(struct kit *kit, uint64_t term, uint32_t *docs, uint32_t cap)
{
    struct err err;
    struct arena *arena = arena_new(1 << 24);
    struct postings found[LAYERS];
    struct store_txn *txn = begin(&kit->f);
    struct lengths *lengths = lengths_new(txn, kit->space, arena);
    ck_assert_int_eq(
        segment_collect(txn, kit->space, lengths, &term, 1, 1u << LAYER_TURN, arena, found, &err),
        ERR_OK);
    uint32_t n = found[LAYER_TURN].n;
    for (uint32_t i = 0; i < n && i < cap; i++)
        docs[i] = found[LAYER_TURN].at[i].doc;
    store_end(txn);
    arena_free(arena);
    return n;
}

uint32_t kit_find(struct kit *kit, const char *word, uint32_t *docs, uint32_t cap)
{
    struct err err;
    struct arena *arena = arena_new(1 << 24);
    struct tokenizer *tokenizer;
    struct token_list tokens;
    ck_assert_int_eq(tokenizer_new(kit->settings.language, &tokenizer, &err), ERR_OK);
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, str_of(word), TOKEN_QUERY, &tokens, &err),
                     ERR_OK);
    ck_assert_uint_ge(tokens.n, 1);
    uint32_t n = find_term(kit, tokens.at[0].term, docs, cap);
    tokenizer_free(tokenizer);
    arena_free(arena);
    return n;
}

uint32_t kit_find_day(struct kit *kit, struct civil day, uint32_t *docs, uint32_t cap)
{
    struct date_term terms[DATE_TERMS_MAX];
    size_t n = date_terms_of_day(day, terms);
    for (size_t i = 0; i < n; i++) {
        if (terms[i].kind == DATE_TERM_DAY)
            return find_term(kit, terms[i].term, docs, cap);
    }
    return 0;
}
