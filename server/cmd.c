#include "server/cmd.h"

#include <stdio.h>
#include <string.h>

#include "server/version.h"

struct command {
    const char *name;
    const char *operands; /* as shown */
    unsigned min_operands, max_operands;
    cmd_fn *run;
    const char *prose;
    struct config_option options[CMD_OPTIONS_MAX]; /* ends where name is NULL */
};

static const struct command commands[] = {
    {.name = "serve", .operands = "", .run = cmd_serve, .prose = "runs the daemon (the default)"},
    {.name = "demo",
     .operands = "FILE",
     .min_operands = 1,
     .max_operands = 1,
     .run = cmd_demo,
     .prose = "loads a conversation into a running daemon, asks it questions, prints the answers",
     .options = {{.name = "url", .has_value = true, .prose = "of the daemon; default: listen"},
                 {.name = "key", .has_value = true, .prose = "default: api_key"},
                 {.name = "space", .has_value = true, .prose = "default: demo"}}},
    {.name = "fsck",
     .operands = "",
     .run = cmd_fsck,
     .prose = "checks the data directory, also beside a running daemon",
     .options = {{.name = "digest", .prose = "print a digest of what each space holds"},
                 {.name = "find", .has_value = true, .prose = "look for TEXT in every live value"},
                 {.name = "raw", .prose = "with --find: in the free pages of the file, too"}}},
    {.name = "backup",
     .operands = "",
     .run = cmd_backup,
     .prose = "copies the data directory, also beside a running daemon",
     .options = {{.name = "to", .has_value = true, .prose = "a directory that is made"}}},
    {.name = "restore",
     .operands = "",
     .run = cmd_restore,
     .prose = "fills an empty data directory from a backup",
     .options = {{.name = "from", .has_value = true, .prose = "the backup"}}},
    {.name = "health",
     .operands = "",
     .run = cmd_health,
     .prose = "asks the daemon on this machine whether it is ready; status 0 or 1",
     .options = {{.name = "url", .has_value = true, .prose = "of the daemon; default: listen"}}},
    {.name = "doctor",
     .operands = "",
     .run = cmd_doctor,
     .prose = "calls every configured model once and says what works; status 0 or 1",
     .options = {{.name = "context",
                  .has_value = true,
                  .prose =
                      "words of a long prompt that shows a cut context; 0: none; default: 6000"}}},
    {.name = "config",
     .operands = "",
     .run = cmd_config,
     .prose = "prints the effective configuration and where each value comes from",
     .options = {{.name = "example", .prose = "print an example file instead"},
                 {.name = "markdown", .prose = "print a table of all parameters instead"},
                 {.name = "faults", .prose = "print the names of the fault points (test builds)"}}},
    {.name = "version", .operands = "", .run = cmd_version, .prose = "prints the version"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0], HELP_BYTES = 1 << 18 };

static const struct command *find(const char *name)
{
    for (unsigned i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    }
    return NULL;
}

static unsigned count_options(const struct command *command)
{
    unsigned n = 0;
    while (n < CMD_OPTIONS_MAX && command->options[n].name != NULL)
        n++;
    return n;
}

static void put_command(struct buf *out, const struct command *command)
{
    buf_printf(out, "  hypermemd %s", command->name);
    if (command->operands[0] != '\0')
        buf_printf(out, " %s", command->operands);
    buf_printf(out, "\n        %s\n", command->prose);
    for (unsigned i = 0; i < count_options(command); i++) {
        const struct config_option *option = &command->options[i];
        buf_printf(out, "          --%s%s  %s\n", option->name, option->has_value ? " VALUE" : "",
                   option->prose);
    }
}

static int print_help(const struct command *only)
{
    struct buf out;
    buf_init(&out, NULL, HELP_BYTES);
    buf_printf(&out, "hypermemd: long-term memory for language-model agents\n\n");
    for (unsigned i = 0; i < COMMANDS; i++) {
        if (only == NULL || only == &commands[i])
            put_command(&out, &commands[i]);
    }
    buf_printf(&out, "\nParameters, of every command: flag > variable > --config FILE "
                     "(or HYPERMEM_CONFIG) > default\n\n");
    config_print_help(&out);
    int status = cmd_print(&out);
    buf_fini(&out);
    return status;
}

static int refuse_command(const char *word)
{
    const char *names[COMMANDS];
    for (unsigned i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    (void)fprintf(stderr, "hypermemd: unknown command %.64s; did you mean %s?\n", word,
                  config_nearest(word, names, COMMANDS));
    return EXIT_USAGE;
}

static int run_command(const struct command *command, char **words)
{
    struct config_option options[CMD_OPTIONS_MAX];
    memcpy(options, command->options, sizeof options);
    struct config_input input = {.words = words,
                                 .env = config_environment(),
                                 .options = options,
                                 .n_options = count_options(command),
                                 .max_operands = command->max_operands};
    struct config *config = NULL;
    struct err err = {.code = ERR_OK};
    if (config_load(&input, &config, &err) != ERR_OK) {
        (void)cmd_fail(command->name, &err);
        return EXIT_USAGE;
    }
    struct cmd_call call = {config, options, input.n_options, input.operand, input.n_operands};
    int status = EXIT_USAGE;
    if (input.help)
        status = print_help(command);
    else if (input.n_operands < command->min_operands)
        (void)fprintf(stderr, "usage: hypermemd %s %s\n", command->name, command->operands);
    else
        status = command->run(&call);
    config_free(config);
    return status;
}

int cmd_run(int argc, char **argv)
{
    char **words = argv + (argc > 0);
    const char *first = argc > 1 ? argv[1] : "";
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
        return print_help(NULL);
    if (strcmp(first, "--version") == 0)
        first = "version";
    if (argc > 1 && (first[0] != '-' || first != argv[1])) {
        const struct command *command = find(first);
        return command != NULL ? run_command(command, words + 1) : refuse_command(first);
    }
    return run_command(find("serve"), words);
}

/* --- for the commands --- */

struct str cmd_option(const struct cmd_call *call, const char *name)
{
    for (unsigned i = 0; i < call->n_options; i++) {
        if (strcmp(call->options[i].name, name) == 0)
            return call->options[i].value;
    }
    ASSERT(name == NULL); /* no such option in the command's row */
    return STR_NONE;
}

int cmd_print(struct buf *out)
{
    if (!buf_ok(out))
        return EXIT_FAILED;
    size_t written = fwrite(out->at, 1, out->len, stdout);
    return written == out->len && fflush(stdout) == 0 ? EXIT_FINE : EXIT_FAILED;
}

int cmd_fail(const char *name, const struct err *err)
{
    (void)fprintf(stderr, "hypermemd %s: %s\n", name, err->message);
    return EXIT_FAILED;
}

int cmd_version(const struct cmd_call *call)
{
    (void)call;
    (void)printf("hypermemd %s\n", server_version());
    return fflush(stdout) == 0 ? EXIT_FINE : EXIT_FAILED;
}
