/* Command lines of the benchmark programs: "--name value", from a table. */
#ifndef HM_TESTS_BENCH_ARGS_H
#define HM_TESTS_BENCH_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arg {
    const char *name; /* without the dashes */
    uint32_t *number; /* one of the two is set */
    const char **text;
    const char *doc;
};

/* False, with a message and the table on standard error, when a word is not in the table or is no
 * number. */
bool args_parse(int argc, char **argv, const struct arg *rows, size_t n);

#endif
