#include <math.h>

#include "core/model/builtin/bert_int.h"

/* Rows of queries whose weights are made at once: with 512 keys they fill 96 KiB. */
enum { QUERY_ROWS = 48, ALIGNMENT = 64 };

/* Of one run; all point into its scratch. */
struct run {
    const struct bert *bert;
    const struct bert_batch *batch;
    uint32_t tokens, hidden;
    float *x, *query, *key, *value, *context;
    float *inner;   /* where query to context were */
    float *weights; /* QUERY_ROWS of the longest sequence */
    float *wide;    /* a block of widened weights, or one row */
};

/* --- scratch --- */

static size_t padded(size_t floats)
{
    size_t step = ALIGNMENT / sizeof(float);
    return (floats + step - 1) / step * step;
}

static size_t shared_width(const struct bert_config *c)
{
    return c->inner > 4 * c->hidden ? c->inner : 4 * (size_t)c->hidden;
}

static size_t wide_floats(const struct bert *bert)
{
    const struct bert_layer *l = &bert->layers[0];
    size_t most = bert->config.hidden * sizeof(float);
    const struct matrix *all[] = {&l->query.w, &l->key.w, &l->value.w,
                                  &l->mixed.w, &l->up.w,  &l->down.w};
    for (uint32_t i = 0; i < bert->config.layers; i++, l++) {
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            size_t bytes = linear_wide_bytes(all[k]);
            most = bytes > most ? bytes : most;
        }
    }
    size_t pooler = bert->has_head ? linear_wide_bytes(&bert->pooler.w) : 0;
    return padded((pooler > most ? pooler : most) / sizeof(float));
}

size_t bert_scratch_bytes(const struct bert *bert, uint32_t tokens, uint32_t longest)
{
    const struct bert_config *c = &bert->config;
    size_t floats = padded((size_t)tokens * c->hidden);
    floats += padded((size_t)tokens * shared_width(c));
    floats += padded((size_t)QUERY_ROWS * longest) + wide_floats(bert);
    return floats * sizeof(float);
}

static uint32_t longest_of(const struct bert_batch *batch)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t length = batch->starts[i + 1] - batch->starts[i];
        ASSERT(length != 0); /* I1 */
        longest = length > longest ? length : longest;
    }
    return longest;
}

static struct run lay_out(const struct bert *bert, const struct bert_batch *batch, void *scratch)
{
    const struct bert_config *c = &bert->config;
    struct run run = {.bert = bert, .batch = batch, .hidden = c->hidden};
    run.tokens = batch->starts[batch->n];
    size_t part = (size_t)run.tokens * c->hidden;
    run.x = scratch;
    run.inner = run.x + padded(part);
    run.query = run.inner;
    run.key = run.query + part;
    run.value = run.key + part;
    run.context = run.value + part;
    run.weights = run.inner + padded((size_t)run.tokens * shared_width(c));
    run.wide = run.weights + padded((size_t)QUERY_ROWS * longest_of(batch));
    ASSERT(longest_of(batch) <= c->positions); /* I1 */
    return run;
}

/* --- embeddings --- */

static void add_row(const struct run *run, const struct matrix *m, uint32_t row, float *x)
{
    const struct rowops *ops = run->bert->way.ops;
    size_t from = (size_t)row * m->n;
    ASSERT(row < m->outs); /* I1 */
    if (m->type == TENSOR_F32) {
        ops->add(x, (const float *)m->at + from, m->n);
        return;
    }
    linear_widen(ops, m, from, m->n, run->wide);
    ops->add(x, run->wide, m->n);
}

static void embed_token(const struct run *run, uint32_t token, uint32_t position)
{
    const struct bert *bert = run->bert;
    const struct bert_batch *batch = run->batch;
    float *x = run->x + (size_t)token * run->hidden;
    ASSERT(batch->ids[token] < bert->words.outs); /* I1 */
    linear_widen(bert->way.ops, &bert->words, (size_t)batch->ids[token] * run->hidden, run->hidden,
                 x);
    add_row(run, &bert->types, batch->types != NULL ? batch->types[token] : 0, x);
    add_row(run, &bert->positions, position, x);
    bert->way.ops->normalise(x, NULL, &bert->norm, run->hidden);
}

static void embed(const struct run *run)
{
    const uint32_t *starts = run->batch->starts;
    for (uint32_t i = 0; i < run->batch->n; i++) {
        for (uint32_t token = starts[i]; token < starts[i + 1]; token++)
            embed_token(run, token, token - starts[i]);
    }
}

/* --- attention --- */

/* Rows of queries that look at the keys and values from `first` to `end`. */
struct look {
    uint32_t query, rows;
    uint32_t first, end;
};

/* softmax(q k / sqrt(d)) v of one head for at most QUERY_ROWS queries. */
static void look_once(const struct run *run, const struct look *look, uint32_t head)
{
    const struct rowops *ops = run->bert->way.ops;
    uint32_t width = run->hidden / run->bert->config.heads, keys = look->end - look->first;
    size_t column = (size_t)head * width, query = (size_t)look->query * run->hidden + column;
    size_t first = (size_t)look->first * run->hidden + column;
    ops->product(&(struct rowop_product){
        .x = run->query + query,
        .x_step = run->hidden,
        .rows = look->rows,
        .w = run->key + first,
        .w_step = run->hidden,
        .outs = keys,
        .n = width,
        .out = run->weights,
        .out_step = keys,
    });
    for (uint32_t row = 0; row < look->rows; row++)
        ops->softmax(run->weights + (size_t)row * keys, 1 / sqrtf((float)width), keys);
    ops->mix(&(struct rowop_mix){
        .p = run->weights,
        .p_step = keys,
        .rows = look->rows,
        .v = run->value + first,
        .v_step = run->hidden,
        .n = keys,
        .width = width,
        .out = run->context + query,
        .out_step = run->hidden,
    });
}

