/* What is printed from the table: effective values, help, example file, README table. */
#include "config/config_int.h"

#include <string.h>

enum { VALUE_COLUMN = 46, WRAP = 96 };

/* Prose, wrapped to WRAP columns, each line behind `head`. */
static void put_wrapped(struct buf *out, const char *head, const char *prose)
{
    size_t column = 0;
    struct str rest = str_of(prose);
    size_t room = WRAP - strlen(head);
    while (rest.len != 0) {
        size_t n = str_index(rest, ' ');
        if (column != 0 && column + 1 + n > room) {
            buf_char(out, '\n');
            column = 0;
        }
        buf_str_put(out, column == 0 ? str_of(head) : STR(" "));
        column += (column == 0 ? 0 : 1) + n;
        buf_str_put(out, str_part(rest, 0, n));
        rest = str_part(rest, n + 1, rest.len);
    }
    buf_char(out, '\n');
}

static void put_origin(const struct config_origin *origin, struct buf *out)
{
    static const char *const heads[] = {[SOURCE_DEFAULT] = "",
                                        [SOURCE_NO_COLOR] = "",
                                        [SOURCE_FILE] = "file ",
                                        [SOURCE_ENV] = "",
                                        [SOURCE_FLAG] = ""};
    buf_printf(out, "; %s%.*s", heads[origin->source], STR_FMT(origin->name));
    if (origin->source == SOURCE_FILE && origin->by_file)
        buf_printf(out, " (by its _file)");
}

static void put_section(struct buf *out, unsigned i)
{
    const struct config_row *row = &config__rows[i];
    if (i == 0 || strcmp(row->group, config__rows[i - 1].group) != 0)
        buf_printf(out, "%s[%s]\n", i == 0 ? "" : "\n", row->group);
}

static void put_openai(const struct config_openai *openai, struct buf *out)
{
    if (openai->base_url.len != 0)
        buf_printf(out, "\n; OPENAI_BASE_URL = %.*s, where a model is named without a base_url\n",
                   STR_FMT(openai->base_url));
    if (openai->api_key.len != 0)
        buf_printf(out, "; OPENAI_API_KEY = ********, for that host alone\n");
}

void config_print(const struct config *config, struct buf *out)
{
    for (unsigned i = 0; i < CONFIG_COUNT; i++) {
        const struct config_row *row = &config__rows[i];
        const struct config_origin *origin = &config->origin[i];
        put_section(out, i);
        size_t start = out->len;
        if ((row->flags & CONFIG_SECRET) == 0)
            buf_printf(out, "%s = %.*s", row->key, STR_FMT(origin->text));
        else
            buf_printf(out, "%s = %s", row->key,
                       origin->source == SOURCE_DEFAULT ? "" : "********");
        while (buf_ok(out) && out->len - start < VALUE_COLUMN - 1)
            buf_char(out, ' ');
        buf_char(out, ' ');
        put_origin(origin, out);
        buf_char(out, '\n');
    }
    put_openai(&config->openai, out);
}

static void put_facts(struct buf *out, const struct config_row *row)
{
    buf_printf(out, "default %s", row->fallback[0] != '\0' ? row->fallback : "empty");
    if (row->unit[0] != '\0' && strcmp(row->unit, "address") != 0)
        buf_printf(out, " %s", row->unit);
    if (row->type == TYPE_UINT || row->type == TYPE_REAL)
        buf_printf(out, ", %llu to %llu", (unsigned long long)row->min,
                   (unsigned long long)row->max);
}

void config_print_help(struct buf *out)
{
    for (unsigned i = 0; i < CONFIG_COUNT; i++) {
        const struct config_row *row = &config__rows[i];
        if (i == 0 || strcmp(row->group, config__rows[i - 1].group) != 0)
            buf_printf(out, "%s%s\n", i == 0 ? "" : "\n", row->group);
        buf_printf(out, "  %s%s", config__flag_name(row->key, "").text,
                   row->type == TYPE_BOOL ? "[=BOOL]" : " VALUE");
        if ((row->flags & CONFIG_SECRET) != 0)
            buf_printf(out, ", %s FILE", config__flag_name(row->key, "_file").text);
        buf_printf(out, "  (%s; ", config__env_name(row->key, "").text);
        put_facts(out, row);
        buf_printf(out, ")\n");
        put_wrapped(out, "        ", row->prose);
    }
}

void config_print_example(struct buf *out)
{
    buf_printf(out,
               "; Every parameter of hypermemd with its default. Uncomment what you change, and "
               "name this\n; file with --config FILE or HYPERMEM_CONFIG. Flags and HYPERMEM_* "
               "variables outrank it.\n\n");
    for (unsigned i = 0; i < CONFIG_COUNT; i++) {
        const struct config_row *row = &config__rows[i];
        put_section(out, i);
        put_wrapped(out, "; ", row->prose);
        if (row->type == TYPE_UINT || row->type == TYPE_REAL)
            buf_printf(out, "; %llu to %llu%s%s\n", (unsigned long long)row->min,
                       (unsigned long long)row->max, row->unit[0] != '\0' ? " " : "", row->unit);
        buf_printf(out, ";%s = %s\n", row->key, row->fallback);
        if ((row->flags & CONFIG_SECRET) != 0)
            buf_printf(out, ";%s_file = /run/secrets/%s\n", row->key, row->key);
    }
}

void config_print_markdown(struct buf *out)
{
    buf_printf(out, "| flag | variable | default | unit | what it does |\n");
    buf_printf(out, "|---|---|---|---|---|\n");
    for (unsigned i = 0; i < CONFIG_COUNT; i++) {
        const struct config_row *row = &config__rows[i];
        bool is_secret = (row->flags & CONFIG_SECRET) != 0;
        buf_printf(out, "| `%s`%s | `%s`%s | %s%s%s | %s | %s |\n",
                   config__flag_name(row->key, "").text, is_secret ? ", `…-file`" : "",
                   config__env_name(row->key, "").text, is_secret ? ", `…_FILE`" : "",
                   row->fallback[0] != '\0' ? "`" : "", row->fallback,
                   row->fallback[0] != '\0' ? "`" : "", row->unit, row->prose);
    }
}
