/* Vectors of what has none (embed.h): one step a space, one question a round.
 *
 *   prepare   the documents above the watermarks, turns first; their texts, cut to the limit
 *   CALL      as many as the provider takes in one request
 *   apply     their rows and the watermarks in one batch: a crash leaves both or neither
 *
 * A generation is started by the first answer, whose vectors tell the dimension, and becomes active
 * when a round has taken all that there was. One that is being built for another identity is given
 * up. Starting, giving up and activating are batches of their own, in the same hold of the lane.
 *
 * Texts that fail. A document whose text can't be embedded while others can is marked lexical-only.
 * Before that its text is cut smaller, where that may help. When no text of a question could be
 * embedded, nobody knows whose fault it is: from then on a sentence that any model takes is asked
 * among them, again and again, because a call gives up after some failures in a row; if that gets
 * a vector, the texts are at fault.
 *
 * A dimension that is another than the generation's is a failure, and nothing is stored of it. When
 * it stays so for DIMENSION_FAILURES in a row the model was exchanged under its name: then it is
 * another identity, and a new generation is built. */
#include <stdio.h>

#include "core/base/log.h"
#include "core/ingest/embed.h"
#include "core/ingest/embed_text.h"
#include "core/ingest/work_int.h"
#include "core/model/tokens.h"

enum {
    TEXTS_MAX = 256,
    FEW_TEXTS = 8, /* behind each sentence; see above */
    TEXT_TOKENS_MIN = 16,
    HALVINGS_MAX = 3,
    ROUNDS = 64, /* then the space queues again */
    DIMENSION_FAILURES = 3,
};
#define BACKOFF_FIRST_MS UINT64_C(1000)
#define BACKOFF_LAST_MS (UINT64_C(5) * 60 * 1000)

static const struct str plain_sentence = {"The weather is fine today.", 26};

_Static_assert((int)TEXTS_MAX <= (int)VECTORS_ADD_MAX, "a round is one vectors_add() a layer");

/* A document of this round; its pieces are texts[first] .. texts[end - 1], but for sentences. */
struct asked_doc {
    uint32_t doc;
    uint32_t first, end; /* the same: there is nothing to embed */
};

struct asked_layer {
    uint32_t from, upto; /* the watermark, and what it becomes */
    struct asked_doc *docs;
    uint32_t n;
};

/* In work->arena. */
struct asked {
    struct asked_layer layers[LAYERS];
    struct str *texts;
    uint32_t n;
    uint32_t own;  /* those of documents */
    uint32_t most; /* of these */
    uint64_t tokens;
    uint32_t text_tokens; /* of a piece */
    bool has_sentences;
    bool all;                /* nothing was left behind them */
    bool broken;             /* some text could not be read */
    bool adding;             /* the batch under way has its rows */
    bool added;              /* they are committed */
    uint32_t stored, failed; /* documents of the batch under way */
};

/* --- asking --- */

static uint32_t text_tokens(const struct work *work)
{
    uint32_t limit = models_embed(work->works->services->models)->text_tokens;
    uint32_t tokens = limit >> work->halvings;
    return tokens < TEXT_TOKENS_MIN ? TEXT_TOKENS_MIN : tokens;
}

static bool is_sentence(const struct asked *a, uint32_t i)
{
    return a->texts[i].at == plain_sentence.at;
}

static void add_text(struct asked *a, struct str text)
{
    if (a->has_sentences && a->own % FEW_TEXTS == 0)
        a->texts[a->n++] = plain_sentence;
    a->texts[a->n++] = text;
    a->own++;
    a->tokens += model_tokens(text);
}

static enum err_code add_doc(struct asked *a, struct embed_reader *reader, enum layer layer,
                             uint32_t doc, struct err *err)
{
    struct str text;
    struct str pieces[EMBED_PIECES_MAX];
    struct asked_layer *l = &a->layers[layer];
    enum err_code rc = embed_text(reader, layer, doc, &text, err);
    if (rc != ERR_OK)
        return rc;
    uint32_t n = embed_cut(text, a->text_tokens, pieces);
    uint32_t first = a->n;
    for (uint32_t i = 0; i < n; i++)
        add_text(a, pieces[i]);
    l->docs[l->n++] = (struct asked_doc){doc, first, a->n};
    return ERR_OK;
}

static bool has_room(const struct asked *a, const struct embed_limits *limits,
                     const struct asked_layer *l)
{
    return a->own < a->most && a->tokens < limits->batch_tokens && l->n < TEXTS_MAX;
}

