#include "core/model/builtin/encoder.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/model/builtin/encoder_int.h"
#include "core/text/sentence.h"

enum { GROUP_IDS = 1 << 14, ALIGNMENT = 64, PART_LEAST = 4 };

/* One sequence: a text, a part of a long one, or a pair. */
struct piece {
    uint32_t text;       /* whose it is */
    uint32_t first, len; /* its ids in the group */
};

/* Sequences that wait to be run: as many as there is room for, then they are sorted by length,
 * packed, run, and forgotten. */
struct group {
    const struct encoder *encoder;
    uint32_t *ids;
    uint8_t *types; /* NULL: all 0 */
    uint32_t n_ids, ids_cap;
    struct piece *pieces;
    uint32_t n, cap;
    /* of the caller */
    encoder_stop_fn *stop;
    void *arg;
    uint64_t tokens;
    float *vectors; /* sums of the pieces', weighted by their tokens; or */
    float *logits;  /* one a piece */
    struct err *err;
};

/* One batch of a group. */
struct batch {
    struct bert_batch packed;
    uint32_t *starts, *ids;
    uint8_t *types;
    void *scratch; /* the first of all of these, in one block of `bytes` */
    float *pooled, *logits;
    size_t bytes;
};

static enum err_code no_memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "no memory to encode");
}

/* --- groups --- */

/* `bytes` of text in `n` of them: there are hardly more ids than bytes, and if there are, the group
 * is run earlier. */
static enum err_code group_init(struct group *g, const struct encoder *encoder, uint64_t bytes,
                                bool has_types)
{
    uint32_t longest = encoder->about.max_tokens;
    uint64_t cap = bytes < GROUP_IDS ? bytes : GROUP_IDS;
    g->encoder = encoder;
    g->ids_cap = cap > longest ? (uint32_t)cap : longest;
    g->cap = g->ids_cap / 2; /* [CLS] and [SEP] at least */
    g->ids = calloc(g->ids_cap, sizeof *g->ids);
    g->pieces = calloc(g->cap, sizeof *g->pieces);
    if (has_types)
        g->types = calloc(g->ids_cap, sizeof *g->types);
    return g->ids != NULL && g->pieces != NULL && (!has_types || g->types != NULL)
               ? ERR_OK
               : no_memory(g->err);
}

static void group_fini(struct group *g)
{
    free(g->ids);
    free(g->types);
    free(g->pieces);
}

static int by_length(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->len != y->len)
        return x->len > y->len ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* --- batches --- */

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* One block for all, from the system and back to it: the heap would keep it for each thread. Fresh
 * pages cost a hundredth of what is computed in them. */
static bool batch_init(struct batch *b, const struct encoder *e, uint32_t tokens, bool has_types)
{
    uint32_t longest = e->about.max_tokens < tokens ? e->about.max_tokens : tokens;
    size_t scratch = aligned(bert_scratch_bytes(e->bert, tokens, longest));
    size_t starts = aligned((tokens / 2 + 1) * sizeof *b->starts);
    size_t ids = aligned(tokens * sizeof *b->ids);
    size_t types = has_types ? aligned(tokens) : 0;
    size_t logits = aligned((size_t)(tokens / 2) * sizeof *b->logits);
    size_t pooled = aligned((size_t)(tokens / 2) * e->about.dimension * sizeof(float));
    b->bytes = scratch + starts + ids + types + logits + pooled;
    char *at = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    b->scratch = at;
    b->starts = (uint32_t *)(void *)(at += scratch);
    b->ids = (uint32_t *)(void *)(at += starts);
    b->types = (uint8_t *)(at += ids);
    b->logits = (float *)(void *)(at += types);
    b->pooled = (float *)(void *)(at + logits);
    b->packed.starts = b->starts;
    b->packed.ids = b->ids;
    b->packed.types = has_types ? b->types : NULL;
    return true;
}

/* Puts pieces into the batch while they keep to `most` tokens; the first always fits. Returns how
 * many. */
static uint32_t fill_batch(struct batch *b, const struct group *g, const struct piece *pieces,
                           uint32_t n, uint32_t most)
{
    uint32_t tokens = 0, taken = 0;
    for (; taken < n && (taken == 0 || tokens + pieces[taken].len <= most); taken++) {
        const struct piece *p = &pieces[taken];
        b->starts[taken] = tokens;
        memcpy(b->ids + tokens, g->ids + p->first, p->len * sizeof *b->ids);
        if (g->types != NULL)
            memcpy(b->types + tokens, g->types + p->first, p->len);
        tokens += p->len;
    }
    b->starts[taken] = tokens;
    b->packed.n = taken;
    return taken;
}

