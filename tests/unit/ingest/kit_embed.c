#include "tests/unit/ingest/kit_embed.h"

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "core/ingest/lane.h"
#include "core/ingest/remove.h"
#include "tests/fakes/model_script.h"

enum { STEPS_MAX = 100000 };

struct kit_model kit_model;
struct metrics kit_metrics;

static struct {
    struct step *first, *last;
} queue;
static struct script script; /* its options; nothing is exchanged */
static struct models *models;
static struct services *services;

/* --- the runtime --- */

static void submit(struct step *step, void *arg)
{
    (void)arg;
    step->next = NULL;
    if (queue.first == NULL)
        queue.first = step;
    else
        queue.last->next = step;
    queue.last = step;
}

void provider(bool on)
{
    services->models = on ? models : NULL;
    stage_kit.kit.embeds = on;
}

void make_models(const char *name)
{
    struct err err;
    struct models_options options = script_options(&script);
    for (unsigned p = 0; p < MODEL_PURPOSES; p++) {
        if (p != PURPOSE_EMBED)
            options.address[p].base_url = STR("");
    }
    options.address[PURPOSE_EMBED].model = str_of(name);
    options.embed.text_tokens = 64;
    models_free(models);
    models = NULL;
    ck_assert_msg(models_new(&options, &models, &err) == ERR_OK, "%s", err.message);
    provider(true);
}

static void start_works(void)
{
    services->lanes = lanes_new(submit, NULL);
    services->works = works_new(submit, NULL);
    ck_assert(services->lanes != NULL && services->works != NULL);
    lanes_bind(services->lanes, services);
    works_bind(services->works, services);
}

static void free_works(void)
{
    works_check(services->works);
    works_free(services->works);
    lanes_free(services->lanes);
}

void restart(void)
{
    free_works();
    start_works();
}

void embed_kit_setup(void)
{
    stage_kit_setup();
    memset(&kit_model, 0, sizeof kit_model);
    memset(&kit_metrics, 0, sizeof kit_metrics);
    kit_model.dim = KIT_DIM;
    queue.first = queue.last = NULL;
    script_init(&script, NULL, 0);
    services = &stage_kit.services;
    services->metrics = &kit_metrics;
    start_works();
    models = NULL;
    make_models("first");
}

void embed_kit_teardown(void)
{
    free_works();
    models_free(models);
    script_fini(&script);
    stage_kit_teardown();
}

/* --- the model --- */

static bool is_hated(struct str text)
{
    return (kit_model.hates != NULL && holds_words(text, kit_model.hates)) ||
           (kit_model.text_most != 0 && text.len > kit_model.text_most);
}

void vector_of(struct str text, float *out)
{
    uint64_t hash = hash64(text);
    double sum = 0;
    for (uint32_t k = 0; k < kit_model.dim; k++) {
        hash = hash * UINT64_C(6364136223846793005) + 1442695040888963407;
        out[k] = (float)(hash >> 40) / (float)(1 << 24) - 0.5F;
        sum += (double)out[k] * (double)out[k];
    }
    for (uint32_t k = 0; k < kit_model.dim; k++)
        out[k] = is_hated(text) ? 0 : (float)((double)out[k] / sqrt(sum));
}

static void fail_call(struct model_call *call, enum model_failure failure)
{
    call->failure = failure;
    call->outcome = err_set(&call->err, ERR_UPSTREAM, "%s", model_failure_slug(failure));
    call->retry_after_ms = kit_model.retry_after_ms;
}