static enum err_code add_layer(struct work *work, struct embed_reader *reader, enum layer layer,
                               struct lengths *lengths, uint32_t end, struct err *err)
{
    struct asked *a = work->own;
    struct asked_layer *l = &a->layers[layer];
    const struct embed_limits *limits = models_embed(work->works->services->models);
    enum err_code rc = ERR_OK;
    l->upto = l->from;
    l->docs = ARENA_ARRAY(work->arena, struct asked_doc, TEXTS_MAX);
    if (l->docs == NULL)
        return work__memory(err);
    while (rc == ERR_OK && l->upto < end && has_room(a, limits, l)) {
        uint32_t doc = l->upto++;
        if (lengths_get(lengths, layer, doc) != 0)
            rc = add_doc(a, reader, layer, doc, err);
    }
    a->all = a->all && l->upto == end;
    return rc == ERR_OK ? lengths_error(lengths, err) : rc;
}

static enum err_code gather(struct work *work, const struct stage_base *base,
                            const struct space_stat *stat,
                            const struct vectors_generation *generation, struct err *err)
{
    struct asked *a = work->own;
    struct embed_reader reader;
    struct lengths *lengths = lengths_new(base->txn, base->space, base->arena);
    if (lengths == NULL || !embed_reader_init(&reader, base))
        return work__memory(err);
    enum err_code rc = ERR_OK;
    a->all = true;
    for (unsigned layer = 0; rc == ERR_OK && layer < LAYERS; layer++) {
        a->layers[layer].from = generation != NULL ? generation->embedded[layer] : 0;
        rc = add_layer(work, &reader, (enum layer)layer, lengths,
                       embed_next_doc(stat, (enum layer)layer), err);
    }
    return rc;
}

static enum err_code start_asking(struct work *work, const struct space_stat *stat, struct err *err)
{
    struct asked *a = ARENA_NEW(work->arena, struct asked);
    if (a == NULL)
        return work__memory(err);
    work->own = a;
    uint32_t batch = models_embed(work->works->services->models)->batch;
    a->has_sentences = stat->v[STAT_EMBED_FAILURES] != 0;
    a->most = batch < TEXTS_MAX ? batch : TEXTS_MAX;
    a->text_tokens = text_tokens(work);
    /* At most one sentence for each. */
    a->texts = ARENA_ARRAY(work->arena, struct str, 2 * ((size_t)a->most + EMBED_PIECES_MAX));
    return a->texts != NULL ? ERR_OK : work__memory(err);
}

/* The space does not rest for it, as after other errors of a work: turns don't wait for vectors. */
static void log_broken(const struct work *work, const struct err *err)
{
    const struct log *log = work->works->services->log;
    if (log != NULL)
        log_err(log, LOG_WARN, "embedding_text_unreadable", err);
}

static bool has_provider(const struct work *work)
{
    return embed_is_on(work->works->services);
}

static enum err_code prepare(struct work *work, struct store_txn *txn, enum work_next *next,
                             struct err *err)
{
    const struct stage_base base = {txn, work->space, work->works->services, work->arena};
    struct space_stat stat;
    struct embed_plan plan;
    enum err_code rc = store_stat(txn, work->space, &stat, err);
    uint64_t due = stat.v[STAT_EMBED_DUE];
    if (rc != ERR_OK || due == 0 || due > (uint64_t)work__now_ms(work) || !has_provider(work))
        return rc;
    rc = embed_plan(&base, 0, &plan, err);
    if (rc == ERR_OK)
        rc = start_asking(work, &stat, err);
    if (rc != ERR_OK)
        return rc;
    rc = gather(work, &base, &stat, plan.current, err);
    if (rc != ERR_OK && rc != ERR_INTERNAL)
        return rc;
    struct asked *a = work->own;
    *next = WORK_APPLY;
    a->broken = rc != ERR_OK;
    if (a->broken)
        log_broken(work, err);
    if (a->broken || a->own == 0)
        return ERR_OK;
    *next = WORK_CALL;
    model_call_init(&work->call, PURPOSE_EMBED, work->arena);
    work->call.embed = (struct embed_ask){.texts = a->texts, .n = a->n};
    work->rounds++;
    return ERR_OK;
}

/* --- writing --- */

struct act {
    struct work *work;
    struct stage_base base;
    struct asked *asked;
    struct space_stat stat;
    struct embed_plan plan;
    struct batch *batch;
    int64_t now_ms;
    enum work_next next;
};

