#include "core/graph/edge.h"

#include <math.h>

enum { MEMBER_BYTES = 7 };

const char *edge_role_slug(uint8_t role)
{
    static const char *const slugs[] = {
#define X(name, slug) slug,
        EDGE_ROLE_TABLE(X)
#undef X
    };
    ASSERT(role < ROLE_COUNT);
    return slugs[role];
}

uint16_t weight_pack(double weight)
{
    if (isnan(weight))
        weight = 0.5;
    if (weight < 0)
        weight = 0;
    if (weight > 1)
        weight = 1;
    return (uint16_t)(weight * UINT16_MAX + 0.5);
}

double weight_unpack(uint16_t weight)
{
    return weight / (double)UINT16_MAX;
}

void edge_encode(const struct edge *edge, struct buf *out)
{
    edge_check(edge);
    for (uint32_t i = 0; i < edge->n; i++) {
        buf_u32(out, edge->at[i].id);
        buf_u8(out, edge->at[i].role);
        buf_u16(out, edge->at[i].weight);
    }
}

enum err_code edge_decode(struct arena *arena, struct str value, struct edge *edge, struct err *err)
{
    *edge = (struct edge){0};
    struct unpack u = unpack_of(value);
    size_t n = value.len / MEMBER_BYTES;
    if (value.len % MEMBER_BYTES != 0 || n > UINT32_MAX)
        return err_set(err, ERR_INTERNAL, "a hyperedge has a wrong size");
    struct edge_member *at = arena_alloc(arena, n * sizeof *at);
    if (at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory while reading a hyperedge");
    uint32_t before = 0; /* 0 is no id, so the first must be above it too */
    for (size_t i = 0; i < n; i++) {
        uint32_t id = unpack_u32(&u);
        uint8_t role = unpack_u8(&u);
        at[i] = (struct edge_member){.id = id, .role = role, .weight = unpack_u16(&u)};
        if (id <= before || role >= ROLE_COUNT)
            return err_set(err, ERR_INTERNAL, "a hyperedge is damaged"); /* I1 */
        before = id;
    }
    *edge = (struct edge){at, (uint32_t)n};
    return ERR_OK;
}

/* NOLINTNEXTLINE(readability-function-size): the five that name a record, and two results */
enum err_code edge_get(struct store_txn *txn, uint64_t space, enum store_kind kind, uint32_t parent,
                       struct arena *arena, struct edge *edge, struct err *err)
{
    struct str value;
    *edge = (struct edge){0};
    enum err_code rc = store_get_u32(txn, space, kind, parent, &value, err);
    if (rc != ERR_OK || value.at == NULL)
        return rc;
    rc = edge_decode(arena, value, edge, err);
    if (rc != ERR_OK)
        err_context(err, "parent %u", parent);
    return rc;
}

/* Index of the first member whose id is not below `id`. */
static uint32_t find(const struct edge *edge, uint32_t id)
{
    uint32_t low = 0;
    uint32_t high = edge->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (edge->at[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum err_code edge_set(struct arena *arena, struct edge *edge, struct edge_member member,
                       struct err *err)
{
    ASSERT(member.id != 0 && member.role < ROLE_COUNT);
    uint32_t i = find(edge, member.id);
    if (i < edge->n && edge->at[i].id == member.id) {
        edge->at[i] = member;
        return ERR_OK;
    }
    struct edge_member *at = arena_alloc(arena, ((size_t)edge->n + 1) * sizeof *at);
    if (at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory while changing a hyperedge");
    if (i != 0)
        memcpy(at, edge->at, i * sizeof *at);
    at[i] = member;
    if (i != edge->n)
        memcpy(at + i + 1, edge->at + i, (edge->n - i) * sizeof *at);
    *edge = (struct edge){at, edge->n + 1};
    return ERR_OK;
}

void edge_remove(struct edge *edge, uint32_t id)
{
    uint32_t i = find(edge, id);
    if (i == edge->n || edge->at[i].id != id)
        return;
    memmove(edge->at + i, edge->at + i + 1, (edge->n - i - 1) * sizeof *edge->at);
    edge->n--;
}

void edge_check(const struct edge *edge)
{
    for (uint32_t i = 0; i < edge->n; i++) {
        ASSERT(edge->at[i].id > (i == 0 ? 0 : edge->at[i - 1].id)); /* I1 */
        ASSERT(edge->at[i].role < ROLE_COUNT);
    }
}
