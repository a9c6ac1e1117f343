/* demo FILE: loads a conversation into a running daemon and asks it questions, as any client would.
 * Loading twice is harmless: turns that are there are duplicates. */
#include <stdio.h>
#include <time.h>

#include "core/base/clock.h"
#include "server/cmd.h"
#include "server/demo_json.h"
#include "server/http_client.h"
#include "server/net.h"
#include "server/term.h"

enum {
    ARENA_BYTES = 256 << 20,
    REPLY_BYTES = 64 << 20,
    TURNS_A_CALL = 10,
    ATTEMPTS = 10,
    CALL_MS = 60000,
    FLUSH_MS = 20000,
    SETTLE_TRIES = 600,
    SETTLE_PAUSE_MS = 500,
    LEAD_BYTES = 32,
};

struct demo {
    struct arena *arena;
    struct http_client *client;
    struct buf reply;
    struct str space; /* escaped */
    struct demo_file file;
    struct term out, note; /* what was asked for; what happens meanwhile */
};

static void pause_ms(unsigned ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

/* A call whose status must be 2xx; busy daemons are asked again. The body is in d->reply. */
static enum err_code call_api(struct demo *d, const char *method, const char *path, struct str body,
                              struct err *err)
{
    struct http_exchange x = {
        .method = method, .path = path, .body = body, .timeout_ms = CALL_MS, .reply = &d->reply};
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        enum err_code code = http_client_call(d->client, &x, err);
        if (code != ERR_OK)
            return code;
        if (x.status >= 200 && x.status < 300)
            return ERR_OK;
        if (x.status != 429 && x.status != 503)
            break;
        pause_ms(x.retry_after_s != 0 ? x.retry_after_s * 1000 : 200);
    }
    struct str message = demo_error_decode(d->arena, buf_str(&d->reply));
    return err_set(err, ERR_UPSTREAM, "%s %.60s answers %d: %.*s", method, path, x.status,
                   STR_FMT(str_part(message, 0, 120)));
}

