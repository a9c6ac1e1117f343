#include "api/idempotency.h"

#include <stdlib.h>

#include "api/api_int.h"
#include "api/handler.h"
#include "core/base/limits.h"

enum { ROW_FORMAT = 1, ROW_KEY = 16 };

void idempotency_set_init(struct idempotency_set *set)
{
    *set = (struct idempotency_set){.at = NULL};
    int rc = pthread_mutex_init(&set->mutex, NULL);
    ASSERT(rc == 0);
}

void idempotency_set_fini(struct idempotency_set *set)
{
    free(set->at);
    (void)pthread_mutex_destroy(&set->mutex);
}

static bool same(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

static size_t index_of(const struct idempotency_set *set, struct hash128 place)
{
    size_t i = 0;
    while (i < set->n && !same(set->at[i], place))
        i++;
    return i;
}

/* Room for one more; false when memory is short. The number of calls bounds it. */
static bool grow(struct idempotency_set *set)
{
    if (set->n < set->cap)
        return true;
    size_t cap = set->cap == 0 ? 16 : set->cap * 2;
    struct hash128 *at = realloc(set->at, cap * sizeof *at);
    if (at == NULL)
        return false;
    set->at = at;
    set->cap = cap;
    return true;
}

static enum err_code set_add(struct idempotency_set *set, struct hash128 place, struct err *err)
{
    enum err_code code = ERR_OK;
    pthread_mutex_lock(&set->mutex);
    if (index_of(set, place) < set->n)
        code = ERR_CONFLICT;
    else if (!grow(set))
        code = ERR_UNAVAILABLE;
    else
        set->at[set->n++] = place;
    pthread_mutex_unlock(&set->mutex);
    if (code == ERR_CONFLICT)
        return err_set_param(err, code, "Idempotency-Key", "a call with this key is running");
    return code == ERR_OK ? ERR_OK : err_set(err, code, "no memory for the key");
}

static void set_remove(struct idempotency_set *set, struct hash128 place)
{
    pthread_mutex_lock(&set->mutex);
    size_t i = index_of(set, place);
    ASSERT(i < set->n);
    set->at[i] = set->at[--set->n];
    pthread_mutex_unlock(&set->mutex);
}

static bool key_is_valid(struct str key)
{
    if (key.len == 0 || key.len > LIMIT_IDEMPOTENCY_KEY_BYTES)
        return false;
    for (size_t i = 0; i < key.len; i++)
        if (key.at[i] < '!' || key.at[i] > '~')
            return false;
    return true;
}

enum err_code idempotency_enter(struct api_call *call, struct err *err)
{
    struct idempotency *once = &visit_of(call)->once;
    struct str key = call->request.idempotency_key;
    if (key.at == NULL)
        return ERR_OK;
    if (!key_is_valid(key))
        return err_set_param(err, ERR_INVALID, "Idempotency-Key",
                             "want 1 to %u visible ASCII characters", LIMIT_IDEMPOTENCY_KEY_BYTES);
    struct hash128 row = {0, 0};
    row = hash128_add(row, call->api->options.api_key);
    row = hash128_add(row, str_of(call->route->path));
    once->row = hash128_add(row, key);
    once->place = hash128_add(once->row, visit_of(call)->space_name);
    once->body = hash128(call->request.body);
    enum err_code code = set_add(&call->api->running, once->place, err);
    once->wanted = once->running = code == ERR_OK;
    return code;
}

void idempotency_leave(struct api_call *call)
{
    struct visit *visit = visit_of(call);
    if (visit == NULL || !visit->once.running)
        return;
    visit->once.running = false;
    set_remove(&call->api->running, visit->once.place);
}

static struct str row_key(const struct idempotency *once, char out[ROW_KEY])
{
    le64_set(out, once->row.low);
    le64_set(out + 8, once->row.high);
    return (struct str){out, ROW_KEY};
}

enum err_code idempotency_find(const struct api_call *call, struct store_txn *txn, uint64_t space,
                               uint64_t *seq, struct str *payload, struct err *err)
{
    const struct idempotency *once = &visit_of(call)->once;
    char key[ROW_KEY];
    struct str value;
    *payload = STR_NONE;
    if (!once->wanted || space == 0)
        return ERR_OK;
    enum err_code code = store_get(txn, space, KIND_IDEMPOTENCY, row_key(once, key), &value, err);
    if (code != ERR_OK || value.at == NULL)
        return code;
    struct unpack u = unpack_of(value);
    uint8_t format = unpack_u8(&u);
    struct hash128 body = {.low = unpack_u64(&u)};
    body.high = unpack_u64(&u);
    uint64_t len = unpack_u64(&u);
    *seq = unpack_u64(&u);
    if (u.bad || format != ROW_FORMAT)
        return err_set(err, ERR_INTERNAL, "a damaged idempotency row");
    if (!same(body, once->body) || len != call->request.body.len)
        return err_set_param(err, ERR_UNPROCESSABLE, "Idempotency-Key",
                             "this key was used with another body");
    *payload = unpack_bytes(&u, (size_t)(u.end - u.at));
    return ERR_OK;
}

uint32_t idempotency_put(const struct api_call *call, struct batch *batch, uint64_t seq,
                         struct str payload, int64_t now_ms)
{
    const struct idempotency *once = &visit_of(call)->once;
    char key[ROW_KEY];
    struct buf row;
    buf_init(&row, batch->arena, IDEMPOTENCY_PAYLOAD_AT + payload.len);
    buf_u8(&row, ROW_FORMAT);
    buf_u64(&row, once->body.low);
    buf_u64(&row, once->body.high);
    buf_u64(&row, call->request.body.len);
    buf_u64(&row, seq);
    buf_str_put(&row, payload);
    if (!buf_ok(&row)) {
        batch->failed = true;
        return 0;
    }
    struct str at = row_key(once, key);
    /* Only after idempotency_find() saw no row: who comes first wins, the other reads again. */
    batch_need_absent(batch, KIND_IDEMPOTENCY, at);
    uint32_t op = batch_put(batch, KIND_IDEMPOTENCY, at, buf_str(&row), 0);
    if (batch->has_seq)
        batch_fix(batch, op, FIX_VALUE, IDEMPOTENCY_SEQ_AT, SLOT_SEQ, 0);
    batch_expire(batch, (uint64_t)(now_ms + JOB_KEEP_MS), KIND_IDEMPOTENCY, at);
    return op;
}
