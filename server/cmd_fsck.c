/* fsck: checks the data directory; --digest and --find look at it in other ways. The environment is
 * opened read-only, so a daemon may run on it. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "server/cmd.h"
#include "storage/check.h"

static void put_line(const char *text, void *arg)
{
    (void)arg;
    (void)puts(text);
}

static const struct check_sink sink = {.line = put_line};

static enum err_code check(struct store *store, int *status, struct err *err)
{
    struct check_report r = {0};
    enum err_code code = storage_check(store, &sink, &r, err);
    if (code != ERR_OK)
        return code;
    (void)printf("%" PRIu64 " spaces, %" PRIu64 " turns, %" PRIu64 " episodes, %" PRIu64
                 " topics, %" PRIu64 " facts in %" PRIu64 " rows: %" PRIu64 " problems\n",
                 r.spaces, r.turns, r.episodes, r.topics, r.facts, r.rows, r.problems);
    *status = r.problems == 0 ? EXIT_FINE : EXIT_FAILED;
    return ERR_OK;
}

static enum err_code find_text(struct store *store, struct str text, bool raw, int *status,
                               struct err *err)
{
    struct find_report r = {0};
    if (text.len == 0)
        return err_set(err, ERR_INVALID, "--find wants a text that is not empty");
    enum err_code code = storage_find(store, text, raw, &sink, &r, err);
    if (code != ERR_OK)
        return code;
    (void)printf("%" PRIu64 " hits in %" PRIu64 " rows\n", r.hits, r.rows);
    if (raw)
        (void)printf("%" PRIu64 " hits in free pages, %" PRIu64 " in the whole file\n", r.free_hits,
                     r.file_hits);
    *status = r.hits + r.free_hits + r.file_hits != 0 ? EXIT_FOUND : EXIT_FINE;
    return ERR_OK;
}

static enum err_code look(const struct cmd_call *call, struct store *store, int *status,
                          struct err *err)
{
    struct str text = cmd_option(call, "find");
    bool raw = cmd_option(call, "raw").at != NULL;
    bool digest = cmd_option(call, "digest").at != NULL;
    if ((digest && text.at != NULL) || (raw && text.at == NULL))
        return err_set(err, ERR_INVALID, "want --digest, or --find TEXT with or without --raw");
    if (text.at != NULL)
        return find_text(store, text, raw, status, err);
    return digest ? storage_digest(store, &sink, err) : check(store, status, err);
}

int cmd_fsck(const struct cmd_call *call)
{
    struct clock clock = clock_system();
    struct log log = {.fd = STDERR_FILENO, .level = LOG_WARN, .clock = clock};
    struct storage_options options = {
        .dir = call->config->storage.data_dir.at,
        .map_size_gib = (unsigned)call->config->storage.map_size_gib,
        .read_only = true,
    };
    struct store *store = NULL;
    struct err err = {.code = ERR_OK};
    int status = EXIT_FINE;
    enum err_code code = storage_open(&options, &log, &clock, &store, &err);
    if (code == ERR_OK)
        code = look(call, store, &status, &err);
    storage_close(store);
    if (code != ERR_OK)
        return cmd_fail("fsck", &err);
    return fflush(stdout) == 0 ? status : EXIT_FAILED;
}
