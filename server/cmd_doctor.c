/* doctor: calls every configured model once and says, for a person, what works and what to
 * do about what does not. Nothing is retried, so that it is quick; what a call mends by itself
 * (rung, parameters, /v1, form) is mended and told. */
#include <poll.h>
#include <unistd.h>

#include "server/builtin_models.h"
#include "server/cmd.h"
#include "server/doctor_advice.h"
#include "server/doctor_json.h"
#include "server/model_options.h"
#include "server/transport_once.h"

enum { CALL_BYTES = 64 << 20, OUT_BYTES = 1 << 20, CONTEXT_WORDS = 6000, CONTEXT_MAX = 1000000 };
#define ADVICE "  advice     "

struct doctor {
    struct builtin_models builtin;
    struct models *models;
    struct transport_once *transport;
    struct clock clock;
    struct arena *arena; /* of one call */
    struct buf out;
    int64_t took_us; /* the last call, all of it */
    uint32_t context_words;
    unsigned tested, failed;
};

/* --- calls --- */

static void on_done(struct exchange *exchange)
{
    (void)exchange; /* start() has waited for it */
}

static void carry_out(struct doctor *d, struct model_call *call)
{
    struct transport *port = transport_once_port(d->transport);
    for (;;) {
        enum model_next next = model_call_advance(d->models, call);
        if (next == MODEL_DONE)
            return;
        call->exchange.done = on_done;
        int64_t left = call->resume_ms - clock_mono_ms(&d->clock);
        if (next == MODEL_EXCHANGE)
            port->start(port, &call->exchange);
        else if (left > 0)
            (void)poll(NULL, 0, left < INT32_MAX ? (int)left : INT32_MAX);
    }
}

static void run_call(struct doctor *d, struct model_call *call)
{
    int64_t start_ns = clock_mono_ns(&d->clock);
    carry_out(d, call);
    d->took_us = (clock_mono_ns(&d->clock) - start_ns) / 1000;
}

static void begin_call(struct doctor *d, struct model_call *call, enum model_purpose purpose)
{
    arena_reset(d->arena);
    model_call_init(call, purpose, d->arena);
}

/* --- what is printed --- */

static void put_purposes(struct doctor *d, uint32_t endpoint)
{
    const char *comma = "";
    for (unsigned p = 0; p < MODEL_PURPOSES; p++) {
        enum model_purpose purpose = (enum model_purpose)p;
        if (!models_has(d->models, purpose) || models_endpoint_of(d->models, purpose) != endpoint)
            continue;
        buf_printf(&d->out, "%s%s", comma, model_purpose_slug(purpose));
        comma = ", ";
    }
    buf_char(&d->out, '\n');
}

/* A query may hold a key. */
static struct str without_query(const char *url)
{
    struct str text = str_of(url);
    return str_part(text, 0, str_index(text, '?'));
}

static void put_builtin(struct doctor *d, const struct model_address *address)
{
    const struct encoder_about *about = encoder_about(address->encoder);
    buf_printf(&d->out, "  model      %.*s, built in (%s, %s)\n", STR_FMT(about->name),
               about->dtype, about->kernels);
    buf_printf(&d->out, "  time       %lld us\n", (long long)d->took_us);
}

static void put_exchange(struct doctor *d, const struct model_call *call)
{
    const struct exchange *x = &call->exchange;
    const struct model_address *address = models_address(d->models, call->purpose);
    struct str model = address->model;
    if (address->encoder != NULL) {
        put_builtin(d, address);
        return;
    }
    buf_printf(&d->out, "  url        %.*s\n", STR_FMT(without_query(x->url)));
    buf_printf(&d->out, "  model      %.*s\n",
               STR_FMT(model.len != 0 ? model : STR("(none named: the server's own)")));
    if (x->code == ERR_OK)
        buf_printf(&d->out, "  status     %d in %lld ms\n", x->status, (long long)x->took_ms);
    else
        buf_printf(&d->out, "  status     no reply after %lld ms\n", (long long)x->took_ms);
}

static void put_learned(struct doctor *d, const struct model_learned *learned)
{
    if (learned->structured != NULL)
        buf_printf(&d->out, "  output     %s\n", learned->structured);
    if (learned->rerank != NULL)
        buf_printf(&d->out, "  form       %s\n", learned->rerank);
    for (uint32_t i = 0; i < learned->n_dropped; i++)
        buf_printf(&d->out, "%s%s", i == 0 ? "  refused    " : ", ", learned->dropped[i]);
    if (learned->n_dropped != 0)
        buf_char(&d->out, '\n');
}

