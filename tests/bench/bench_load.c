/* The HTTP load driver: runs one plan (plan.h) against a daemon on 127.0.0.1 and prints one line of
 * JSON. Exit status 1 when nothing could be measured; errors of single calls are only counted. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/args.h"
#include "tests/bench/load.h"

enum { FILE_MAX = 64 << 20 };

struct options {
    const char *mode, *prefix, *params, *file;
    uint32_t port, connections, calls, millis, warmup;
    uint32_t turns_per_call, turns_per_space, spaces, first_space, stride, first_turn, cycle;
    uint32_t seed, text_bytes, turns_per_session;
};

static bool parse(int argc, char **argv, struct options *o)
{
    const struct arg rows[] = {
        {.name = "mode", .text = &o->mode, .doc = "post, fill, query, mixed or file"},
        {.name = "port", .number = &o->port, .doc = "of the daemon"},
        {.name = "connections", .number = &o->connections, .doc = "at once"},
        {.name = "calls", .number = &o->calls, .doc = "at most, warm-up included; 0: any"},
        {.name = "millis", .number = &o->millis, .doc = "at most, after the warm-up; 0: any"},
        {.name = "warmup", .number = &o->warmup, .doc = "calls before the measurement"},
        {.name = "turns-per-call", .number = &o->turns_per_call, .doc = "of a POST"},
        {.name = "turns-per-space", .number = &o->turns_per_space, .doc = "of a conversation"},
        {.name = "turns-per-session", .number = &o->turns_per_session, .doc = "of a session"},
        {.name = "spaces", .number = &o->spaces, .doc = "at most, or to ask in; 0: any"},
        {.name = "first-space", .number = &o->first_space, .doc = "number of the first"},
        {.name = "stride", .number = &o->stride, .doc = "between the spaces' numbers"},
        {.name = "first-turn", .number = &o->first_turn, .doc = "that is posted to a space"},
        {.name = "cycle", .number = &o->cycle, .doc = "spaces that a connection goes round"},
        {.name = "seed", .number = &o->seed, .doc = "of the text"},
        {.name = "text-bytes", .number = &o->text_bytes, .doc = "mean of a turn's text"},
        {.name = "prefix", .text = &o->prefix, .doc = "of the spaces' names"},
        {.name = "params", .text = &o->params, .doc = "appended to each path"},
        {.name = "file", .text = &o->file, .doc = "of questions, for --mode file"},
    };
    return args_parse(argc, argv, rows, sizeof rows / sizeof rows[0]);
}

static bool read_file(const char *path, struct buf *out)
{
    char chunk[4096];
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    buf_init(out, NULL, FILE_MAX);
    if (fd < 0)
        return false;
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        buf_put(out, chunk, (size_t)n);
    (void)close(fd);
    return n == 0 && buf_ok(out);
}

/* The lines that have a tab. NULL when there is none. */
static struct str *split_lines(struct str text, uint32_t *n)
{
    size_t most = 1;
    for (size_t i = 0; i < text.len; i++)
        most += text.at[i] == '\n';
    struct str *lines = calloc(most, sizeof *lines);
    *n = 0;
    while (lines != NULL && text.len != 0) {
        struct str line = str_part(text, 0, str_index(text, '\n'));
        if (str_index(line, '\t') < line.len)
            lines[(*n)++] = line;
        text = str_part(text, line.len + 1, text.len);
    }
    return lines;
}

static void report(const struct options *o, struct load_result *r)
{
    struct buf line;
    double seconds = (double)r->elapsed_ns / 1e9;
    buf_init(&line, NULL, 1 << 16);
    struct json_out out = json_out_of(&line);
    out_object(&out, NULL);
    out_cstr(&out, "mode", o->mode);
    out_u64(&out, "connections", o->connections);
    out_u64(&out, "calls", r->calls);
    out_u64(&out, "turns", r->turns);
    out_u64(&out, "errors", r->errors);
    out_u64(&out, "reconnects", r->reconnects);
    out_real(&out, "seconds", seconds, 4);
    out_real(&out, "calls_per_s", seconds > 0 ? (double)r->calls / seconds : 0, 1);
    out_real(&out, "turns_per_s", seconds > 0 ? (double)r->turns / seconds : 0, 1);
    out_u64(&out, "text_bytes", r->text_bytes);
    out_u64(&out, "sent_bytes", r->sent_bytes);
    out_u64(&out, "received_bytes", r->received_bytes);
    samples_report(&r->post, &out, "post_ms");
    samples_report(&r->query, &out, "query_ms");
    samples_report(&r->server, &out, "server_ms");
    out_cstr(&out, "first_error", r->first_error);
    out_end(&out);
    (void)printf("%.*s\n", STR_FMT(buf_str(&line)));
    buf_fini(&line);
}

static bool is_sound(const struct options *o, const struct plan *plan)
{
    return o->port >= 1 && o->port <= UINT16_MAX && o->connections >= 1 &&
           o->connections <= LOAD_CONNECTIONS_MAX && o->turns_per_call >= 1 &&
           o->turns_per_space >= 1 && o->turns_per_session >= 1 &&
           o->turns_per_session <= GEN_SESSION_TURNS && o->text_bytes <= GEN_TEXT_MAX / 2 &&
           (o->calls != 0 || o->millis != 0 || o->spaces != 0) &&
           (plan->mode != PLAN_FILE || plan->n_lines != 0);
}

static struct plan plan_of(const struct options *o)
{
    return (struct plan){
        .gen = {.seed = o->seed,
                .text_bytes = o->text_bytes,
                .turns_per_session = o->turns_per_session},
        .prefix = o->prefix,
        .params = o->params,
        .connections = o->connections,
        .turns_per_call = o->turns_per_call,
        .turns_per_space = o->turns_per_space,
        .spaces = o->spaces,
        .first_space = o->first_space,
        .stride = o->stride,
        .first_turn = o->first_turn,
        .cycle = o->cycle,
    };
}

int main(int argc, char **argv)
{
    struct options o = {.mode = "post",
                        .prefix = "load-",
                        .params = "",
                        .connections = 32,
                        .turns_per_call = 1,
                        .turns_per_space = 200,
                        .turns_per_session = 12,
                        .stride = 1,
                        .seed = 1,
                        .text_bytes = 140};
    struct load_result result = {0};
    struct buf text = {0};
    struct str *lines = NULL;
    if (!parse(argc, argv, &o))
        return 2;
    struct plan plan = plan_of(&o);
    bool ok = plan_mode_parse(o.mode, &plan.mode);
    if (ok && plan.mode == PLAN_FILE) {
        ok = o.file != NULL && read_file(o.file, &text);
        lines = ok ? split_lines(buf_str(&text), &plan.n_lines) : NULL;
        plan.lines = lines;
    }
    if (!ok || !is_sound(&o, &plan)) {
        (void)fprintf(stderr,
                      "bench_load: an option is out of its range, or no file of questions\n");
        return 2;
    }
    struct load_options options = {.plan = &plan,
                                   .port = (uint16_t)o.port,
                                   .calls = o.calls,
                                   .millis = o.millis,
                                   .warmup = o.warmup};
    ok = load_run(&options, &result);
    report(&o, &result);
    load_result_free(&result);
    free(lines);
    buf_fini(&text);
    return ok ? 0 : 1;
}
