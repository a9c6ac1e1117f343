#include "core/ingest/stage.h"

#include "core/ingest/draft.h"
#include "core/ingest/stage_int.h"
#include "core/ingest/upkeep.h"
#include "core/ingest/work.h"
#include "core/model/models.h"

/* A chain ends behind the unit that passes one of these: its batch must not hold up the turns that
 * wait for the writer. A mebibyte and a thousand operations take it some 3 ms. */
enum {
    CHAIN_UNITS = 32,
    CHAIN_OPS = 1024,
    CHAIN_BYTES = 512 * 1024,
    CHAIN_ARENA_BYTES = 64 << 20,
};

enum err_code stage__memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while building a stage");
}

static enum err_code start(struct stage_work *w, struct err *err)
{
    enum err_code rc = space_get(w->txn, w->space, &w->settings, err);
    if (rc == ERR_OK && w->reading->tokenizer == NULL)
        rc = tokenizers_take(w->services->tokenizers, w->settings.language, &w->reading->tokenizer,
                             err);
    if (rc != ERR_OK)
        return rc;
    w->tokenizer = w->reading->tokenizer;
    w->columns = columns_new(w->txn, w->space, w->arena);
    w->lengths = lengths_new(w->txn, w->space, w->arena);
    if (w->columns == NULL || w->lengths == NULL)
        return stage__memory(err);
    w->reader = (struct said_reader){w->txn, w->space, w->arena, w->tokenizer};
    w->looked = (uint32_t)w->stat.v[STAT_LOOKED];
    w->by_model = w->services->models != NULL && models_has_stages(w->services->models);
    w->work_seq = UINT64_MAX;
    rc = vectors_generations_get(w->txn, w->space, w->arena, &w->generations, err);
    return rc == ERR_OK ? stage__open_all(w, err) : rc;
}

enum err_code stage__outlook(struct stage_work *w, const struct work_row *const *rows, unsigned n,
                             struct err *err)
{
    struct work_outlook outlook;
    const struct work_rows changed = {rows, n};
    enum err_code rc = work_outlook(w->txn, w->space, &changed, &outlook, err);
    uint64_t due = outlook.due_ms;
    for (uint32_t i = 0; i < w->n_open; i++) {
        const struct buffer *buffer = &w->open[i]->buffer;
        if (buffer->turns != 0 && buffer->ask_ms != 0 && (uint64_t)buffer->ask_ms < due)
            due = (uint64_t)buffer->ask_ms;
    }
    batch_set(w->batch, STAT_WORK_DUE, due == UINT64_MAX ? 0 : due);
    w->work_seq = outlook.first_seq;
    w->outlook_known = true;
    return rc;
}

static enum err_code settle_work(struct stage_work *w, struct err *err)
{
    bool any = w->by_model || w->stat.v[STAT_UNFINISHED] != 0 || w->stat.v[STAT_WORK_DUE] != 0;
    return w->outlook_known || !any ? ERR_OK : stage__outlook(w, NULL, 0, err);
}

/* What the walk found is written, whether an episode closed or not. */
static enum err_code write_walk(struct stage_work *w, struct err *err)
{
    struct batch *batch = w->batch;
    enum err_code rc = stage__rows_write(w, err);
    if (rc == ERR_OK)
        rc = stage__open_write(w, err);
    if (rc == ERR_OK)
        rc = settle_work(w, err);
    if (rc != ERR_OK)
        return rc;
    /* With no turn left every number that was given is behind us, also those of deleted turns. */
    uint64_t looked = w->next_seq == 0 ? w->stat.v[STAT_NEXT_TURN] - 1 : w->looked;
    batch_set(batch, STAT_LOOKED, looked);
    batch_set(batch, STAT_IDLE_DUE, stage__open_due(w));
    batch_add(batch, STAT_PENDING, -(int64_t)w->n_looked);
    batch_add(batch, STAT_OPEN, w->opened);
    batch->processed = w->next_seq == 0 ? w->stat.v[STAT_SEQ] : w->next_seq - 1;
    if (w->work_seq <= batch->processed)
        batch->processed = w->work_seq - 1;
    return ERR_OK;
}

/* The time that was written down has come, but no buffer is idle: a turn came meanwhile. */
static void correct_due(struct stage_work *w)
{
    uint64_t due = stage__open_due(w);
    if (due != w->stat.v[STAT_IDLE_DUE])
        batch_set(w->batch, STAT_IDLE_DUE, due);
}