static enum err_code call_space(struct demo *d, const char *method, const char *rest,
                                struct str body, struct err *err)
{
    struct str path = str_printf(d->arena, "/v1/spaces/%.*s%s", STR_FMT(d->space), rest);
    if (path.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    return call_api(d, method, path.at, body, err);
}

/* --- loading --- */

static enum err_code load_turns(struct demo *d, struct demo_counts *sum, struct err *err)
{
    const struct demo_file *file = &d->file;
    struct progress bar = {.term = &d->note, .label = "loading turns", .total = file->n_turns};
    enum err_code code = ERR_OK;
    for (size_t i = 0; i < file->n_turns && code == ERR_OK; i += TURNS_A_CALL) {
        size_t n = file->n_turns - i < TURNS_A_CALL ? file->n_turns - i : TURNS_A_CALL;
        struct demo_counts counts = {0};
        struct str body = STR_NONE;
        code = demo_turns_encode(d->arena, &file->turns[i], n, &body, err);
        if (code == ERR_OK)
            code = call_space(d, "POST", "/turns", body, err);
        if (code == ERR_OK)
            code = demo_counts_decode(d->arena, buf_str(&d->reply), &counts, err);
        sum->accepted += counts.accepted;
        sum->duplicates += counts.duplicates;
        if (code == ERR_OK)
            progress_show(&bar, i + n);
    }
    progress_end(&bar);
    return code;
}

static enum err_code look(struct demo *d, struct demo_counts *counts, struct err *err)
{
    enum err_code code = call_space(d, "GET", "", STR_NONE, err);
    return code == ERR_OK ? demo_counts_decode(d->arena, buf_str(&d->reply), counts, err) : code;
}

/* Closes the open episodes and waits until every turn has its facts. */
static enum err_code settle(struct demo *d, struct demo_counts *counts, struct err *err)
{
    struct progress bar = {.term = &d->note, .label = "remembering  ", .total = d->file.n_turns};
    struct str path = str_printf(d->arena, "/flush?wait=true&timeout_ms=%d", (int)FLUSH_MS);
    enum err_code code = call_space(d, "POST", path.at, STR("{}"), err);
    for (unsigned i = 0; i < SETTLE_TRIES && code == ERR_OK; i++) {
        code = look(d, counts, err);
        size_t pending = counts->pending_turns < bar.total ? counts->pending_turns : bar.total;
        if (code == ERR_OK)
            progress_show(&bar, bar.total - pending);
        if (code != ERR_OK || pending == 0)
            break;
        pause_ms(SETTLE_PAUSE_MS);
    }
    progress_end(&bar);
    return code;
}

/* With an encoder, waits for the vectors, so that the questions show what they give. One that does
 * not answer is not waited for for long: words find everything meanwhile. */
static enum err_code embed(struct demo *d, struct demo_counts *counts, struct err *err)
{
    enum err_code code = look(d, counts, err);
    uint64_t total = counts->embedded + counts->behind;
    if (code != ERR_OK || counts->encoder.at == NULL)
        return code;
    struct progress bar = {.term = &d->note, .label = "vectors      ", .total = total};
    for (unsigned i = 0; i < SETTLE_TRIES && code == ERR_OK; i++) {
        size_t left = counts->behind < bar.total ? counts->behind : bar.total;
        progress_show(&bar, bar.total - left);
        if (left == 0 && counts->has_vectors)
            break;
        pause_ms(SETTLE_PAUSE_MS);
        code = look(d, counts, err);
    }
    progress_end(&bar);
    return code;
}

static void tell_search(const struct demo *d, const struct demo_counts *counts)
{
    if (counts->encoder.at == NULL)
        (void)fprintf(d->note.file, "searched by words: there is no encoder (make model)\n");
    else if (counts->behind != 0 || !counts->has_vectors)
        (void)fprintf(d->note.file, "searched by words for now: %llu texts wait for %.*s\n",
                      (unsigned long long)counts->behind, STR_FMT(counts->encoder));
    else
        (void)fprintf(d->note.file, "searched by words and by vectors of %.*s\n",
                      STR_FMT(counts->encoder));
}

/* --- showing --- */

/* "2025-05-03 to 2025-05-14", or one of them, or nothing. */
static struct str span_of(const struct demo *d, const struct demo_node *node)
{
    if (node->to.len == 0 || str_eq(node->from, node->to))
        return node->from;
    return str_printf(d->arena, "%.*s to %.*s", STR_FMT(node->from), STR_FMT(node->to));
}

/* What stands below a node: its time, and where it is from. */
static struct str note_of(const struct demo *d, const struct demo_node *node)
{
    struct str from = STR("");
    if (node->members != 0)
        from = str_printf(d->arena, "%zu episode%s", node->members, node->members == 1 ? "" : "s");
    else if (node->session.len != 0)
        from = str_printf(d->arena, "session %.*s", STR_FMT(node->session));
    else if (node->turns.len != 0)
        from = str_printf(d->arena, "from %.*s", STR_FMT(node->turns));
    struct str note = str_printf(d->arena, "%.*s  %.*s", STR_FMT(span_of(d, node)), STR_FMT(from));
    return str_trim(note);
}

static void show_node(const struct demo *d, const struct demo_node *node)
{
    char lead[LEAD_BYTES];
    struct str note = note_of(d, node);
    (void)snprintf(lead, sizeof lead, "    %.2f  ", node->score);
    term_paragraph(&d->out, TERM_PLAIN, lead, node->title);
    if (node->text.len != 0)
        term_paragraph(&d->out, TERM_DIM, "          ", node->text);
    if (note.len != 0)
        term_paragraph(&d->out, TERM_DIM, "          ", note);
}

static void show_nodes(const struct demo *d, const char *heading, const struct demo_node *nodes,
                       size_t n)
{
    (void)fputc('\n', d->out.file);
    term_paragraph(&d->out, TERM_BOLD, "  ", str_of(heading));
    for (size_t i = 0; i < n; i++)
        show_node(d, &nodes[i]);
    if (n == 0)
        term_paragraph(&d->out, TERM_DIM, "    ", STR("none"));
}

static enum err_code show_topics(struct demo *d, struct err *err)
{
    struct demo_reply reply;
    enum err_code code = call_space(d, "GET", "/topics?limit=1000", STR_NONE, err);
    if (code == ERR_OK)
        code = demo_reply_decode(d->arena, buf_str(&d->reply), &reply, err);
    if (code != ERR_OK)
        return code;
    term_heading(&d->out, "Topics");
    for (size_t i = 0; i < reply.n_topics; i++) {
        const struct demo_node *topic = &reply.topics[i];
        char lead[LEAD_BYTES];
        (void)snprintf(lead, sizeof lead, "%4zu  ", i + 1);
        term_paragraph(&d->out, TERM_BOLD, lead, topic->title);
        term_paragraph(&d->out, TERM_PLAIN, "      ", topic->text);
        term_paragraph(&d->out, TERM_DIM, "      ", note_of(d, topic));
    }
    return ERR_OK;
}

static enum err_code ask(struct demo *d, const struct demo_question *question, struct err *err)
{
    struct demo_reply reply;
    struct str q = http_client_escape(d->client, d->arena, question->text);
    struct str path = str_printf(
        d->arena, "/query?q=%.*s&topics=3&episodes=3&facts=5&max_tokens=400", STR_FMT(q));
    if (q.at == NULL || path.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    const struct clock clock = clock_system();
    int64_t from = clock_mono_ns(&clock);
    enum err_code code = call_space(d, "GET", path.at, STR_NONE, err);
    double took_ms = (double)(clock_mono_ns(&clock) - from) / 1e6;
    if (code == ERR_OK)
        code = demo_reply_decode(d->arena, buf_str(&d->reply), &reply, err);
    if (code != ERR_OK)
        return code;
    term_heading(&d->out, "Question");
    term_paragraph(&d->out, TERM_BOLD, "  ", question->text);
    if (question->answer.len != 0)
        term_paragraph(&d->out, TERM_DIM, "  expected: ", question->answer);
    for (size_t i = 0; i < reply.n_topics; i++)
        reply.topics[i].text = STR(""); /* the summaries stand in the list of topics */
    show_nodes(d, "Topics", reply.topics, reply.n_topics);
    show_nodes(d, "Episodes", reply.episodes, reply.n_episodes);
    show_nodes(d, "Facts", reply.facts, reply.n_facts);
    struct str head = str_printf(d->arena, "Context (%llu tokens, replied in %.1f ms)",
                                 (unsigned long long)reply.tokens, took_ms);
    (void)fputc('\n', d->out.file);
    term_paragraph(&d->out, TERM_BOLD, "  ", head);
    term_paragraph(&d->out, TERM_PLAIN, "    ", reply.context);
    return ERR_OK;
}

static enum err_code show(struct demo *d, struct err *err)
{
    enum err_code code = show_topics(d, err);
    for (size_t i = 0; i < d->file.n_ask && code == ERR_OK; i++)
        code = ask(d, &d->file.ask[i], err);
    if (code == ERR_OK && (fflush(d->out.file) != 0 || ferror(d->out.file) != 0))
        code = err_set(err, ERR_INTERNAL, "standard output can't be written");
    return code;
}

static enum err_code run(struct demo *d, struct err *err)
{
    struct demo_counts loaded = {0};
    struct demo_counts counts = {0};
    enum err_code code = load_turns(d, &loaded, err);
    if (code == ERR_OK)
        code = settle(d, &counts, err);
    if (code == ERR_OK)
        code = embed(d, &counts, err);
    if (code != ERR_OK)
        return code;
    (void)fprintf(d->note.file,
                  "%llu turns stored, %llu were there already; %llu episodes, %llu topics, "
                  "%llu facts\n",
                  (unsigned long long)loaded.accepted, (unsigned long long)loaded.duplicates,
                  (unsigned long long)counts.episodes, (unsigned long long)counts.topics,
                  (unsigned long long)counts.facts);
    tell_search(d, &counts);
    return show(d, err);
}

static enum err_code open_demo(struct demo *d, const struct cmd_call *call, struct err *err)
{
    char local[NET_URL_MAX];
    net_local_url(&call->config->server.listen, local);
    struct str url = cmd_option(call, "url");
    struct str key = cmd_option(call, "key");
    struct str space = cmd_option(call, "space");
    if (url.at == NULL)
        url = str_of(local);
    if (key.at == NULL)
        key = call->config->access.api_key;
    if (space.at == NULL)
        space = STR("demo");
    d->out = term_of(stdout, call->config->terminal.color);
    d->note = term_of(stderr, call->config->terminal.color);
    d->arena = arena_new(ARENA_BYTES);
    if (d->arena == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    enum err_code code = demo_file_read(d->arena, call->operand[0], &d->file, err);
    if (code == ERR_OK)
        code = http_client_new(url, key, &d->client, err);
    if (code != ERR_OK)
        return code;
    d->space = http_client_escape(d->client, d->arena, space);
    (void)fprintf(d->note.file, "%zu turns of %zu sessions to %.*s, space %.*s\n", d->file.n_turns,
                  d->file.n_sessions, STR_FMT(url), STR_FMT(space));
    return d->space.at != NULL ? ERR_OK : err_set(err, ERR_EXHAUSTED, "out of memory");
}

int cmd_demo(const struct cmd_call *call)
{
    struct demo d = {.arena = NULL};
    struct err err = {.code = ERR_OK};
    buf_init(&d.reply, NULL, REPLY_BYTES);
    enum err_code code = open_demo(&d, call, &err);
    if (code == ERR_OK)
        code = run(&d, &err);
    int status = code == ERR_OK ? EXIT_FINE : cmd_fail("demo", &err);
    http_client_free(d.client);
    buf_fini(&d.reply);
    arena_free(d.arena);
    return status;
}
