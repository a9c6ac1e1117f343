/* The bare counterpart of the POST figure (DESIGN 3, 4): how fast the same writes go to LMDB when
 * nothing but LMDB is in the way.
 *
 *   bench_bare --record FILE --dir SCRATCH   plan -> accept_build() -> real store -> every LMDB
 *                                            write of its writer thread -> FILE
 *   bench_bare --replay FILE --dir EMPTY     the same writes, 32 closed-loop threads, group commit
 *
 * Recording. This program defines mdb_put() and its kin itself, so the storage code's calls come
 * here first, are noted and go on to the real library: what is replayed is exactly what the daemon
 * writes for its turn batches, keys, sizes and flags, with counters, due rows, log rows and names.
 * The calls of all connections go to the store round by round; a row belongs to the call whose
 * space its key names. No stage runs while recording, so its batches are not in the list. */
#include <dlfcn.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/ingest/accept.h"
#include "storage/storage.h"
#include "tests/bench/args.h"
#include "tests/bench/plan.h"
#include "tests/bench/replay.h"

enum {
    OPS_MAX = 1 << 30, /* bytes noted in one round */
    CALL_ARENA_BYTES = 64 << 20,
    TURNS_MAX = 256,
    PREFIX_BYTES = 9,
    SYSTEM_ID_AT = 17, /* of the space id in a DUE key */
};

/* --- what is noted --- */

struct note {
    struct oplist_op op; /* key and value are offsets into `bytes` until the round ends */
    size_t key_at, value_at;
};

struct recorder {
    pthread_mutex_t mutex;
    pthread_cond_t told;
    uint32_t pending; /* batches that the writer has not answered */
    uint32_t refused;
    bool on;
    struct note *notes;
    size_t n, cap;
    struct buf bytes;
};

/* The interposed functions have no other way to find it. */
static struct recorder recorder = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                                   .told = PTHREAD_COND_INITIALIZER};
/* The library's own calls of these functions may come here, too. Only the writer thread writes. */
static _Thread_local bool inside;

static void note(uint8_t type, const MDB_val *key, const MDB_val *value, unsigned flags)
{
    struct recorder *r = &recorder;
    if (!r->on || inside)
        return;
    if (r->n == r->cap) {
        r->cap = r->cap != 0 ? r->cap * 2 : 4096;
        r->notes = realloc(r->notes, r->cap * sizeof *r->notes);
        ASSERT(r->notes != NULL);
    }
    struct note *at = &r->notes[r->n++];
    *at = (struct note){.op = {.type = type, .flags = flags}, .key_at = r->bytes.len};
    at->op.key.len = key->mv_size;
    buf_put(&r->bytes, key->mv_data, key->mv_size);
    at->value_at = r->bytes.len;
    if (value != NULL) {
        at->op.value.len = value->mv_size;
        buf_put(&r->bytes, value->mv_data, value->mv_size);
    }
}

/* The library's own functions, looked up once before there is a second thread. */
static struct {
    int (*put)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *, unsigned int);
    int (*cursor_put)(MDB_cursor *, MDB_val *, MDB_val *, unsigned int);
    int (*del)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *);
    int (*cursor_del)(MDB_cursor *, unsigned int);
} lmdb;

static void find_real(const char *name, void *fn, size_t size)
{
    void *found = dlsym(RTLD_NEXT, name);
    ASSERT(found != NULL && size == sizeof found);
    memcpy(fn, &found, size);
}

static void find_all_real(void)
{
    find_real("mdb_put", &lmdb.put, sizeof lmdb.put);
    find_real("mdb_cursor_put", &lmdb.cursor_put, sizeof lmdb.cursor_put);
    find_real("mdb_del", &lmdb.del, sizeof lmdb.del);
    find_real("mdb_cursor_del", &lmdb.cursor_del, sizeof lmdb.cursor_del);
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data, unsigned int flags)
{
    note(OPLIST_PUT, key, data, flags);
    bool outer = inside;
    inside = true;
    int rc = lmdb.put(txn, dbi, key, data, flags);
    inside = outer;
    return rc;
}

int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *data, unsigned int flags)
{
    note(OPLIST_PUT_CURSOR, key, data, flags);
    bool outer = inside;
    inside = true;
    int rc = lmdb.cursor_put(cursor, key, data, flags);
    inside = outer;
    return rc;
}

int mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data)
{
    note(OPLIST_DEL, key, NULL, 0);
    bool outer = inside;
    inside = true;
    int rc = lmdb.del(txn, dbi, key, data);
    inside = outer;
    return rc;
}

int mdb_cursor_del(MDB_cursor *cursor, unsigned int flags)
{
    MDB_val key, value;
    if (recorder.on && !inside && mdb_cursor_get(cursor, &key, &value, MDB_GET_CURRENT) == 0)
        note(OPLIST_DEL, &key, NULL, 0);
    bool outer = inside;
    inside = true;
    int rc = lmdb.cursor_del(cursor, flags);
    inside = outer;
    return rc;
}

/* --- one round: a call of each connection --- */

/* What a connection has under way. */
struct caller {
    struct arena *arena;
    struct batch *batch; /* NULL: it calls no more */
    uint64_t space;      /* its id, once the batch is applied */
};

struct round {
    const struct plan *plan;
    struct store *store;
    struct clock clock;
    struct caller *callers; /* one a connection */
    FILE *out;
    uint64_t calls, ops;
};

static void on_done(struct batch *batch, enum err_code code, const struct err *err, void *arg)
{
    struct recorder *r = arg;
    (void)batch;
    pthread_mutex_lock(&r->mutex);
    if (code != ERR_OK) {
        r->refused++;
        (void)fprintf(stderr, "bench_bare: a batch was refused: %s\n", err->message);
    }
    r->pending--;
    pthread_cond_signal(&r->told);
    pthread_mutex_unlock(&r->mutex);
}

static enum err_code build(struct round *round, struct store_txn *txn, uint32_t c,
                           const struct plan_call *call, struct err *err)
{
    struct arena *arena = round->callers[c].arena;
    char name[GEN_NAME_MAX];
    uint64_t space = 0;
    int64_t now = clock_now_ms(&round->clock);
    struct gen_turn *turns = ARENA_ARRAY(arena, struct gen_turn, call->turns);
    struct turn_input *inputs = ARENA_ARRAY(arena, struct turn_input, call->turns);
    ASSERT(turns != NULL && inputs != NULL && call->turns <= TURNS_MAX);
    for (uint32_t i = 0; i < call->turns; i++) {
        gen_turn(&round->plan->gen, call->space, call->turn + i, &turns[i]);
        inputs[i] = (struct turn_input){.id = str_of(turns[i].id),
                                        .session = str_of(turns[i].session),
                                        .speaker = str_of(turns[i].speaker),
                                        .text = {turns[i].text, turns[i].text_len},
                                        .has_time = true,
                                        .time_ms = turns[i].time_ms};
    }
    struct str named = {name, gen_space_name(round->plan->prefix, call->space, name)};
    struct accept_call accept = {.turns = inputs, .n = call->turns, .received_ms = now};
    struct space settings = space_default(now);
    struct accept_plan plan;
    enum err_code code = store_space_find(txn, named, &space, err);
    if (code == ERR_OK)
        code = accept_build(txn, space, named, space != 0 ? NULL : &settings, &accept, arena, &plan,
                            err);
    round->callers[c].batch = code == ERR_OK ? plan.batch : NULL;
    return code;
}

static enum err_code submit(struct round *round, uint32_t c, struct err *err)
{
    pthread_mutex_lock(&recorder.mutex);
    recorder.pending++;
    pthread_mutex_unlock(&recorder.mutex);
    return store_submit(round->store, round->callers[c].batch, STORE_TURNS, on_done, &recorder,
                        err);
}

/* The connection whose call wrote the row; UINT32_MAX: a row of the system that names no space. */
static uint32_t owner_of(const struct round *round, struct str key)
{
    uint64_t space = be64_get(key.at);
    if (space == 0 && key.at[8] == KIND_DUE && key.len >= SYSTEM_ID_AT + 8)
        space = be64_get(key.at + SYSTEM_ID_AT);
    for (uint32_t c = 0; space != 0 && c < round->plan->connections; c++) {
        if (round->callers[c].space == space)
            return c;
    }
    return UINT32_MAX;
}

static void put_le32(FILE *out, uint32_t v)
{
    char bytes[4];
    le32_set(bytes, v);
    (void)fwrite(bytes, 1, sizeof bytes, out);
}