/* x / |x|; false: it has no direction. */
static bool normalise(float *x, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    double by = 1 / sqrt(sum);
    for (uint32_t i = 0; i < n; i++)
        x[i] = (float)((double)x[i] * by);
    return isfinite(sum) && sum > 0;
}

static enum err_code broken(struct err *err)
{
    return err_set(err, ERR_INVALID, "the model's weights give no number for a text");
}

/* A piece without a direction makes its text's sum no number, and that is found at the end. */
static void take_vectors(const struct group *g, const struct batch *b, const struct piece *pieces)
{
    uint32_t n = g->encoder->about.dimension;
    ASSERT(g->vectors != NULL);
    for (uint32_t i = 0; i < b->packed.n; i++) {
        float *from = b->pooled + (size_t)i * n, *to = g->vectors + (size_t)pieces[i].text * n;
        if (!normalise(from, n))
            to[0] = NAN;
        for (uint32_t k = 0; k < n; k++)
            to[k] += (float)pieces[i].len * from[k];
    }
}

static enum err_code take_logits(const struct group *g, const struct batch *b,
                                 const struct piece *pieces)
{
    uint32_t n = b->packed.n;
    bert_head(g->encoder->bert, b->pooled, n, b->scratch, b->logits);
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(b->logits[i]))
            return broken(g->err);
        g->logits[pieces[i].text] = b->logits[i];
    }
    return ERR_OK;
}

static enum err_code check_stop(const struct group *g)
{
    return g->stop != NULL && g->stop(g->arg)
               ? err_set(g->err, ERR_UNAVAILABLE, "encoding was stopped")
               : ERR_OK;
}

static enum err_code run_batch(const struct group *g, const struct batch *b,
                               const struct piece *pieces)
{
    const struct encoder *e = g->encoder;
    enum err_code code = check_stop(g);
    if (code != ERR_OK)
        return code;
    bert_run(e->bert, &b->packed, g->logits != NULL ? BERT_CLS : e->pooling, b->scratch, b->pooled);
    if (g->logits != NULL)
        return take_logits(g, b, pieces);
    take_vectors(g, b, pieces);
    return ERR_OK;
}

/* Tokens of a batch: as few batches as the budget allows, and of one size. */
static uint32_t share_of(const struct group *g)
{
    uint32_t most = g->encoder->batch_tokens, longest = g->pieces[0].len;
    uint32_t batches = (g->n_ids + most - 1) / most;
    uint32_t share = (g->n_ids + batches - 1) / batches + longest / 2;
    return share < longest ? longest : share < most ? share : most;
}

static enum err_code group_run(struct group *g)
{
    struct batch b;
    enum err_code code = ERR_OK;
    if (g->n == 0)
        return ERR_OK;
    qsort(g->pieces, g->n, sizeof *g->pieces, by_length);
    uint32_t most = share_of(g);
    if (!batch_init(&b, g->encoder, most < g->n_ids ? most : g->n_ids, g->types != NULL))
        return no_memory(g->err);
    for (uint32_t done = 0; code == ERR_OK && done < g->n; done += b.packed.n) {
        (void)fill_batch(&b, g, g->pieces + done, g->n - done, most);
        code = run_batch(g, &b, g->pieces + done);
    }
    (void)munmap(b.scratch, b.bytes);
    g->tokens += g->n_ids;
    g->n_ids = g->n = 0;
    return code;
}

/* Runs what waits when a sequence of full length would not fit any more. Long texts take their time
 * before anything is run, so a call may be stopped here, too. */
static enum err_code group_reserve(struct group *g)
{
    bool fits = g->ids_cap - g->n_ids >= g->encoder->about.max_tokens && g->n < g->cap;
    return fits ? check_stop(g) : group_run(g);
}

static void put_id(struct group *g, enum wordpiece_role role)
{
    g->ids[g->n_ids++] = wordpiece_id(g->encoder->wordpiece, role);
}

static void put_ids(struct group *g, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        g->ids[g->n_ids++] = ids[i];
}

static void end_piece(struct group *g, uint32_t text, uint32_t first)
{
    g->pieces[g->n++] = (struct piece){.text = text, .first = first, .len = g->n_ids - first};
}

