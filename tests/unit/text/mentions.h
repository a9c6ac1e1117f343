/* What the date tests share: a table of phrases, each said at a moment. */
#ifndef HM_TESTS_UNIT_TEXT_MENTIONS_H
#define HM_TESTS_UNIT_TEXT_MENTIONS_H

#include "core/text/dates.h"

struct mention_row {
    const char *turn; /* RFC 3339; NULL: the row before's */
    const char *text;
    const char *range; /* "2023-05-07" or "2023-05-06..2023-05-07", "" for no mention at all */
    enum date_grain grain;
    bool relative;
    const char *span; /* NULL: not looked at */
};

/* Each text has exactly the one mention of its row. */
void mentions_check(const struct mention_row *rows, size_t n);

#define MENTIONS_CHECK(rows) mentions_check(rows, sizeof(rows) / sizeof(rows)[0])

#endif