static enum err_code start_batch(struct act *x, struct err *err)
{
    x->batch = batch_new(x->base.arena, x->base.space, CAUSE_KEEP);
    if (x->batch == NULL)
        return work__memory(err);
    batch_need_stat(x->batch, STAT_CHANGES, x->stat.v[STAT_CHANGES]);
    batch_add(x->batch, STAT_CHANGES, 1);
    return ERR_OK;
}

/* E1. Turns are accepted beside the lane, so that nothing is left must still hold then. */
static void set_due(struct act *x, const struct vectors_generation *g, bool more)
{
    bool behind = more || embed_is_behind(&x->stat, g);
    if (!behind)
        batch_need_stat(x->batch, STAT_NEXT_DOC_TURN, x->stat.v[STAT_NEXT_DOC_TURN]);
    batch_set(x->batch, STAT_EMBED_DUE, behind ? (uint64_t)x->now_ms : 0);
    batch_set(x->batch, STAT_EMBED_FAILURES, 0);
}

static void note_housekeeping(struct act *x)
{
    batch_min(x->batch, STAT_VECTORS_DUE, (uint64_t)x->now_ms + EMBED_SETTLE_MS);
}

/* --- failures --- */

static void log_failure(const struct act *x, const char *event, const char *message)
{
    const struct log *log = x->work->works->services->log;
    if (log != NULL)
        LOG(log, LOG_WARN, event, F_INT("space", x->base.space), F_CSTR("message", message),
            F_INT("failures", x->stat.v[STAT_EMBED_FAILURES] + 1));
}

/* What is wrong with the endpoint is told once, where that is noticed. */
static bool is_of_endpoint(enum model_failure failure)
{
    switch (failure) {
    case MODEL_FAILURE_REQUEST:
    case MODEL_FAILURE_REPLY:
    case MODEL_FAILURE_TOO_LONG: return false;
    default: return true;
    }
}

/* Half of the wait is jitter, also behind a Retry-After: many spaces are told the same. */
static enum err_code put_off(struct act *x, struct err *err)
{
    struct work *work = x->work;
    uint64_t failures = x->stat.v[STAT_EMBED_FAILURES] + 1;
    uint64_t most = BACKOFF_FIRST_MS << (failures < 10 ? failures - 1 : 9);
    uint64_t after = work->call.retry_after_ms > 0 ? (uint64_t)work->call.retry_after_ms : 0;
    if (most > BACKOFF_LAST_MS)
        most = BACKOFF_LAST_MS;
    uint64_t wait = most / 2 + work__draw(work, most / 2) + 1;
    if (wait < after)
        wait = after + work__draw(work, most / 2);
    enum err_code rc = start_batch(x, err);
    if (rc != ERR_OK)
        return rc;
    batch_set(x->batch, STAT_EMBED_DUE, (uint64_t)x->now_ms + wait);
    batch_set(x->batch, STAT_EMBED_FAILURES, failures);
    return ERR_OK;
}

static bool is_zero(const float *row, uint32_t dim)
{
    for (uint32_t k = 0; k < dim; k++) {
        if (row[k] != 0)
            return false;
    }
    return true;
}

/* Shorter pieces may help: those that failed are longer than what is tried next. */
static bool is_worth_halving(const struct act *x)
{
    const struct asked *a = x->asked;
    const struct embed_ask *ask = &x->work->call.embed;
    uint32_t next = a->text_tokens / 2;
    if (x->work->halvings >= HALVINGS_MAX || next < TEXT_TOKENS_MIN)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        bool has_vector = x->work->call.outcome == ERR_OK &&
                          !is_zero(ask->vectors + (size_t)i * ask->dimension, ask->dimension);
        if (!has_vector && !is_sentence(a, i) && model_tokens(a->texts[i]) > next)
            return true;
    }
    return false;
}

static bool is_halved(struct act *x)
{
    const struct model_call *call = &x->work->call;
    bool too_long =
        call->outcome == ERR_OK ? call->embed.failed != 0 : call->failure == MODEL_FAILURE_TOO_LONG;
    if (!too_long || !is_worth_halving(x))
        return false;
    x->work->halvings++;
    x->next = WORK_PREPARE;
    return true;
}

static enum err_code failed(struct act *x, struct err *err)
{
    const struct model_call *call = &x->work->call;
    if (!is_of_endpoint(call->failure))
        log_failure(x, "embedding_failed", call->err.message);
    return put_off(x, err);
}

/* --- generations --- */