/* --- texts --- */

struct prefix {
    uint32_t *ids;
    uint32_t n;
};

/* The part of a long text that goes into the next piece: up to the end of a sentence where there is
 * one, else of a word. */
static struct str next_part(struct str *rest, size_t fitting)
{
    struct str part;
    if (fitting < PART_LEAST || !part_next(rest, fitting, &part)) {
        part = str_part(*rest, 0, fitting);
        *rest = str_part(*rest, fitting, rest->len);
    }
    return part;
}

/* Puts the next piece of *rest; what was taken is gone from it. */
static void put_piece(struct group *g, const struct prefix *prefix, struct str *rest, bool truncate)
{
    const struct wordpiece *wordpiece = g->encoder->wordpiece;
    struct wordpiece_cut cut;
    put_id(g, WORDPIECE_CLS);
    put_ids(g, prefix->ids, prefix->n);
    uint32_t room = g->encoder->about.max_tokens - 2 - prefix->n;
    uint32_t n = wordpiece_encode(wordpiece, *rest, g->ids + g->n_ids, room, &cut);
    if (truncate || cut.bytes >= rest->len) {
        *rest = STR("");
    } else {
        struct str part = next_part(rest, cut.bytes);
        n = wordpiece_encode(wordpiece, part, g->ids + g->n_ids, room, NULL);
    }
    g->n_ids += n;
    put_id(g, WORDPIECE_SEP);
}

static enum err_code put_text(struct group *g, const struct encoder_texts *t, uint32_t text,
                              const struct prefix *prefix)
{
    struct str rest = t->texts[text];
    bool any = false;
    do {
        enum err_code code = group_reserve(g);
        if (code != ERR_OK)
            return code;
        uint32_t first = g->n_ids;
        put_piece(g, prefix, &rest, t->truncate);
        /* A part of white space is none, but an empty text has a vector, too. */
        if (any && g->n_ids - first == prefix->n + 2)
            g->n_ids = first;
        else
            end_piece(g, text, first);
        any = true;
    } while (rest.len != 0);
    return ERR_OK;
}

static enum err_code read_prefix(const struct encoder *e, struct str text, struct prefix *out,
                                 struct err *err)
{
    uint32_t most = e->about.prefix_tokens;
    *out = (struct prefix){.ids = calloc(most, sizeof *out->ids)};
    if (out->ids == NULL)
        return no_memory(err);
    struct wordpiece_cut cut = {0, 0};
    if (text.len != 0)
        out->n = wordpiece_encode(e->wordpiece, text, out->ids, most, &cut);
    if (cut.bytes < text.len)
        return err_set(err, ERR_INVALID, "the prefix has more than %u tokens", most);
    return ERR_OK;
}

/* A text that has no vector fails alone; where none has one, the model is at fault. */
static enum err_code settle(const struct group *g, struct encoder_texts *t)
{
    uint32_t n = g->encoder->about.dimension;
    for (uint32_t i = 0; i < t->n; i++) {
        float *vector = t->vectors + (size_t)i * n;
        if (normalise(vector, n))
            continue;
        memset(vector, 0, n * sizeof *vector);
        t->failed++;
    }
    return t->failed == 0 || t->failed < t->n ? ERR_OK : broken(g->err);
}

static enum err_code embed_all(struct group *g, struct encoder_texts *t,
                               const struct prefix *prefix)
{
    uint32_t n = g->encoder->about.dimension;
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < (size_t)t->n * n; i++)
        t->vectors[i] = 0;
    for (uint32_t i = 0; code == ERR_OK && i < t->n; i++)
        code = put_text(g, t, i, prefix);
    if (code == ERR_OK)
        code = group_run(g);
    return code == ERR_OK ? settle(g, t) : code;
}

enum err_code encoder_embed(const struct encoder *encoder, struct encoder_texts *texts,
                            struct err *err)
{
    struct group g = {.stop = texts->stop, .arg = texts->arg, .vectors = texts->vectors};
    struct prefix prefix;
    uint64_t bytes = 0;
    g.err = err;
    texts->tokens = 0;
    texts->failed = 0;
    enum err_code code = read_prefix(encoder, texts->prefix, &prefix, err);
    for (uint32_t i = 0; i < texts->n; i++)
        bytes += texts->texts[i].len + prefix.n + 2;
    if (code == ERR_OK)
        code = group_init(&g, encoder, bytes, false);
    if (code == ERR_OK)
        code = embed_all(&g, texts, &prefix);
    texts->tokens = g.tokens;
    group_fini(&g);
    free(prefix.ids);
    return code;
}