static void answer(struct model_call *call)
{
    struct embed_ask *ask = &call->embed;
    ck_assert(!ask->is_query && ask->n != 0);
    kit_model.calls++;
    for (uint32_t i = 0; i < ask->n; i++) {
        ck_assert_uint_lt(kit_model.n_asked, ASKED_MAX);
        ck_assert_uint_ne(str_trim(ask->texts[i]).len, 0);
        kit_model.asked[kit_model.n_asked++] = str_copy(kit_arena(&stage_kit.kit), ask->texts[i]);
    }
    bool gone = kit_model.breaks_off && ++kit_model.since == 2;
    if (gone)
        kit_model.breaks_off = false;
    if (gone || kit_model.failure != MODEL_FAILURE_NONE) {
        fail_call(call, gone ? MODEL_FAILURE_CONNECT : kit_model.failure);
        return;
    }
    ask->dimension = kit_model.dim;
    ask->vectors = ARENA_ARRAY(call->arena, float, (size_t)ask->n *kit_model.dim);
    for (uint32_t i = 0; i < ask->n; i++) {
        vector_of(ask->texts[i], ask->vectors + (size_t)i * kit_model.dim);
        ask->failed += is_hated(ask->texts[i]);
    }
    call->outcome = ERR_OK;
    call->failure = MODEL_FAILURE_NONE;
    if (ask->failed == ask->n)
        fail_call(call, MODEL_FAILURE_REPLY);
}

void remove_turn(uint32_t n)
{
    struct arena *arena = kit_arena(&stage_kit.kit);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct batch *batch;
    struct remove_counts counts;
    struct err err;
    enum err_code rc =
        remove_build(txn, stage_kit.kit.space, KIND_TURN, n, arena, &batch, &counts, &err);
    store_end(txn);
    ck_assert_msg(rc == ERR_OK, "%s", err.message);
    ck_assert_int_eq(apply(&stage_kit.kit.f, batch), ERR_OK);
}

static void meddle(void)
{
    if (kit_model.post_in_call != 0) {
        kit_model.post_in_call--;
        (void)say("s1", "Ann", "One more thing came to my mind while you were busy.");
    }
    if (kit_model.kill_in_call != 0)
        remove_turn(kit_model.kill_in_call);
    kit_model.kill_in_call = 0;
}

static void meddle_with_commit(void)
{
    kit_model.commits += kit_model.calls != 0;
    if (kit_model.commits == 0)
        return;
    if (kit_model.commits == kit_model.post_at_commit)
        (void)say("s1", "Ann", "One more thing came to my mind just now.");
    if (kit_model.commits == kit_model.stop_at_commit)
        works_stop(services->works);
}

/* --- running --- */

static void leave_lane(struct step *step)
{
    if (step->lane_held)
        lanes_leave(services->lanes, step);
}

static void run_step(struct step *step)
{
    for (;;) {
        switch (step->run(step)) {
        case STEP_DONE:
            leave_lane(step);
            step->finish(step);
            return;
        case STEP_COMMIT:
            meddle_with_commit();
            step->outcome = apply_err(&stage_kit.kit.f, step->batch, &step->err);
            break;
        case STEP_CALL:
            leave_lane(step);
            meddle();
            answer(step->call);
            step->call = NULL;
            break;
        case STEP_LANE: lanes_enter(services->lanes, step); return;
        case STEP_WAIT: step->timed_out = true; break;
        }
    }
}

void run_all(void)
{
    unsigned steps = 0;
    lanes_due(services->lanes, stage_kit.kit.space);
    lanes_scan(services->lanes);
    while (queue.first != NULL) {
        struct step *step = queue.first;
        queue.first = step->next;
        run_step(step);
        ck_assert_uint_lt(steps++, STEPS_MAX);
    }
    works_check(services->works);
    lanes_check(services->lanes);
    ck_assert_uint_eq(works_busy(services->works) + lanes_busy(services->lanes), 0);
}

void run_later(int64_t ms)
{
    advance(ms);
    run_all();
}

void settle_vectors(void)
{
    for (unsigned i = 0; i < 10 && (i == 0 || stat_now(STAT_VECTORS_DUE) != 0); i++)
        run_later(EMBED_SETTLE_MS);
    ck_assert_uint_eq(stat_now(STAT_VECTORS_DUE), 0);
    ck_assert_uint_eq(count_rows(&stage_kit.kit.f, stage_kit.kit.space, KIND_VECTOR_DIRTY), 0);
}

/* --- out --- */