static enum err_code build(struct stage_work *w, struct err *err)
{
    enum err_code rc = start(w, err);
    if (rc == ERR_OK)
        rc = stage__walk(w, err);
    if (rc == ERR_OK && !w->changed)
        correct_due(w);
    if (rc == ERR_OK && w->closing.turns != 0)
        rc = w->by_model ? draft_close(w, err) : stage__episode(w, err);
    if (rc == ERR_OK && w->changed)
        rc = write_walk(w, err);
    if (rc == ERR_OK && !batch_ok(w->batch))
        rc = stage__memory(err);
    return rc;
}

static bool has_stage_work(const struct space_stat *stat, int64_t now_ms)
{
    uint64_t idle = stat->v[STAT_IDLE_DUE];
    return stat->v[STAT_PENDING] != 0 || stat->v[STAT_FLUSHES] != 0 ||
           (idle != 0 && idle <= (uint64_t)now_ms);
}

/* --- the chain --- */

struct chain {
    struct store_txn *txn;
    uint64_t space;
    const struct services *services;
    struct arena *arena;
    struct stage_unit unit; /* of the units so far */
    struct batch *batch;
    struct stage_docs docs;
    struct stage_reading reading;
    struct space_stat stat; /* of the snapshot */
    uint32_t units;
    int64_t now_ms;
    bool changed; /* more than the time when the space is due */
    bool drafted; /* a batch has one draft, whose job is named by its seq */
    bool ended;
};

/* One unit; *built false: there was nothing to do. */
static enum err_code build_unit(struct chain *c, bool *built, struct err *err)
{
    *built = false;
    struct stage_work *w = ARENA_NEW(c->arena, struct stage_work);
    if (w == NULL)
        return stage__memory(err);
    *w = (struct stage_work){.txn = c->txn,
                             .space = c->space,
                             .services = c->services,
                             .arena = c->arena,
                             .unit = &c->unit,
                             .batch = c->batch,
                             .docs = &c->docs,
                             .reading = &c->reading,
                             .now_ms = c->now_ms};
    uint32_t ops = c->batch->ops.n;
    c->docs.last = c->docs.n;
    enum err_code rc = store_stat(c->txn, c->space, &w->stat, err);
    if (rc == ERR_OK && has_stage_work(&w->stat, c->now_ms))
        rc = build(w, err);
    *built = rc == ERR_OK && c->batch->ops.n != ops;
    c->changed |= w->changed;
    c->drafted |= w->drafted;
    return rc;
}

/* So that the next unit sees what this one did. */
static enum err_code lay(struct chain *c, uint32_t from, struct err *err)
{
    uint64_t seq = c->stat.v[STAT_SEQ] + c->units;
    enum err_code rc = store_lay(c->txn, c->batch, from, seq, err);
    struct batch *postings = batch_new(c->arena, c->space, CAUSE_STAGE);
    if (rc == ERR_OK && postings == NULL)
        rc = stage__memory(err);
    if (rc == ERR_OK)
        rc = stage__docs_write(&c->docs, false, postings, err);
    return rc == ERR_OK ? store_lay(c->txn, postings, 0, seq, err) : rc;
}

static bool is_long(const struct chain *c)
{
    return c->units >= CHAIN_UNITS || c->batch->ops.n >= CHAIN_OPS ||
           c->batch->bytes >= CHAIN_BYTES || arena_used(c->arena) >= CHAIN_ARENA_BYTES;
}

/* One more unit, if there is one. What goes wrong in a later one must not keep the earlier from
 * being committed: it comes again as the first. */
static enum err_code add_unit(struct chain *c, struct err *err)
{
    const struct batch_mark mark = batch_mark(c->batch);
    const struct chain before = *c;
    struct err first = {.code = ERR_OK};
    bool built = false;
    enum err_code rc = build_unit(c, &built, &first);
    if (built)
        c->units++;
    c->ended = !built || c->drafted || is_long(c);
    if (rc == ERR_OK && !c->ended && lay(c, mark.ops, &first) != ERR_OK)
        c->ended = true; /* the unit itself is sound */
    if (rc == ERR_OK)
        return ERR_OK;
    if (c->units == 0) {
        *err = first;
        return rc;
    }
    struct tokenizer *tokenizer = c->reading.tokenizer;
    *c = before;
    c->reading.tokenizer = tokenizer;
    c->ended = true;
    batch_rewind(c->batch, &mark);
    return ERR_OK;
}