/* --- pairs --- */

/* How many ids of a side are left, and how many there were. */
struct side {
    uint32_t *ids;
    uint32_t n;
};

/* Where both sides are longer than all the room, which of them is the shorter decides who gets the
 * odd id; so they are counted whole then. */
static uint32_t count_all(const struct encoder *e, struct str text)
{
    return wordpiece_encode(e->wordpiece, text, NULL, UINT32_MAX, NULL);
}

/* The longer side is cut first; of two equal ones the query counts as the shorter. */
static void cut_pair(struct side *query, struct side *document, bool query_is_shorter,
                     uint32_t room)
{
    struct side *shorter = query_is_shorter ? query : document;
    struct side *longer = query_is_shorter ? document : query;
    if (query->n + document->n <= room)
        return;
    uint32_t rest = shorter->n < room ? room - shorter->n : 0;
    longer->n = rest > shorter->n ? rest : shorter->n;
    if (shorter->n + longer->n > room) {
        shorter->n = room / 2;
        longer->n = room - room / 2;
    }
}

struct pairing {
    struct group *group;
    struct side query;    /* its first ids, at most one more than there is room for */
    uint32_t query_whole; /* all that it has */
    uint32_t *ids;        /* room for those of a document */
};

static void put_pair(struct pairing *p, const struct encoder_pairs *pairs, uint32_t i)
{
    struct group *g = p->group;
    const struct encoder *e = g->encoder;
    uint32_t room = e->about.max_tokens - 3, first = g->n_ids;
    struct side query = p->query, document = {.ids = p->ids};
    document.n = wordpiece_encode(e->wordpiece, pairs->documents[i], p->ids, room + 1, NULL);
    uint32_t whole = document.n;
    if (query.n > room && document.n > room)
        whole = count_all(e, pairs->documents[i]);
    cut_pair(&query, &document, p->query_whole <= whole, room);
    put_id(g, WORDPIECE_CLS);
    put_ids(g, query.ids, query.n);
    put_id(g, WORDPIECE_SEP);
    uint32_t second = g->n_ids;
    put_ids(g, document.ids, document.n);
    put_id(g, WORDPIECE_SEP);
    memset(g->types + first, 0, second - first);
    memset(g->types + second, 1, g->n_ids - second);
    end_piece(g, i, first);
}

static enum err_code score_all(struct pairing *p, const struct encoder_pairs *pairs)
{
    const struct encoder *e = p->group->encoder;
    uint32_t room = e->about.max_tokens - 3;
    enum err_code code = ERR_OK;
    p->query.n = wordpiece_encode(e->wordpiece, pairs->query, p->query.ids, room + 1, NULL);
    p->query_whole = p->query.n > room ? count_all(e, pairs->query) : p->query.n;
    for (uint32_t i = 0; code == ERR_OK && i < pairs->n; i++) {
        code = group_reserve(p->group);
        if (code == ERR_OK)
            put_pair(p, pairs, i);
    }
    return code == ERR_OK ? group_run(p->group) : code;
}

enum err_code encoder_score(const struct encoder *encoder, struct encoder_pairs *pairs,
                            struct err *err)
{
    struct group g = {.stop = pairs->stop, .arg = pairs->arg, .logits = pairs->logits};
    struct pairing p = {.group = &g};
    uint32_t most = encoder->about.max_tokens;
    uint64_t bytes = (uint64_t)pairs->n * (pairs->query.len + 3);
    g.err = err;
    pairs->tokens = 0;
    if (!encoder->about.has_head)
        return err_set(err, ERR_INVALID, "the model has no classification head of one label");
    for (uint32_t i = 0; i < pairs->n; i++)
        bytes += pairs->documents[i].len;
    enum err_code code = group_init(&g, encoder, bytes, true);
    p.query.ids = calloc(2 * (size_t)most, sizeof *p.query.ids);
    if (code == ERR_OK && p.query.ids == NULL)
        code = no_memory(err);
    if (code == ERR_OK) {
        p.ids = p.query.ids + most;
        code = score_all(&p, pairs);
    }
    pairs->tokens = g.tokens;
    free(p.query.ids);
    group_fini(&g);
    return code;
}

uint32_t encoder_count(const struct encoder *encoder, struct str text)
{
    return count_all(encoder, text);
}
