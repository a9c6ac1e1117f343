#include "core/model/rerank_json.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>

/* --- requests --- */

bool rerank_json_path(enum rerank_format form, struct str model, struct buf *out)
{
    static const char *const paths[RERANK_FORMATS] = {
        [RERANK_PROBE] = "rerank",
        [RERANK_COHERE] = "rerank",
        [RERANK_TEI] = "rerank",
        [RERANK_VOYAGE] = "rerank",
        [RERANK_DASHSCOPE] = "services/rerank/text-rerank/text-rerank",
        [RERANK_DEEPINFRA] = "inference/",
    };
    buf_str_put(out, str_of(paths[form]));
    for (size_t i = 0; form == RERANK_DEEPINFRA && i < model.len; i++) {
        unsigned char c = (unsigned char)model.at[i];
        if (isalnum(c) || strchr("/-._~", c) != NULL)
            buf_char(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
    return buf_ok(out);
}

bool rerank_json_sends(const struct rerank_request *r, enum endpoint_param param)
{
    enum rerank_format form = r->way.form;
    if ((r->way.dropped >> param & 1) != 0)
        return false;
    switch (param) {
    case PARAM_TOP_N: return form == RERANK_COHERE || form == RERANK_DASHSCOPE;
    case PARAM_TOP_K: return form == RERANK_VOYAGE;
    case PARAM_RETURN_DOCUMENTS: return form == RERANK_COHERE || form == RERANK_DASHSCOPE;
    case PARAM_QUERIES: return form == RERANK_DEEPINFRA;
    default: return false;
    }
}

/* Puts `value`, which it takes, into the object; sticky when memory is short. */
static void set(json_t *object, const char *name, json_t *value, bool *fine)
{
    if (json_object_set_new(object, name, value) != 0)
        *fine = false;
}

static json_t *text_of(struct str text)
{
    return json_stringn(text.at != NULL ? text.at : "", text.len);
}

static json_t *list_of(const struct str *texts, uint32_t n, bool same)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < n; i++) {
        if (json_array_append_new(list, text_of(texts[same ? 0 : i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static void set_options(json_t *object, const struct rerank_request *r, bool *fine)
{
    if (rerank_json_sends(r, PARAM_TOP_N))
        set(object, "top_n", json_integer(r->n), fine);
    if (rerank_json_sends(r, PARAM_TOP_K))
        set(object, "top_k", json_integer(r->n), fine);
    if (rerank_json_sends(r, PARAM_RETURN_DOCUMENTS))
        set(object, "return_documents", json_false(), fine);
}

static void set_question(json_t *object, const struct rerank_request *r, const char *documents,
                         bool *fine)
{
    set(object, "query", text_of(r->query), fine);
    set(object, documents, list_of(r->documents, r->n, false), fine);
}

static void write_flat(json_t *root, const struct rerank_request *r, bool *fine)
{
    set_question(root, r, "documents", fine);
    set_options(root, r, fine);
}

static void write_tei(json_t *root, const struct rerank_request *r, bool *fine)
{
    set_question(root, r, "texts", fine);
}

static void write_dashscope(json_t *root, const struct rerank_request *r, bool *fine)
{
    json_t *input = json_object();
    json_t *parameters = json_object();
    set_question(input, r, "documents", fine);
    set_options(parameters, r, fine);
    set(root, "input", input, fine);
    set(root, "parameters", parameters, fine);
}

static void write_deepinfra(json_t *root, const struct rerank_request *r, bool *fine)
{
    uint32_t queries = rerank_json_sends(r, PARAM_QUERIES) ? 1 : r->n;
    set(root, "queries", list_of(&r->query, queries, true), fine);
    set(root, "documents", list_of(r->documents, r->n, false), fine);
}

typedef void write_fn(json_t *root, const struct rerank_request *r, bool *fine);
static const struct {
    write_fn *write;
    bool names_model;
} forms[RERANK_FORMATS] = {
    [RERANK_PROBE] = {write_flat, true},
    [RERANK_COHERE] = {write_flat, true},
    [RERANK_TEI] = {write_tei, false},
    [RERANK_VOYAGE] = {write_flat, true},
    [RERANK_DASHSCOPE] = {write_dashscope, true},
    [RERANK_DEEPINFRA] = {write_deepinfra, false},
};

bool rerank_json_write(const struct rerank_request *r, struct buf *out)
{
    bool fine = true;
    json_t *root = json_object();
    if (r->model.len != 0 && forms[r->way.form].names_model)
        set(root, "model", text_of(r->model), &fine);
    forms[r->way.form].write(root, r, &fine);
    if (!fine) {
        json_decref(root);
        root = NULL;
    }
    return base_json_write(root, r->extra, out);
}

/* --- replies --- */

static const json_t *scores_of(const json_t *root)
{
    const json_t *lists[] = {
        root,
        json_object_get(root, "results"),
        json_object_get(root, "data"),
        json_object_get(json_object_get(root, "output"), "results"),
        json_object_get(root, "scores"),
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (json_is_array(lists[i]))
            return lists[i];
    }
    return NULL;
}

static bool wrong(struct rerank_reply *out, const char *what)
{
    out->shape = RERANKED_WRONG;
    out->wrong = what;
    return false;
}

static bool take_score(const json_t *item, size_t position, uint32_t n, float *scores,
                       struct rerank_reply *out)
{
    const json_t *score = json_object_get(item, "relevance_score");
    const json_t *index = json_object_get(item, "index");
    size_t i = position;
    if (score == NULL)
        score = json_is_object(item) ? json_object_get(item, "score") : item;
    if (json_is_object(item) && !json_is_integer(index))
        return wrong(out, "a score without an index");
    if (json_is_object(item))
        i = (size_t)json_integer_value(index);
    if (i >= n)
        return wrong(out, "an index above the number of documents");
    if (!json_is_number(score))
        return wrong(out, "an item without a score");
    float value = (float)json_number_value(score);
    if (scores[i] == RERANK_MISSING && isfinite(value))
        scores[i] = value;
    return true;
}

static void take_list(const json_t *list, uint32_t n, float *scores, struct rerank_reply *out)
{
    size_t i;
    json_t *item;
    out->shape = RERANKED_SCORES;
    if (json_array_size(list) == 0 && n != 0) {
        (void)wrong(out, "no scores");
        return;
    }
    /* DeepInfra nests one list a query in some versions. */
    if (json_array_size(list) == 1 && json_is_array(json_array_get(list, 0)))
        list = json_array_get(list, 0);
    if (json_is_number(json_array_get(list, 0)) && json_array_size(list) != n) {
        (void)wrong(out, "another number of scores than of documents");
        return;
    }
    json_array_foreach(list, i, item)
    {
        if (!take_score(item, i, n, scores, out))
            return;
    }
}

static void read_usage(const json_t *root, struct chat_usage *usage)
{
    const json_t *told = json_object_get(root, "usage");
    uint64_t total = base_json_count(told, "total_tokens");
    usage->in = total != 0 ? total : base_json_count(told, "prompt_tokens");
    if (usage->in == 0)
        usage->in = base_json_count(root, "input_tokens");
    usage->known = usage->in != 0;
}

bool rerank_json_read(struct arena *arena, struct str body, uint32_t n, float *scores,
                      struct rerank_reply *out)
{
    bool fine = true;
    *out = (struct rerank_reply){.shape = RERANKED_BROKEN};
    for (uint32_t i = 0; i < n; i++)
        scores[i] = RERANK_MISSING;
    json_t *root = base_json_load(body);
    const json_t *list = scores_of(root);
    if (root != NULL && base_json_is_fault(root)) {
        out->shape = RERANKED_FAULT;
        fine = base_json_fault_of(arena, root, &out->fault);
    } else if (list != NULL) {
        read_usage(root, &out->usage);
        take_list(list, n, scores, out);
    }
    json_decref(root);
    return fine;
}
