/* backup and restore: a copy of the data directory, and the way back. */
#include <stdio.h>
#include <unistd.h>

#include "server/cmd.h"
#include "storage/backup.h"

static struct log log_for_people(const struct clock *clock)
{
    return (struct log){.fd = STDERR_FILENO, .level = LOG_WARN, .clock = *clock};
}

static enum err_code back_up(const struct cmd_call *call, const char *to, struct err *err)
{
    struct clock clock = clock_system();
    struct log log = log_for_people(&clock);
    struct storage_options options = {
        .dir = call->config->storage.data_dir.at,
        .map_size_gib = (unsigned)call->config->storage.map_size_gib,
        .read_only = true,
    };
    struct store *store = NULL;
    enum err_code code = storage_open(&options, &log, &clock, &store, err);
    if (code == ERR_OK)
        code = storage_backup(store, to, err);
    storage_close(store);
    return code;
}

int cmd_backup(const struct cmd_call *call)
{
    struct err err = {.code = ERR_OK};
    struct str to = cmd_option(call, "to");
    if (to.at == NULL || to.len == 0) {
        (void)err_set(&err, ERR_INVALID, "want --to DIR, which is made");
        (void)cmd_fail("backup", &err);
        return EXIT_USAGE;
    }
    if (back_up(call, to.at, &err) != ERR_OK)
        return cmd_fail("backup", &err);
    (void)printf("%.*s holds a copy of %.*s\n", STR_FMT(to),
                 STR_FMT(call->config->storage.data_dir));
    return fflush(stdout) == 0 ? EXIT_FINE : EXIT_FAILED;
}

int cmd_restore(const struct cmd_call *call)
{
    struct err err = {.code = ERR_OK};
    struct str from = cmd_option(call, "from");
    struct str to = call->config->storage.data_dir;
    if (from.at == NULL || from.len == 0) {
        (void)err_set(&err, ERR_INVALID, "want --from DIR and an empty --data-dir");
        (void)cmd_fail("restore", &err);
        return EXIT_USAGE;
    }
    struct clock clock = clock_system();
    struct log log = log_for_people(&clock);
    if (storage_restore(from.at, to.at, &log, &clock, &err) != ERR_OK)
        return cmd_fail("restore", &err);
    (void)printf("%.*s holds a copy of %.*s\n", STR_FMT(to), STR_FMT(from));
    return fflush(stdout) == 0 ? EXIT_FINE : EXIT_FAILED;
}