static enum err_code start_generation(struct act *x, uint32_t dim, struct err *err)
{
    struct vectors_identity identity = {.dim = dim};
    struct buf line;
    buf_init(&line, x->base.arena, EMBED_LINE_MAX);
    models_embed_identity(x->base.services->models, dim, &line, &identity.hash);
    if (!buf_ok(&line))
        return work__memory(err);
    identity.line = str_part(buf_str(&line), 0, VECTORS_LINE_MAX);
    enum err_code rc = start_batch(x, err);
    if (rc == ERR_OK)
        rc = vectors_start(&x->plan.all, x->batch, &identity, err);
    if (rc == ERR_OK)
        batch_set(x->batch, STAT_EMBED_FAILURES, 0);
    x->next = WORK_APPLY;
    return rc;
}

static enum err_code give_up_stale(struct act *x, struct err *err)
{
    enum err_code rc = start_batch(x, err);
    if (rc == ERR_OK)
        rc = vectors_abandon(&x->plan.all, x->batch, err);
    if (rc == ERR_OK)
        note_housekeeping(x);
    x->next = WORK_APPLY;
    return rc;
}

static enum err_code activate(struct act *x, struct err *err)
{
    enum err_code rc = start_batch(x, err);
    if (rc == ERR_OK)
        rc = vectors_activate(&x->plan.all, x->batch, err);
    if (rc != ERR_OK)
        return rc;
    set_due(x, x->plan.current, false);
    note_housekeeping(x);
    return ERR_OK;
}

/* --- rows --- */

/* The mean of its pieces; false: none has a vector. */
static bool join_pieces(const struct work *work, const struct asked_doc *doc,
                        const struct kernels *kernels, float *row)
{
    const struct embed_ask *ask = &work->call.embed;
    const struct asked *a = work->own;
    memset(row, 0, ask->dimension * sizeof *row);
    for (uint32_t i = doc->first; i < doc->end; i++) {
        if (!is_sentence(a, i))
            kernels->axpy(row, 1, ask->vectors + (size_t)i * ask->dimension, ask->dimension);
    }
    return kernels->norm2(row, ask->dimension) > KERNELS_LEAST;
}

/* Those that still live. */
static enum err_code add_rows(struct act *x, unsigned layer, struct lengths *lengths,
                              struct err *err)
{
    const struct asked_layer *l = &x->asked->layers[layer];
    const struct kernels *kernels = kernels_choose(NULL);
    uint32_t dim = x->plan.current->dim, n = 0;
    uint32_t *docs = ARENA_ARRAY(x->base.arena, uint32_t, l->n + 1);
    bool *lexical = ARENA_ARRAY(x->base.arena, bool, l->n + 1);
    float *rows = ARENA_ARRAY(x->base.arena, float, ((size_t)l->n + 1) * dim);
    if (docs == NULL || lexical == NULL || rows == NULL)
        return work__memory(err);
    for (uint32_t i = 0; i < l->n; i++) {
        if (lengths_get(lengths, (enum layer)layer, l->docs[i].doc) == 0)
            continue;
        docs[n] = l->docs[i].doc;
        lexical[n] = l->docs[i].first == l->docs[i].end ||
                     !join_pieces(x->work, &l->docs[i], kernels, rows + (size_t)n * dim);
        x->asked->failed += lexical[n];
        x->asked->stored += !lexical[n];
        n++;
    }
    const struct vectors_docs add = {.layer = (enum layer)layer,
                                     .docs = docs,
                                     .n = n,
                                     .rows = rows,
                                     .is_lexical = lexical,
                                     .upto = l->upto};
    return vectors_add(x->plan.current, kernels, x->batch, &add, err);
}

static enum err_code add(struct act *x, struct err *err)
{
    struct vectors_generation *g = x->plan.current;
    struct asked *a = x->asked;
    struct lengths *lengths = lengths_new(x->base.txn, x->base.space, x->base.arena);
    if (lengths == NULL)
        return work__memory(err);
    bool complete = a->all && g->state == VECTORS_BUILDING;
    bool changed = false;
    enum err_code rc = start_batch(x, err);
    a->stored = a->failed = 0;
    for (unsigned layer = 0; rc == ERR_OK && layer < LAYERS; layer++) {
        if (a->layers[layer].upto == a->layers[layer].from)
            continue;
        changed = true;
        rc = add_rows(x, layer, lengths, err);
    }
    if (rc == ERR_OK)
        rc = lengths_error(lengths, err);
    if (rc != ERR_OK)
        return rc;
    if (changed) {
        vectors_save(g, x->batch);
        note_housekeeping(x);
    }
    set_due(x, g, complete);
    a->adding = true;
    if (complete)
        x->next = WORK_APPLY;
    else if (!a->all && x->work->rounds < ROUNDS && !work__embeds_wait(x->work))
        x->next = WORK_PREPARE;
    return ERR_OK;
}

