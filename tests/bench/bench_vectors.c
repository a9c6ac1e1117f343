/* How fast vectors are scanned in the real store, beside how fast this machine reads memory.
 *
 *   bench_vectors --dir EMPTY [--rows 100000] [--dim 384] [--facts 10000] [--fact-dim 1024]
 *                 [--rounds 50]
 *
 * Two spaces: `rows` documents of one layer without edges; and `facts` facts, ten an episode, six
 * episodes a topic, with all edges. Each round reads memory (as many bytes as the scan reads, in
 * one piece, eight bytes at a time) and then scans, so that both meet the same neighbours. Prints
 * one object of JSON; times are in milliseconds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/json_out.h"
#include "core/graph/edge.h"
#include "core/graph/fact.h"
#include "core/graph/space.h"
#include "core/index/column.h"
#include "core/index/vectors.h"
#include "storage/storage.h"
#include "tests/bench/args.h"

enum { FACTS_AN_EPISODE = 10, EPISODES_A_TOPIC = 6, ROUNDS_MAX = 1000, WARM_UP = 3 };
#define ARENA_BYTES ((size_t)2 << 30)

struct bench {
    struct store *store;
    struct arena *arena;
    uint64_t space;
    uint32_t dim;
    uint64_t seed;
    struct vectors_generations all;
    pthread_mutex_t mutex; /* the next three */
    pthread_cond_t told;
    bool done;
    enum err_code code;
};