/* Rows that name no space (FORMAT, REGISTRY) were written just before those of the space that they
 * create, so they go with the next row that has an owner. */
static void find_owners(const struct round *round, uint32_t *owners)
{
    uint32_t next = 0;
    for (size_t i = recorder.n; i-- > 0;) {
        struct note *n = &recorder.notes[i];
        n->op.key.at = recorder.bytes.at + n->key_at;
        n->op.value.at = recorder.bytes.at + n->value_at;
        uint32_t owner = owner_of(round, n->op.key);
        next = owner != UINT32_MAX ? owner : next;
        owners[i] = next;
    }
}

static bool write_round(struct round *round)
{
    struct buf bytes;
    uint32_t *owners = calloc(recorder.n + 1, sizeof *owners);
    ASSERT(owners != NULL && buf_ok(&recorder.bytes));
    find_owners(round, owners);
    buf_init(&bytes, NULL, OPS_MAX);
    for (uint32_t c = 0; c < round->plan->connections; c++) {
        uint32_t n = 0;
        buf_clear(&bytes);
        for (size_t i = 0; round->callers[c].batch != NULL && i < recorder.n; i++) {
            if (owners[i] != c)
                continue;
            oplist_put_op(&bytes, &recorder.notes[i].op);
            n++;
        }
        if (n == 0)
            continue;
        put_le32(round->out, c);
        put_le32(round->out, n);
        (void)fwrite(bytes.at, 1, bytes.len, round->out);
        round->calls++;
        round->ops += n;
    }
    free(owners);
    buf_fini(&bytes);
    return ferror(round->out) == 0;
}

/* Call `number` of every connection. */
static enum err_code run_round(struct round *round, uint64_t number, struct err *err)
{
    struct store_txn *txn = NULL;
    enum err_code code = store_begin(round->store, &txn, err);
    recorder.n = 0;
    buf_clear(&recorder.bytes);
    for (uint32_t c = 0; code == ERR_OK && c < round->plan->connections; c++) {
        struct plan_call call = plan_call(round->plan, c, number);
        arena_reset(round->callers[c].arena);
        round->callers[c].batch = NULL;
        if (call.kind == CALL_POST)
            code = build(round, txn, c, &call, err);
    }
    store_end(txn);
    for (uint32_t c = 0; code == ERR_OK && c < round->plan->connections; c++) {
        if (round->callers[c].batch != NULL)
            code = submit(round, c, err);
    }
    pthread_mutex_lock(&recorder.mutex);
    while (recorder.pending != 0)
        (void)pthread_cond_wait(&recorder.told, &recorder.mutex);
    pthread_mutex_unlock(&recorder.mutex);
    for (uint32_t c = 0; c < round->plan->connections; c++)
        round->callers[c].space =
            round->callers[c].batch != NULL ? round->callers[c].batch->space : 0;
    if (code == ERR_OK && recorder.refused != 0)
        code = err_set(err, ERR_CONFLICT, "%u batches were refused", recorder.refused);
    if (code == ERR_OK && !write_round(round))
        code = err_set(err, ERR_UNAVAILABLE, "can't write the list");
    return code;
}

/* --- recording --- */

static enum err_code open_store(struct round *round, const char *dir, struct log *log,
                                struct err *err)
{
    struct storage_options options = {.dir = dir};
    enum err_code code = storage_open(&options, log, &round->clock, &round->store, err);
    return code == ERR_OK ? storage_start_writer(round->store, err) : code;
}

static void write_head(struct round *round)
{
    char head[24] = OPLIST_MAGIC;
    le64_set(head + 8, round->calls);
    le64_set(head + 16, round->ops);
    rewind(round->out);
    (void)fwrite(head, 1, sizeof head, round->out);
}