/* Ends the report of an endpoint's first call; true when it has worked. */
static bool put_outcome(struct doctor *d, const struct model_call *call)
{
    struct doctor_finding finding = {.call = call,
                                     .address = models_address(d->models, call->purpose),
                                     .in_container = doctor_in_container()};
    bool works = call->outcome == ERR_OK;
    models_learned(d->models, call->purpose, &finding.learned);
    put_exchange(d, call);
    put_learned(d, &finding.learned);
    if (!works)
        buf_printf(&d->out, "  FAILED     %s: %s\n", model_failure_slug(call->failure),
                   call->err.message);
    doctor_advise(&finding, ADVICE, &d->out);
    return works;
}

/* --- chat --- */

static bool write_sum(void *arg, unsigned halvings, struct buf *out)
{
    (void)arg;
    buf_printf(out, "What is 19 + 23?");
    return halvings == 0;
}

static enum err_code read_sum(void *arg, const struct json_t *reply, struct buf *wrong,
                              struct err *err)
{
    (void)err;
    return doctor_json_sum(reply, arg, wrong);
}

/* Words of one syllable: no tokenizer makes less than a token of each. */
static bool write_long(void *arg, unsigned halvings, struct buf *out)
{
    static const char *const words[] = {"stone", "river", "cloud", "bread", "light", "green"};
    const struct doctor *d = arg;
    buf_printf(out, "Reply with the word OK. What follows has no meaning:\n");
    for (uint32_t i = 0; i < d->context_words; i++)
        buf_printf(out, "%s ", words[i * 7 % 6]);
    buf_printf(out, "\nReply with the word OK.");
    return halvings == 0;
}

static void put_context(struct doctor *d, const struct model_call *call)
{
    const struct model_usage *usage = &call->usage;
    uint64_t told = usage->calls != 0 ? usage->tokens_in / usage->calls : 0;
    if (call->failure == MODEL_FAILURE_TOO_LONG) {
        buf_printf(&d->out, "  context    less than %u tokens: %s\n", d->context_words,
                   call->err.message);
        buf_printf(&d->out, ADVICE "raise it (llama.cpp --ctx-size, vLLM --max-model-len, Ollama "
                                   "num_ctx), or episodes are read in halves\n");
    } else if (usage->estimated || told == 0) {
        buf_printf(&d->out, "  context    not known: the provider reports no usage\n");
    } else if (told < d->context_words) {
        buf_printf(&d->out, "  context    CUT: of %u words it has read %llu tokens\n",
                   d->context_words, (unsigned long long)told);
        buf_printf(&d->out, ADVICE "it cuts long prompts without a word; Ollama: set num_ctx, or "
                                   "OLLAMA_CONTEXT_LENGTH, to 8192 or more\n");
    } else {
        buf_printf(&d->out, "  context    %llu tokens were read\n", (unsigned long long)told);
    }
}

static void check_context(struct doctor *d, enum model_purpose purpose)
{
    static const struct chat_prompt prompt = {
        .name = "doctor", .version = 1, .system = "You are brief.", .max_tokens = 64};
    struct model_call call;
    if (d->context_words == 0)
        return;
    begin_call(d, &call, purpose);
    call.chat = (struct chat_ask){.prompt = &prompt, .write = write_long, .arg = d};
    run_call(d, &call);
    put_context(d, &call);
}

static bool check_chat(struct doctor *d, enum model_purpose purpose)
{
    static const struct chat_prompt prompt = {.name = "doctor",
                                              .version = 1,
                                              .system = "You add numbers. Reply as JSON.",
                                              .schema = DOCTOR_SUM_SCHEMA,
                                              .max_tokens = 512};
    struct model_call call;
    int64_t sum = 0;
    begin_call(d, &call, purpose);
    call.chat =
        (struct chat_ask){.prompt = &prompt, .write = write_sum, .read = read_sum, .arg = &sum};
    run_call(d, &call);
    bool works = put_outcome(d, &call);
    if (works && sum != 42)
        buf_printf(&d->out, ADVICE "it says that 19 + 23 is %lld: expect little of this model\n",
                   (long long)sum);
    if (works)
        check_context(d, purpose);
    return works;
}

/* --- embed --- */

static double cosine(const struct embed_ask *ask)
{
    double sum = 0;
    for (uint32_t i = 0; i < ask->dimension; i++)
        sum += (double)ask->vectors[i] * (double)ask->vectors[ask->dimension + i];
    return sum;
}

static void put_vectors(struct doctor *d, const struct embed_ask *ask)
{
    uint64_t id = 0;
    buf_printf(&d->out, "  dimension  %u\n  identity   ", ask->dimension);
    models_embed_identity(d->models, ask->dimension, &d->out, &id);
    buf_printf(&d->out, "\n  id         %016llx\n", (unsigned long long)id);
    if (ask->failed != 0)
        buf_printf(&d->out, ADVICE "a vector without length or with numbers that are none came\n");
    else if (cosine(ask) > 0.9999)
        buf_printf(&d->out, ADVICE "two different texts have the same vector: it does not embed\n");
}