struct vectors_generations generations_now(void)
{
    struct vectors_generations all;
    struct err err;
    struct arena *arena = kit_arena(&stage_kit.kit);
    struct store_txn *txn = begin(&stage_kit.kit.f);
    ck_assert_int_eq(vectors_generations_get(txn, stage_kit.kit.space, arena, &all, &err), ERR_OK);
    for (uint32_t i = 0; i < all.n; i++)
        all.at[i].line = str_copy(arena, all.at[i].line);
    store_end(txn);
    return all;
}

struct vectors_generation active_now(void)
{
    struct vectors_generations all = generations_now();
    const struct vectors_generation *g = vectors_generation_find(&all, VECTORS_ACTIVE);
    ck_assert_ptr_nonnull(g);
    return *g;
}

struct embed_counts counts_now(void)
{
    struct embed_counts counts;
    struct err err;
    struct vectors_generation g = active_now();
    struct store_txn *txn = begin(&stage_kit.kit.f);
    const struct stage_base base = {txn, stage_kit.kit.space, services, kit_arena(&stage_kit.kit)};
    ck_assert_int_eq(embed_count(&base, &g, &counts, &err), ERR_OK);
    store_end(txn);
    return counts;
}

void expect_complete(void)
{
    struct embed_counts counts = counts_now();
    ck_assert_uint_eq(counts.behind, 0);
    for (unsigned layer = 0; layer < LAYERS; layer++)
        ck_assert_uint_eq(counts.embedded[layer], stat_now(STAT_DOCS_TURN + layer));
    ck_assert_uint_eq(stat_now(STAT_EMBED_DUE), 0);
    ck_assert_uint_eq(stat_now(STAT_EMBED_FAILURES), 0);
}

uint64_t counted(enum metric_counter id)
{
    return atomic_load(&kit_metrics.counter[id]);
}

bool was_asked(struct str text)
{
    for (uint32_t i = 0; i < kit_model.n_asked; i++) {
        if (str_eq(kit_model.asked[i], text))
            return true;
    }
    return false;
}

bool row_of(enum layer layer, uint32_t doc, float *out)
{
    struct vectors_scores scores[LAYERS];
    struct err err;
    struct vectors_generation g = active_now();
    struct store_txn *txn = begin(&stage_kit.kit.f);
    struct arena *arena = kit_arena(&stage_kit.kit);
    bool has = true;
    const struct vectors_view view = {txn,
                                      stage_kit.kit.space,
                                      kernels_choose(NULL),
                                      arena,
                                      lengths_new(txn, stage_kit.kit.space, arena),
                                      &g};
    for (uint32_t k = 0; k < g.dim; k++) {
        float q[64] = {0};
        q[k] = 1;
        const struct vectors_query query = {
            .q = q, .mask = 1U << layer, .lambda = 0, .mode = VECTORS_EXACT};
        ck_assert_int_eq(vectors_scan(&view, &query, scores, &err), ERR_OK);
        ck_assert_uint_lt(doc, scores[layer].n);
        has = has && scores[layer].at[doc] > -1.5F;
        out[k] = scores[layer].at[doc];
    }
    store_end(txn);
    return has;
}

void expect_vector(enum layer layer, uint32_t doc, const char *text)
{
    float want[64], have[64];
    vector_of(str_of(text), want);
    ck_assert(row_of(layer, doc, have));
    for (uint32_t k = 0; k < kit_model.dim; k++)
        ck_assert_msg(fabsf(want[k] - have[k]) < 0.01F, "%s: %g %g", text, (double)want[k],
                      (double)have[k]);
}

const struct line talk[TALK] = {
    {"s1", "Ann", "I signed up for the spring marathon in Hamburg."},
    {"s1", "Bob", "How do you train for such a long run?"},
    {"s1", "Ann", "Four times a week along the river with the club."},
    {"s1", "Bob", "My knees would never forgive me for that."},
};

void talk_unembedded(void)
{
    provider(false);
    say_all(talk, TALK);
    (void)flush_now(NULL);
    run_all();
    provider(true);
}