/* The question was asked of a state that still is. */
static bool is_same_state(const struct act *x)
{
    const struct vectors_generation *g = x->plan.current;
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        if ((g != NULL ? g->embedded[layer] : 0) != x->asked->layers[layer].from)
            return false;
    }
    return true;
}

/* --- which of them --- */

/* Another dimension than the one that was expected: believed only when it stays so. */
static enum err_code other_dimension(struct act *x, struct err *err)
{
    const struct embed_ask *ask = &x->work->call.embed;
    char message[96];
    (void)snprintf(message, sizeof message, "vectors of dimension %u where there are some of %u",
                   ask->dimension, x->plan.current->dim);
    if (ask->dimension > VECTORS_DIM_MAX ||
        x->stat.v[STAT_EMBED_FAILURES] + 1 < DIMENSION_FAILURES) {
        log_failure(x, "embedding_dimension_changed", message);
        return put_off(x, err);
    }
    enum err_code rc = embed_plan(&x->base, ask->dimension, &x->plan, err);
    if (rc != ERR_OK)
        return rc;
    if (x->plan.stale != NULL)
        return give_up_stale(x, err);
    return x->plan.current != NULL ? ERR_OK : start_generation(x, ask->dimension, err);
}

static enum err_code first_dimension(struct act *x, struct err *err)
{
    uint32_t dim = x->work->call.embed.dimension;
    if (dim <= VECTORS_DIM_MAX)
        return start_generation(x, dim, err);
    log_failure(x, "embedding_failed", "vectors of more dimensions than are stored");
    return put_off(x, err);
}

static enum err_code answered(struct act *x, struct err *err)
{
    const struct embed_ask *ask = &x->work->call.embed;
    if (x->plan.current == NULL)
        return first_dimension(x, err);
    if (ask->dimension != x->plan.current->dim)
        return other_dimension(x, err);
    if (!is_same_state(x))
        return ERR_OK; /* it is still due, and is asked anew */
    return is_halved(x) ? ERR_OK : add(x, err);
}

/* Nothing had to be asked: all that is above the watermarks is dead or has no words. */
static enum err_code nothing_asked(struct act *x, struct err *err)
{
    struct vectors_generation *g = x->plan.current;
    if (!is_same_state(x))
        return ERR_OK;
    if (g != NULL)
        return add(x, err);
    enum err_code rc = start_batch(x, err); /* no generation is made for the dead */
    if (rc != ERR_OK)
        return rc;
    batch_need_stat(x->batch, STAT_NEXT_DOC_TURN, x->stat.v[STAT_NEXT_DOC_TURN]);
    batch_set(x->batch, STAT_EMBED_DUE, 0);
    batch_set(x->batch, STAT_EMBED_FAILURES, 0);
    return ERR_OK;
}

static enum err_code choose(struct act *x, struct err *err)
{
    const struct work *work = x->work;
    bool building = x->plan.current != NULL && x->plan.current->state == VECTORS_BUILDING;
    if (x->plan.stale != NULL)
        return give_up_stale(x, err);
    if (x->asked->added)
        return building && x->asked->all ? activate(x, err) : ERR_OK;
    if (x->asked->broken)
        return put_off(x, err);
    if (!work->asked)
        return nothing_asked(x, err);
    if (work->call.outcome == ERR_OK)
        return answered(x, err);
    return is_halved(x) ? ERR_OK : failed(x, err);
}

static enum err_code apply(struct work *work, struct store_txn *txn, struct batch **batch,
                           enum work_next *next, struct err *err)
{
    struct act x = {.work = work,
                    .base = {txn, work->space, work->works->services, work->batch_arena},
                    .asked = work->own,
                    .now_ms = work__now_ms(work),
                    .next = WORK_END};
    enum err_code rc = store_stat(txn, work->space, &x.stat, err);
    x.asked->adding = false;
    if (rc == ERR_OK)
        rc = embed_plan(&x.base, 0, &x.plan, err);
    if (rc == ERR_OK)
        rc = choose(&x, err);
    *batch = x.batch;
    *next = x.next;
    return rc;
}

static void done(struct work *work)
{
    struct metrics *metrics = work->works->services->metrics;
    struct asked *a = work->own;
    metrics_add(metrics, METRIC_EMBED_STORED, a->stored);
    metrics_add(metrics, METRIC_EMBED_FAILED, a->failed);
    a->stored = a->failed = 0;
    a->added = a->added || a->adding;
}

const struct work_ops work__embed = {prepare, apply, done};