static void must(enum err_code code, const struct err *err)
{
    if (code == ERR_OK)
        return;
    (void)fprintf(stderr, "bench_vectors: %s\n", err->message);
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double part_of(double *times, uint32_t n, double part)
{
    qsort(times, n, sizeof *times, by_size);
    return times[(uint32_t)((double)(n - 1) * part)];
}

/* --- commits --- */

static void on_done(struct batch *batch, enum err_code code, const struct err *err, void *arg)
{
    struct bench *b = arg;
    (void)batch;
    if (code != ERR_OK)
        (void)fprintf(stderr, "bench_vectors: %s\n", err->message);
    pthread_mutex_lock(&b->mutex);
    b->done = true;
    b->code = code;
    pthread_cond_signal(&b->told);
    pthread_mutex_unlock(&b->mutex);
}

static void commit(struct bench *b, struct batch *batch)
{
    struct err err = {.message = "a batch was refused"};
    b->done = false;
    must(batch_ok(batch) ? ERR_OK : ERR_EXHAUSTED, &err);
    must(store_submit(b->store, batch, STORE_STAGES, on_done, b, &err), &err);
    pthread_mutex_lock(&b->mutex);
    while (!b->done)
        pthread_cond_wait(&b->told, &b->mutex);
    pthread_mutex_unlock(&b->mutex);
    must(b->code, &err);
}

static struct store_txn *begin(struct bench *b)
{
    struct err err;
    struct store_txn *txn;
    must(store_begin(b->store, &txn, &err), &err);
    return txn;
}

/* A batch on what is there now; the generations are read again. */
static struct batch *open_batch(struct bench *b, enum batch_cause cause)
{
    struct err err;
    arena_reset(b->arena);
    struct store_txn *txn = begin(b);
    must(vectors_generations_get(txn, b->space, b->arena, &b->all, &err), &err);
    store_end(txn); /* lines of identity are not looked at */
    return batch_new(b->arena, b->space, cause);
}

static void make_space(struct bench *b, const char *name, uint32_t dim)
{
    struct err err;
    struct buf record;
    struct space settings = space_default(0);
    struct batch *batch = batch_new_named(b->arena, str_of(name), CAUSE_CREATE);
    buf_init(&record, b->arena, 1024);
    space_encode(&settings, &record);
    batch->create = true;
    batch->settings = buf_str(&record);
    commit(b, batch);
    b->space = batch->space;
    b->dim = dim;
    const struct vectors_identity identity = {.hash = 1, .line = STR(""), .dim = dim};
    batch = open_batch(b, CAUSE_KEEP);
    must(vectors_start(&b->all, batch, &identity, &err), &err);
    commit(b, batch);
    batch = open_batch(b, CAUSE_KEEP);
    must(vectors_activate(&b->all, batch, &err), &err);
    commit(b, batch);
}

/* --- filling --- */

static float next_float(struct bench *b)
{
    b->seed = b->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(int32_t)(b->seed >> 32) / 2147483648.0f;
}

static void put_lengths(struct batch *batch, enum layer layer, uint32_t n)
{
    char prefix = (char)layer;
    char *lengths = arena_alloc(batch->arena, n);
    ASSERT(lengths != NULL);
    memset(lengths, 9, n);
    (void)batch_rows(batch, KIND_LENGTH, (struct str){&prefix, 1}, LENGTH_BLOCK, 1, 0,
                     (struct str){lengths, n});
    batch_set(batch, (enum stat_id)(STAT_DOCS_TURN + layer), n);
}

static void embed(struct bench *b, enum layer layer, uint32_t n)
{
    uint32_t docs[VECTORS_ADD_MAX];
    struct err err;
    for (uint32_t first = 0; first < n; first += VECTORS_ADD_MAX) {
        struct batch *batch = open_batch(b, CAUSE_STAGE);
        uint32_t part = n - first < VECTORS_ADD_MAX ? n - first : VECTORS_ADD_MAX;
        float *rows = ARENA_ARRAY(b->arena, float, (size_t)part * b->dim);
        ASSERT(rows != NULL);
        for (size_t i = 0; i < (size_t)part * b->dim; i++)
            rows[i] = next_float(b);
        for (uint32_t i = 0; i < part; i++)
            docs[i] = first + i;
        struct vectors_docs add = {layer, docs, part, rows, NULL, first + part};
        must(vectors_add(&b->all.at[0], kernels_choose(NULL), batch, &add, &err), &err);
        vectors_save(&b->all.at[0], batch);
        commit(b, batch);
    }
}

static struct vectors_view view_of(struct bench *b, struct store_txn *txn)
{
    struct err err;
    must(vectors_generations_get(txn, b->space, b->arena, &b->all, &err), &err);
    return (struct vectors_view){
        .txn = txn,
        .space = b->space,
        .kernels = kernels_choose(NULL),
        .arena = b->arena,
        .lengths = lengths_new(txn, b->space, b->arena),
        .generation = &b->all.at[0],
    };
}

typedef enum err_code keep_fn(const struct vectors_view *view, struct batch *batch, bool *did,
                              struct err *err);

/* Until nothing is left; the milliseconds of building, without the commits. */
static double keep_all(struct bench *b, keep_fn *keep)
{
    double spent = 0;
    for (bool did = true; did;) {
        struct err err;
        arena_reset(b->arena);
        struct store_txn *txn = begin(b);
        struct batch *batch = batch_new(b->arena, b->space, CAUSE_KEEP);
        double start = now_ms();
        struct vectors_view view = view_of(b, txn);
        must(keep(&view, batch, &did, &err), &err);
        spent += now_ms() - start;
        store_end(txn);
        if (did)
            commit(b, batch);
    }
    return spent;
}

static void put_edge(struct batch *batch, enum store_kind kind, uint32_t parent, uint32_t first,
                     uint32_t n)
{
    struct edge_member members[FACTS_AN_EPISODE];
    struct buf value;
    for (uint32_t i = 0; i < n; i++)
        members[i] = (struct edge_member){first + i, ROLE_CORE, (uint16_t)(6000 * i)};
    buf_init(&value, batch->arena, 1024);
    edge_encode(&(struct edge){members, n}, &value);
    (void)batch_put_u32(batch, kind, parent, buf_str(&value), 0);
}

static void put_fact(struct batch *batch, uint32_t id, uint32_t episode)
{
    struct buf value;
    struct fact fact = {
        .id = id, .n_sources = 1, .sources = &id, .n_episodes = 1, .episodes = &episode};
    fact.content = fact.speaker = fact.role = fact.keywords = STR("");
    fact.potential = fact.time_text = STR("");
    buf_init(&value, batch->arena, 1024);
    fact_encode(&fact, &value);
    (void)batch_put_u32(batch, KIND_FACT, id, buf_str(&value), 0);
}

/* Episode by episode, a thousand records a batch. */
static void fill_graph(struct bench *b, uint32_t episodes, uint32_t topics)
{
    struct batch *batch = open_batch(b, CAUSE_STAGE);
    put_lengths(batch, LAYER_FACT, episodes * FACTS_AN_EPISODE);
    put_lengths(batch, LAYER_EPISODE, episodes);
    put_lengths(batch, LAYER_TOPIC, topics);
    batch_set(batch, STAT_NEXT_EPISODE, episodes + 1);
    batch_set(batch, STAT_NEXT_TOPIC, topics + 1);
    batch_set(batch, STAT_NEXT_FACT, episodes * FACTS_AN_EPISODE + 1);
    for (uint32_t topic = 1; topic <= topics; topic++)
        put_edge(batch, KIND_TOPIC_EDGE, topic, (topic - 1) * EPISODES_A_TOPIC + 1,
                 EPISODES_A_TOPIC);
    commit(b, batch);
    for (uint32_t id = 1; id <= episodes; id++) {
        if (id % 100 == 1)
            batch = open_batch(b, CAUSE_STAGE);
        struct episode_row row = {
            .doc = id - 1, .turns = 1, .topics = {(id - 1) / EPISODES_A_TOPIC + 1, 0}};
        (void)column_put(batch, COLUMN_EPISODE, id - 1, &row, 1);
        (void)column_put(batch, COLUMN_EPISODE_DOC, id - 1, &id, 1);
        put_edge(batch, KIND_EPISODE_EDGE, id, (id - 1) * FACTS_AN_EPISODE + 1, FACTS_AN_EPISODE);
        for (uint32_t i = 1; i <= FACTS_AN_EPISODE; i++)
            put_fact(batch, (id - 1) * FACTS_AN_EPISODE + i, id);
        if (id % 100 == 0 || id == episodes)
            commit(b, batch);
    }
}

/* --- measuring --- */

/* `bytes` read once, each line asked for ahead as the kernels do it: the scan is not to be compared
 * with less than the memory gives. The sum keeps the compiler from leaving it out. */
static uint64_t read_memory(const uint64_t *at, size_t bytes)
{
    uint64_t sum[4] = {0};
    for (size_t i = 0; i + 8 <= bytes / 8; i += 8) {
        size_t ahead = i + KERNELS_AHEAD / 8;
        __builtin_prefetch(at + (ahead < bytes / 8 ? ahead : i), 0, 2);
        for (size_t k = 0; k < 4; k++)
            sum[k] += at[i + k] + at[i + 4 + k];
    }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Bytes of all blocks of the generation's layers. */
static size_t block_bytes(struct bench *b)
{
    struct err err;
    struct store_item item;
    struct store_cursor *cursor;
    size_t bytes = 0;
    struct store_txn *txn = begin(b);
    must(store_cursor_open(txn, b->space, KIND_VECTOR, &cursor, &err), &err);
    must(store_cursor_next(cursor, &item, &err), &err);
    while (item.key.at != NULL) {
        bytes += item.value.len;
        must(store_cursor_next(cursor, &item, &err), &err);
    }
    store_cursor_close(cursor);
    store_end(txn);
    return bytes;
}

static double scan_once(struct bench *b, const struct vectors_query *query)
{
    struct vectors_scores out[LAYERS];
    struct err err;
    double start = now_ms();
    arena_reset(b->arena);
    struct store_txn *txn = begin(b);
    struct vectors_view view = view_of(b, txn);
    must(vectors_scan(&view, query, out, &err), &err);
    store_end(txn);
    return now_ms() - start;
}

/* The best tenth tells what the code can do, whatever else runs here. */
static void report_times(struct json_out *out, const char *name, double *times, uint32_t n)
{
    out_object(out, name);
    out_real(out, "p10", part_of(times, n, 0.1), 4);
    out_real(out, "p50", part_of(times, n, 0.5), 4);
    out_real(out, "p99", part_of(times, n, 0.99), 4);
    out_end(out);
}

static void measure(struct bench *b, uint32_t rounds, float lambda, struct json_out *out)
{
    static double memory[ROUNDS_MAX], fast[ROUNDS_MAX], exact[ROUNDS_MAX];
    size_t bytes = block_bytes(b);
    uint64_t sum = 0;
    uint64_t *buffer = malloc(bytes);
    float *q = malloc(b->dim * sizeof *q);
    ASSERT(buffer != NULL && q != NULL);
    memset(buffer, 1, bytes);
    struct vectors_query query = {.q = q, .mask = (1U << LAYERS) - 1, .lambda = lambda};
    for (uint32_t i = 0; i < rounds + WARM_UP; i++) {
        uint32_t at = i < WARM_UP ? 0 : i - WARM_UP;
        for (uint32_t k = 0; k < b->dim; k++)
            q[k] = next_float(b);
        double start = now_ms();
        sum += read_memory(buffer, bytes);
        memory[at] = now_ms() - start;
        query.mode = VECTORS_FAST;
        fast[at] = scan_once(b, &query);
        query.mode = VECTORS_EXACT;
        exact[at] = scan_once(b, &query);
    }
    out_u64(out, "bytes", bytes);
    out_u64(out, "sum", sum % 10); /* so that it is used */
    report_times(out, "memory", memory, rounds);
    report_times(out, "fast", fast, rounds);
    report_times(out, "exact", exact, rounds);
    free(buffer);
    free(q);
}

static void measure_rows(struct bench *b, uint32_t rows, uint32_t dim, uint32_t rounds,
                         struct json_out *out)
{
    make_space(b, "rows", dim);
    struct batch *batch = open_batch(b, CAUSE_STAGE);
    put_lengths(batch, LAYER_TURN, rows);
    commit(b, batch);
    embed(b, LAYER_TURN, rows);
    out_object(out, "rows");
    out_real(out, "fold_ms", keep_all(b, vectors_fold), 1);
    measure(b, rounds, 0, out);
    out_end(out);
}

/* One edge again and again: what a new episode costs to settle. */
static void measure_settle(struct bench *b, uint32_t episodes, struct json_out *out)
{
    enum { TIMES = 20 };
    double times[TIMES];
    for (uint32_t i = 0; i < TIMES; i++) {
        uint32_t parent = i * 37 % episodes + 1;
        struct batch *batch = open_batch(b, CAUSE_STAGE);
        put_edge(batch, KIND_EPISODE_EDGE, parent, (parent - 1) * FACTS_AN_EPISODE + 1,
                 FACTS_AN_EPISODE - 1);
        vectors_edge_dirty(&b->all, batch, KIND_EPISODE_EDGE, parent, VECTORS_NO_SLOT);
        commit(b, batch);
        times[i] = keep_all(b, vectors_settle);
    }
    out_real(out, "settle_edge_ms", part_of(times, TIMES, 0.5), 3);
}

static void measure_facts(struct bench *b, uint32_t facts, uint32_t dim, uint32_t rounds,
                          struct json_out *out)
{
    uint32_t topics = facts / FACTS_AN_EPISODE / EPISODES_A_TOPIC;
    uint32_t episodes = topics * EPISODES_A_TOPIC;
    make_space(b, "facts", dim);
    fill_graph(b, episodes, topics);
    embed(b, LAYER_FACT, episodes * FACTS_AN_EPISODE);
    embed(b, LAYER_EPISODE, episodes);
    embed(b, LAYER_TOPIC, topics);
    out_object(out, "facts");
    out_u64(out, "facts", episodes * FACTS_AN_EPISODE);
    out_real(out, "settle_all_ms", keep_all(b, vectors_settle), 1);
    out_real(out, "fold_ms", keep_all(b, vectors_fold), 1);
    measure(b, rounds, VECTORS_LAMBDA, out);
    measure_settle(b, episodes, out);
    out_end(out);
}

int main(int argc, char **argv)
{
    const char *dir = NULL;
    uint32_t rows = 100000, dim = 384, facts = 10000, fact_dim = 1024, rounds = 50;
    const struct arg args[] = {
        {.name = "dir", .text = &dir, .doc = "an empty directory"},
        {.name = "rows", .number = &rows, .doc = "of the space without edges"},
        {.name = "dim", .number = &dim, .doc = "of these"},
        {.name = "facts", .number = &facts, .doc = "of the space with edges"},
        {.name = "fact-dim", .number = &fact_dim, .doc = "of these"},
        {.name = "rounds", .number = &rounds, .doc = "measurements, at most 1000"},
    };
    if (!args_parse(argc, argv, args, sizeof args / sizeof args[0]) || dir == NULL || rounds == 0 ||
        rounds > ROUNDS_MAX)
        return 2;
    static struct bench b = {.mutex = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
    struct err err;
    struct clock clock = clock_system();
    struct log log = {.fd = 2, .level = LOG_ERROR, .clock = clock};
    struct storage_options options = {.dir = dir};
    struct buf line;
    b.arena = arena_new(ARENA_BYTES);
    ASSERT(b.arena != NULL);
    must(storage_open(&options, &log, &clock, &b.store, &err), &err);
    must(storage_start_writer(b.store, &err), &err);
    buf_init(&line, NULL, 1 << 16);
    struct json_out out = json_out_of(&line);
    out_object(&out, NULL);
    out_cstr(&out, "kernels", kernels_choose(NULL)->name);
    measure_rows(&b, rows, dim, rounds, &out);
    measure_facts(&b, facts, fact_dim, rounds, &out);
    out_end(&out);
    (void)printf("%.*s\n", STR_FMT(buf_str(&line)));
    buf_fini(&line);
    storage_close(b.store);
    arena_free(b.arena);
    return 0;
}