static enum err_code record(const struct plan *plan, const char *dir, const char *path,
                            uint64_t calls, struct err *err)
{
    struct round round = {.plan = plan, .clock = clock_system()};
    struct log log = {.fd = -1, .level = LOG_ERROR, .clock = clock_system()};
    uint32_t n = plan->connections;
    round.callers = calloc(n, sizeof *round.callers);
    round.out = fopen(path, "wb");
    ASSERT(round.callers != NULL);
    for (uint32_t c = 0; c < n; c++)
        round.callers[c].arena = arena_new(CALL_ARENA_BYTES);
    buf_init(&recorder.bytes, NULL, OPS_MAX);
    enum err_code code = round.out != NULL ? open_store(&round, dir, &log, err)
                                           : err_set(err, ERR_UNAVAILABLE, "can't write %s", path);
    if (code == ERR_OK)
        write_head(&round);
    recorder.on = true;
    for (uint64_t number = 0; code == ERR_OK && number < calls / n; number++)
        code = run_round(&round, number, err);
    storage_close(round.store); /* joins the writer: after that nothing is noted */
    recorder.on = false;
    if (code == ERR_OK)
        write_head(&round);
    if (round.out != NULL && fclose(round.out) != 0 && code == ERR_OK)
        code = err_set(err, ERR_UNAVAILABLE, "can't write %s", path);
    for (uint32_t c = 0; c < n; c++)
        arena_free(round.callers[c].arena);
    free(round.callers);
    free(recorder.notes);
    buf_fini(&recorder.bytes);
    return code;
}

/* --- replaying --- */

static int replay(const char *path, const char *dir)
{
    struct oplist list;
    struct replay_result result;
    struct buf line;
    if (!oplist_open(path, &list)) {
        (void)fprintf(stderr, "bench_bare: %s is no list of writes\n", path);
        return 1;
    }
    replay_run(&list, dir, &result);
    if (result.rc != 0)
        (void)fprintf(stderr, "bench_bare: %s\n", mdb_strerror(result.rc));
    double seconds = (double)result.elapsed_ns / 1e9;
    buf_init(&line, NULL, 1 << 16);
    struct json_out out = json_out_of(&line);
    out_object(&out, NULL);
    out_u64(&out, "connections", list.connections);
    out_u64(&out, "calls", result.calls);
    out_u64(&out, "writes", list.ops);
    out_u64(&out, "bytes", list.bytes);
    out_u64(&out, "commits", result.commits);
    out_u64(&out, "written_bytes", result.written_bytes);
    out_real(&out, "seconds", seconds, 4);
    out_real(&out, "calls_per_s", seconds > 0 ? (double)result.calls / seconds : 0, 1);
    samples_report(&result.call, &out, "call_ms");
    out_end(&out);
    (void)printf("%.*s\n", STR_FMT(buf_str(&line)));
    buf_fini(&line);
    samples_free(&result.call);
    oplist_close(&list);
    return result.rc == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct plan plan = {.mode = PLAN_POST,
                        .gen = {.seed = 1, .text_bytes = 140, .turns_per_session = 12},
                        .prefix = "load-",
                        .params = "",
                        .connections = 32,
                        .turns_per_call = 1,
                        .turns_per_space = 200,
                        .stride = 1};
    const char *record_to = NULL, *replay_from = NULL, *dir = NULL;
    uint32_t calls = 32000, seed = 1;
    const struct arg rows[] = {
        {.name = "record", .text = &record_to, .doc = "file to write"},
        {.name = "replay", .text = &replay_from, .doc = "file to replay"},
        {.name = "dir", .text = &dir, .doc = "an empty directory for the data"},
        {.name = "calls", .number = &calls, .doc = "to record"},
        {.name = "connections", .number = &plan.connections, .doc = "that make them"},
        {.name = "turns-per-call", .number = &plan.turns_per_call, .doc = "of a POST"},
        {.name = "turns-per-space", .number = &plan.turns_per_space, .doc = "of a conversation"},
        {.name = "text-bytes", .number = &plan.gen.text_bytes, .doc = "mean of a turn's text"},
        {.name = "seed", .number = &seed, .doc = "of the text"},
    };
    struct err err;
    if (!args_parse(argc, argv, rows, sizeof rows / sizeof rows[0]) || dir == NULL ||
        (record_to == NULL) == (replay_from == NULL) || plan.connections == 0 ||
        plan.turns_per_call == 0 || plan.turns_per_call > TURNS_MAX)
        return 2;
    plan.gen.seed = seed;
    find_all_real();
    if (replay_from != NULL)
        return replay(replay_from, dir);
    enum err_code code = record(&plan, dir, record_to, calls, &err);
    if (code != ERR_OK)
        (void)fprintf(stderr, "bench_bare: %s\n", err.message);
    return code == ERR_OK ? 0 : 1;
}