/* `one`: of each sequence only the first token asks, and its row is the sequence's number. */
static void attend(const struct run *run, bool one)
{
    const uint32_t *starts = run->batch->starts;
    for (uint32_t i = 0; i < run->batch->n; i++) {
        struct look look = {.first = starts[i], .end = starts[i + 1]};
        uint32_t query = one ? i : starts[i], end = one ? i + 1 : starts[i + 1];
        for (; query < end; query += look.rows) {
            look.query = query;
            look.rows = end - query < QUERY_ROWS ? end - query : QUERY_ROWS;
            for (uint32_t head = 0; head < run->bert->config.heads; head++)
                look_once(run, &look, head);
        }
    }
}

/* --- layers --- */

/* out = x w, without the bias. */
static void apply(const struct run *run, const struct bert_linear *l, const float *x, uint32_t rows,
                  float *out)
{
    const struct linear_rows r = {.x = x, .rows = rows, .out = out};
    linear_apply(&run->bert->way, &l->w, &r, run->wide);
}

static void apply_biased(const struct run *run, const struct bert_linear *l, uint32_t rows,
                         float *out)
{
    for (uint32_t row = 0; row < rows; row++)
        memcpy(out + (size_t)row * l->w.outs, l->bias, l->w.outs * sizeof *out);
    const struct linear_rows r = {.x = run->x, .rows = rows, .out = out, .add = true};
    linear_apply(&run->bert->way, &l->w, &r, run->wide);
}

/* x = norm(x + (in w + bias)) */
static void add_to_stream(const struct run *run, const struct bert_linear *l, const float *in,
                          uint32_t rows, const struct rowop_norm *norm)
{
    const struct linear_rows r = {.x = in, .rows = rows, .out = run->x, .add = true};
    linear_apply(&run->bert->way, &l->w, &r, run->wide);
    for (uint32_t row = 0; row < rows; row++)
        run->bert->way.ops->normalise(run->x + (size_t)row * run->hidden, l->bias, norm,
                                      run->hidden);
}

/* The first token of each sequence moves up; starts[i] >= i, so none is written over unread. */
static void keep_first_tokens(const struct run *run)
{
    const uint32_t *starts = run->batch->starts;
    for (uint32_t i = 0; i < run->batch->n; i++)
        memmove(run->x + (size_t)i * run->hidden, run->x + (size_t)starts[i] * run->hidden,
                run->hidden * sizeof(float));
}

static void run_layer(const struct run *run, const struct bert_layer *l, bool one)
{
    const struct bert_config *c = &run->bert->config;
    uint32_t rows = one ? run->batch->n : run->tokens;
    apply_biased(run, &l->key, run->tokens, run->key);
    apply_biased(run, &l->value, run->tokens, run->value);
    if (one)
        keep_first_tokens(run);
    apply_biased(run, &l->query, rows, run->query);
    attend(run, one);
    add_to_stream(run, &l->mixed, run->context, rows, &l->after_attention);
    apply(run, &l->up, run->x, rows, run->inner);
    for (uint32_t row = 0; row < rows; row++)
        run->bert->way.ops->activate[c->activation](run->inner + (size_t)row * c->inner, l->up.bias,
                                                    c->inner);
    add_to_stream(run, &l->down, run->inner, rows, &l->after_inner);
}

static void pool_mean(const struct run *run, float *pooled)
{
    const struct rowops *ops = run->bert->way.ops;
    const uint32_t *starts = run->batch->starts;
    for (uint32_t i = 0; i < run->batch->n; i++, pooled += run->hidden) {
        memset(pooled, 0, run->hidden * sizeof *pooled);
        for (uint32_t token = starts[i]; token < starts[i + 1]; token++)
            ops->add(pooled, run->x + (size_t)token * run->hidden, run->hidden);
        ops->scale(pooled, 1 / (float)(starts[i + 1] - starts[i]), run->hidden);
    }
}

void bert_run(const struct bert *bert, const struct bert_batch *batch, enum bert_pooling pooling,
              void *scratch, float *pooled)
{
    if (batch->n == 0)
        return;
    struct run run = lay_out(bert, batch, scratch);
    embed(&run);
    for (uint32_t i = 0; i < bert->config.layers; i++)
        run_layer(&run, &bert->layers[i], pooling == BERT_CLS && i + 1 == bert->config.layers);
    if (pooling == BERT_MEAN)
        pool_mean(&run, pooled);
    else
        memcpy(pooled, run.x, (size_t)batch->n * run.hidden * sizeof *pooled);
}

/* --- head --- */

void bert_head(const struct bert *bert, float *pooled, uint32_t n, void *scratch, float *logits)
{
    uint32_t hidden = bert->config.hidden;
    float *out = scratch, *wide = out + padded((size_t)n * hidden);
    ASSERT(bert->has_head);
    struct linear_rows r = {.x = pooled, .rows = n, .out = out};
    linear_apply(&bert->way, &bert->pooler.w, &r, wide);
    for (size_t i = 0; i < (size_t)n * hidden; i++)
        pooled[i] = tanhf(out[i] + bert->pooler.bias[i % hidden]);
    r = (struct linear_rows){.x = pooled, .rows = n, .out = logits};
    linear_apply(&bert->way, &bert->classifier.w, &r, wide);
    for (uint32_t i = 0; i < n; i++)
        logits[i] += bert->classifier.bias[0];
}
