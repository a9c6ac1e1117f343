#include <stdlib.h>

#include "core/ingest/stage_int.h"

struct turn_row *stage__row(struct stage_work *w, uint32_t doc)
{
    const uint32_t *known = stage_map_find(&w->row_of, doc);
    if (known != NULL)
        return &w->rows[*known].row;
    if (w->n_rows == w->cap_rows) {
        uint32_t cap = w->cap_rows == 0 ? 64 : w->cap_rows * 2;
        struct row_edit *more = arena_alloc(w->arena, cap * sizeof *more);
        if (more == NULL)
            return NULL;
        if (w->n_rows != 0)
            memcpy(more, w->rows, w->n_rows * sizeof *more);
        w->rows = more;
        w->cap_rows = cap;
    }
    if (!stage_map_set(&w->row_of, w->arena, doc, w->n_rows))
        return NULL;
    struct row_edit *edit = &w->rows[w->n_rows++];
    edit->doc = doc;
    columns_turn(w->columns, doc, &edit->row);
    return &edit->row;
}

static int by_doc(const void *left, const void *right)
{
    const struct row_edit *a = left, *b = right;
    return (a->doc > b->doc) - (a->doc < b->doc);
}

/* Rows that follow one another are one operation. */
enum err_code stage__rows_write(struct stage_work *w, struct err *err)
{
    struct turn_row *run = ARENA_ARRAY(w->arena, struct turn_row, w->n_rows);
    if (run == NULL)
        return stage__memory(err);
    if (w->n_rows != 0)
        qsort(w->rows, w->n_rows, sizeof *w->rows, by_doc);
    for (uint32_t i = 0; i < w->n_rows;) {
        uint32_t n = 0;
        uint32_t first = w->rows[i].doc;
        for (; i < w->n_rows && w->rows[i].doc == first + n; i++)
            run[n++] = w->rows[i].row;
        (void)column_put(w->batch, COLUMN_TURN, first, run, n);
    }
    return columns_error(w->columns, err);
}
