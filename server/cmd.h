/* Subcommands: one table, a file each. main() only looks up the row; what every command shares
 * (configuration, --help, usage errors) is done here before its function runs.
 *
 * Exit status: 0 fine, 1 failed, 2 wrong usage or configuration, 3 fsck --find has found.
 * To add one: a row in cmd.c, its prototype below, a file cmd_NAME.c. */
#ifndef HM_SERVER_CMD_H
#define HM_SERVER_CMD_H

#include "config/config.h"

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_FOUND = 3 };
enum { CMD_OPTIONS_MAX = 8 };

/* What a command is run with; all borrowed. */
struct cmd_call {
    const struct config *config;
    const struct config_option *options; /* of the command's row, filled in */
    unsigned n_options;
    const char *const *operand;
    unsigned n_operands;
};

typedef int cmd_fn(const struct cmd_call *call);

int cmd_run(int argc, char **argv);

/* Value of an option of the row: .at NULL: not given. An unknown name is a bug. */
struct str cmd_option(const struct cmd_call *call, const char *name);
/* Writes a buffer to standard output; EXIT_FAILED when it can't. */
int cmd_print(struct buf *out);
/* "hypermemd NAME: message" on standard error; EXIT_FAILED. */
int cmd_fail(const char *name, const struct err *err);

cmd_fn cmd_serve, cmd_fsck, cmd_backup, cmd_restore, cmd_health, cmd_version, cmd_config, cmd_demo,
    cmd_doctor;

#endif