static bool check_embed(struct doctor *d, enum model_purpose purpose)
{
    static const struct str texts[2] = {{"Ann adopted a dog called Rex.", 29},
                                        {"The stock market fell on Monday.", 32}};
    struct model_call call;
    begin_call(d, &call, purpose);
    call.embed = (struct embed_ask){.texts = texts, .n = 2};
    run_call(d, &call);
    bool works = put_outcome(d, &call);
    if (works)
        put_vectors(d, &call.embed);
    return works;
}

/* --- rerank --- */

static bool check_rerank(struct doctor *d, enum model_purpose purpose)
{
    static const struct str documents[2] = {{"The stock market fell on Monday.", 32},
                                            {"Ann adopted a dog called Rex.", 29}};
    struct model_call call;
    begin_call(d, &call, purpose);
    call.rerank = (struct rerank_ask){
        .query = STR("What is the name of Ann's dog?"), .documents = documents, .n = 2};
    run_call(d, &call);
    bool works = put_outcome(d, &call);
    if (!works)
        return false;
    const float *scores = call.rerank.scores;
    buf_printf(&d->out, "  scores     %.3f for what answers, %.3f for what does not\n",
               (double)scores[1], (double)scores[0]);
    if (scores[1] <= scores[0])
        buf_printf(&d->out,
                   ADVICE "it prefers the text that has nothing to do with the question\n");
    return true;
}

/* --- all of them --- */

static bool (*const checks[MODEL_KINDS])(struct doctor *d, enum model_purpose purpose) = {
    [MODEL_CHAT] = check_chat, [MODEL_EMBED] = check_embed, [MODEL_RERANK] = check_rerank};

static bool is_first_of_endpoint(const struct models *models, unsigned purpose)
{
    for (unsigned p = 0; p < purpose; p++) {
        if (models_has(models, (enum model_purpose)p) &&
            models_endpoint_of(models, (enum model_purpose)p) ==
                models_endpoint_of(models, (enum model_purpose)purpose))
            return false;
    }
    return true;
}

static int check_all(struct doctor *d)
{
    int status = EXIT_FINE;
    for (unsigned p = 0; p < MODEL_PURPOSES && status == EXIT_FINE; p++) {
        enum model_purpose purpose = (enum model_purpose)p;
        if (!models_has(d->models, purpose) || !is_first_of_endpoint(d->models, p))
            continue;
        buf_clear(&d->out);
        put_purposes(d, models_endpoint_of(d->models, purpose));
        d->tested++;
        d->failed += !checks[model_purpose_kind(purpose)](d, purpose);
        buf_char(&d->out, '\n');
        status = cmd_print(&d->out);
    }
    return status;
}

static int put_summary(struct doctor *d)
{
    buf_clear(&d->out);
    if (d->tested == 0)
        buf_printf(&d->out,
                   "No model is configured; every stage has its built-in form.\n"
                   "Set llm_base_url, embed_base_url or rerank_base_url (see --help), or run "
                   "make model for an encoder that is built in.\n");
    else
        buf_printf(&d->out, "%u of %u models work\n", d->tested - d->failed, d->tested);
    int status = cmd_print(&d->out);
    return d->failed != 0 ? EXIT_FAILED : status;
}

static enum err_code prepare(struct doctor *d, const struct cmd_call *call, struct err *err)
{
    struct models_options options = {.clock = &d->clock, .seed = (uint64_t)getpid()};
    struct str words = cmd_option(call, "context");
    uint64_t n = CONTEXT_WORDS;
    if (words.at != NULL && !str_u64(words, CONTEXT_MAX, &n))
        return err_set_param(err, ERR_INVALID, "context", "--context: want a number up to %d",
                             (int)CONTEXT_MAX);
    d->context_words = (uint32_t)n;
    model_options_fill(call->config, &options);
    for (unsigned p = 0; p < MODEL_PURPOSES; p++)
        options.address[p].attempts = 1;
    d->arena = arena_new(CALL_BYTES);
    if (d->arena == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    enum err_code code = builtin_models_open(call->config, &options, &d->builtin, err);
    if (code != ERR_OK)
        return code;
    builtin_models_fill(&d->builtin, &options);
    code = models_new(&options, &d->models, err);
    return code == ERR_OK ? transport_once_new(&d->transport, err) : code;
}

int cmd_doctor(const struct cmd_call *call)
{
    struct err err = {.code = ERR_OK};
    struct doctor d = {.clock = clock_system()};
    buf_init(&d.out, NULL, OUT_BYTES);
    int status = EXIT_FAILED;
    if (prepare(&d, call, &err) != ERR_OK)
        status = cmd_fail("doctor", &err);
    else if (check_all(&d) == EXIT_FINE)
        status = put_summary(&d);
    transport_once_free(d.transport);
    models_free(d.models);
    builtin_models_close(&d.builtin);
    arena_free(d.arena);
    buf_fini(&d.out);
    return status;
}
