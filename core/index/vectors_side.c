/* Side values of nodes. */
#include "core/index/vectors_int.h"

bool vectors__sides_read(struct str value, struct vectors_sides *sides)
{
    *sides = (struct vectors_sides){0};
    if (value.len == 0)
        return true;
    if (value.len < SIDE_HEAD || value.at[0] != VECTORS_FORMAT)
        return false;
    uint32_t n = le32_get(value.at) >> 16, listed = le32_get(value.at + 4);
    size_t list_at = SIDE_HEAD + (size_t)n * SIDE_ROW;
    if (n > SIDE_NODES || value.len != list_at + (size_t)listed * 4)
        return false;
    *sides = (struct vectors_sides){n, listed, value.at + SIDE_HEAD, value.at + list_at};
    return true;
}

bool vectors_side_read(struct str value, uint32_t i, struct vectors_side *side)
{
    struct vectors_sides sides;
    *side = (struct vectors_side){0};
    if (!vectors__sides_read(value, &sides))
        return false;
    return i >= sides.n || vectors__sides_at(&sides, i, side);
}

static struct str key_of(const struct vectors_view *view, unsigned layer, uint32_t doc,
                         char key[VECTORS_KEY])
{
    vectors_key(key, view->generation->number, layer, doc / SIDE_NODES);
    return (struct str){key, VECTORS_KEY};
}

static enum err_code get(const struct vectors_view *view, unsigned layer, uint32_t doc,
                         struct str *value, struct err *err)
{
    char key[VECTORS_KEY];
    enum err_code rc = store_get(view->txn, view->space, KIND_VECTOR_SIDE,
                                 key_of(view, layer, doc, key), value, err);
    if (rc == ERR_OK && value->at == NULL)
        *value = STR("");
    return rc;
}

enum err_code vectors__side_get(const struct vectors_view *view, unsigned layer, uint32_t doc,
                                struct vectors_side *side, struct err *err)
{
    struct str value;
    enum err_code rc = get(view, layer, doc, &value, err);
    if (rc == ERR_OK && !vectors_side_read(value, doc % SIDE_NODES, side))
        rc = vectors__damaged("the side value of document", doc, err);
    return rc;
}

/* --- writing --- */

struct side_out {
    struct buf rows, list;
    uint32_t n;   /* rows up to the last that is not empty */
    size_t bytes; /* of them */
};

static void put_node(struct side_out *out, uint32_t i, const struct vectors_side *side)
{
    uint32_t edge = 0;
    if (side->n == 1) {
        edge = le32_get(side->edges);
    } else if (side->n != 0) {
        edge = SIDE_MANY | (uint32_t)(out->list.len / 4);
        buf_u32(&out->list, side->n);
        buf_put(&out->list, side->edges, (size_t)side->n * 4);
    }
    buf_put(&out->rows, &side->along, 4);
    buf_put(&out->rows, &side->across, 4);
    buf_u32(&out->rows, edge);
    if (side->n != 0) {
        out->n = i + 1;
        out->bytes = out->rows.len;
    }
}

static void put_value(struct batch *batch, struct str key, struct side_out *out)
{
    struct buf value;
    if (out->n == 0) {
        (void)batch_del(batch, KIND_VECTOR_SIDE, key, 0);
        return;
    }
    buf_init(&value, batch->arena, SIDE_HEAD + out->bytes + out->list.len);
    buf_u32(&value, VECTORS_FORMAT | (uint32_t)(unsigned char)key.at[4] << 8 | out->n << 16);
    buf_u32(&value, (uint32_t)(out->list.len / 4));
    buf_put(&value, out->rows.at, out->bytes);
    buf_str_put(&value, buf_str(&out->list));
    if (!buf_ok(&value) || !buf_ok(&out->rows) || !buf_ok(&out->list))
        batch->failed = true;
    else
        (void)batch_put(batch, KIND_VECTOR_SIDE, key, buf_str(&value), 0);
}

/* One value: `nodes` are those of it that change. */
static enum err_code put_side(const struct vectors_view *view, struct batch *batch,
                              const struct vectors_node_side *nodes, uint32_t n, struct err *err)
{
    char key[VECTORS_KEY];
    struct str old;
    struct vectors_side side;
    struct side_out out = {.n = 0};
    enum err_code rc = get(view, nodes->layer, nodes->doc, &old, err);
    buf_init(&out.rows, batch->arena, SIDE_NODES * SIDE_ROW);
    buf_init(&out.list, batch->arena, (size_t)1 << 24);
    for (uint32_t i = 0, next = 0; rc == ERR_OK && i < SIDE_NODES; i++) {
        if (!vectors_side_read(old, i, &side))
            return vectors__damaged("the side value of document", nodes->doc, err);
        if (next < n && nodes[next].doc % SIDE_NODES == i) {
            const struct vectors_node_side *node = &nodes[next++];
            side = (struct vectors_side){node->along, node->across, node->n,
                                         (const char *)node->edges};
        }
        put_node(&out, i, &side);
    }
    if (rc == ERR_OK)
        put_value(batch, key_of(view, nodes->layer, nodes->doc, key), &out);
    return rc;
}

enum err_code vectors__put_sides(const struct vectors_view *view, struct batch *batch,
                                 const struct vectors_node_side *nodes, uint32_t n, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (uint32_t first = 0, end; rc == ERR_OK && first < n; first = end) {
        for (end = first + 1; end < n && nodes[end].layer == nodes[first].layer &&
                              nodes[end].doc / SIDE_NODES == nodes[first].doc / SIDE_NODES;
             end++)
            ;
        rc = put_side(view, batch, nodes + first, end - first, err);
    }
    return rc;
}
