#include "tests/unit/text/mentions.h"

#include <check.h>
#include <stdio.h>

static void show(const struct date_mention *m, char out[64])
{
    char from[CIVIL_DATE_MAX], to[CIVIL_DATE_MAX];
    (void)civil_format(m->from, from);
    (void)civil_format(m->to, to);
    if (strcmp(from, to) == 0)
        (void)snprintf(out, 64, "%s", from);
    else
        (void)snprintf(out, 64, "%s..%s", from, to);
}

static void check_row(const struct mention_row *row, const char *turn)
{
    struct date_mention found[4];
    int64_t utc_ms;
    int offset_min;
    char range[64] = "";
    ck_assert_msg(rfc3339_parse(str_of(turn), &utc_ms, &offset_min), "%s", turn);
    size_t n = dates_find(str_of(row->text), utc_ms, offset_min, found, 4);
    if (n > 0)
        show(&found[0], range);
    ck_assert_msg(n == (row->range[0] == '\0' ? 0 : 1) && strcmp(range, row->range) == 0,
                  "\"%s\" at %s gives %zu: %s, not %s", row->text, turn, n, range, row->range);
    if (n == 0)
        return;
    ck_assert_msg(found[0].grain == row->grain, "\"%s\": grain %d", row->text, found[0].grain);
    ck_assert_msg(found[0].relative == row->relative, "\"%s\": relative", row->text);
    struct str span = str_part(str_of(row->text), found[0].at, found[0].at + found[0].len);
    ck_assert_msg(row->span == NULL || str_eq(span, str_of(row->span)), "\"%s\" spans \"%.*s\"",
                  row->text, STR_FMT(span));
}

void mentions_check(const struct mention_row *rows, size_t n)
{
    const char *turn = "2023-05-08T13:56:00Z";
    for (size_t i = 0; i < n; i++) {
        if (rows[i].turn != NULL)
            turn = rows[i].turn;
        check_row(&rows[i], turn);
    }
}