static enum err_code finish(struct chain *c, struct stage_unit *unit, struct err *err)
{
    struct batch *batch = c->batch;
    if (!c->changed) {
        batch->cause = CAUSE_KEEP;
        batch->has_seq = false;
    }
    enum err_code rc = stage__docs_write(&c->docs, true, batch, err);
    if (rc != ERR_OK)
        return rc;
    batch_need_stat(batch, STAT_CHANGES, c->stat.v[STAT_CHANGES]);
    batch_add(batch, STAT_CHANGES, 1);
    if (!batch_ok(batch))
        return stage__memory(err);
    DASSERT((batch_check(batch), true));
    *unit = c->unit;
    unit->batch = batch;
    unit->queue = STORE_STAGES;
    unit->stage = METRIC_H_STAGE_BUILD;
    unit->more = true;
    return ERR_OK;
}

static enum err_code build_chain(struct chain *c, struct stage_unit *unit, struct err *err)
{
    enum err_code rc = store_stat(c->txn, c->space, &c->stat, err);
    if (rc != ERR_OK || !has_stage_work(&c->stat, c->now_ms))
        return rc;
    c->batch = batch_new(c->arena, c->space, CAUSE_STAGE);
    if (c->batch == NULL)
        return stage__memory(err);
    while (rc == ERR_OK && !c->ended)
        rc = add_unit(c, err);
    return rc == ERR_OK && c->units != 0 ? finish(c, unit, err) : rc;
}

enum err_code stage_build(struct store_txn *txn, uint64_t space, const struct services *services,
                          struct arena *arena, struct stage_unit *unit, struct err *err)
{
    *unit = (struct stage_unit){0};
    struct chain *c = ARENA_NEW(arena, struct chain);
    if (c == NULL)
        return stage__memory(err);
    c->txn = txn;
    c->space = space;
    c->services = services;
    c->arena = arena;
    c->now_ms = clock_now_ms(services->clock);
    enum err_code rc = build_chain(c, unit, err);
    tokenizers_give(services->tokenizers, c->reading.tokenizer);
    if (rc != ERR_OK || unit->batch != NULL)
        return rc;
    const struct stage_base base = {txn, space, services, arena};
    return upkeep_build(&base, c->now_ms, unit, err);
}

/* --- one act --- */

/* Seq of the first turn that boundary has not looked at; 0: there is none. */
static enum err_code find_unlooked(struct stage_work *w, struct err *err)
{
    char key[4];
    struct store_item item = {STR_NONE, STR_NONE};
    struct store_cursor *cursor = NULL;
    struct turn turn = {.n = 0};
    be32_set(key, w->looked + 1);
    enum err_code rc = store_cursor_open(w->txn, w->space, KIND_TURN, &cursor, err);
    if (rc == ERR_OK)
        rc = store_cursor_seek(cursor, (struct str){key, sizeof key}, &item, err);
    if (rc == ERR_OK && item.key.at != NULL)
        rc = turn_decode(item.value, be32_get(item.key.at), &turn, err);
    store_cursor_close(cursor);
    w->next_seq = turn.seq;
    return rc;
}

static enum err_code act_in(struct stage_work *w, stage_act_fn *act, void *arg, struct err *err)
{
    enum err_code rc = start(w, err);
    if (rc == ERR_OK)
        rc = act(w, arg, err);
    if (rc != ERR_OK || !w->changed)
        return rc;
    rc = find_unlooked(w, err);
    if (rc == ERR_OK)
        rc = write_walk(w, err);
    return rc == ERR_OK && !batch_ok(w->batch) ? stage__memory(err) : rc;
}

enum err_code stage_act(const struct stage_base *base, stage_act_fn *act, void *arg,
                        struct batch **batch, struct err *err)
{
    *batch = NULL;
    struct stage_work *w = ARENA_NEW(base->arena, struct stage_work);
    struct chain *c = ARENA_NEW(base->arena, struct chain);
    struct stage_unit unit = {.batch = NULL};
    if (w == NULL || c == NULL)
        return stage__memory(err);
    c->batch = batch_new(base->arena, base->space, CAUSE_STAGE);
    if (c->batch == NULL)
        return stage__memory(err);
    *w = (struct stage_work){.txn = base->txn,
                             .space = base->space,
                             .services = base->services,
                             .arena = base->arena,
                             .unit = &c->unit,
                             .batch = c->batch,
                             .docs = &c->docs,
                             .reading = &c->reading,
                             .now_ms = clock_now_ms(base->services->clock)};
    enum err_code rc = store_stat(base->txn, base->space, &w->stat, err);
    if (rc == ERR_OK)
        rc = act_in(w, act, arg, err);
    tokenizers_give(base->services->tokenizers, c->reading.tokenizer);
    if (rc != ERR_OK || !w->changed)
        return rc;
    c->stat = w->stat;
    c->changed = true;
    rc = finish(c, &unit, err);
    *batch = unit.batch;
    return rc;
}
