#include "tests/bench/args.h"

#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

static void usage(const struct arg *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].number != NULL)
            (void)fprintf(stderr, "  --%-18s %s (%u)\n", rows[i].name, rows[i].doc,
                          *rows[i].number);
        else
            (void)fprintf(stderr, "  --%-18s %s (%s)\n", rows[i].name, rows[i].doc,
                          *rows[i].text != NULL ? *rows[i].text : "");
    }
}

static const struct arg *find(const char *word, const struct arg *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, rows[i].name) == 0)
            return &rows[i];
    }
    return NULL;
}

static bool take(const struct arg *row, const char *value)
{
    uint64_t number = 0;
    if (row == NULL || value == NULL)
        return false;
    if (row->text != NULL) {
        *row->text = value;
        return true;
    }
    if (!str_u64(str_of(value), UINT32_MAX, &number))
        return false;
    *row->number = (uint32_t)number;
    return true;
}

bool args_parse(int argc, char **argv, const struct arg *rows, size_t n)
{
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!take(find(argv[i], rows, n), value)) {
            (void)fprintf(stderr, "%s: don't understand %s %s\n", argv[0], argv[i],
                          value != NULL ? value : "");
            usage(rows, n);
            return false;
        }
    }
    return true;
}
