#include "storage/group.h"

#include <stdlib.h>

#include "core/base/fault.h"

enum { REFUSALS_BYTES = 4 << 20, SCRATCH_BYTES = 256 << 20, SCRATCH_KEEP = 1 << 20 };

enum err_code group__init(struct group *group, struct store *store, struct err *err)
{
    *group = (struct group){.store = store};
    group->last = &group->first;
    buf_init(&group->scratch, NULL, SCRATCH_BYTES);
    group->arena = arena_new(REFUSALS_BYTES);
    /* Fresh zero pages: what a small group does not touch costs nothing. */
    group->spaces = calloc(GROUP_SPACES, sizeof *group->spaces);
    group->index = calloc(GROUP_INDEX, sizeof *group->index);
    if (group->arena == NULL || group->spaces == NULL || group->index == NULL)
        return err_set(err, ERR_UNAVAILABLE, "out of memory");
    return ERR_OK;
}

void group__fini(struct group *group)
{
    buf_fini(&group->scratch);
    arena_free(group->arena);
    free(group->spaces);
    free(group->index);
}

static void forget_spaces(struct group *group)
{
    for (uint32_t i = 0; i < group->n_spaces; i++)
        group->index[group->spaces[i].slot] = 0;
    group->n_spaces = 0;
    group->dropped = false;
}

int group__begin(struct group *group)
{
    ASSERT(group->txn == NULL && group->n_spaces == 0);
    int rc = mdb_txn_begin(group->store->env, NULL, 0, &group->txn);
    if (rc != 0)
        return rc;
    rc = mdb_cursor_open(group->txn, group->store->dbi, &group->cursor);
    if (rc != 0)
        group__abort(group);
    return rc;
}

static int due_row(struct group *group, uint64_t due, uint64_t space, bool put)
{
    struct key at;
    char rest[16];
    be64_set(rest, due - 1);
    be64_set(rest + 8, space);
    key_set(&at, 0, KIND_DUE, (struct str){rest, sizeof rest});
    MDB_val key = key_val(&at);
    MDB_val empty = str_val(STR(""));
    MDB_dbi dbi = group->store->dbi;
    return put ? mdb_put(group->txn, dbi, &key, &empty, 0) : mdb_del(group->txn, dbi, &key, NULL);
}

/* S6. A dropped space has no STAT row any more. */
static int write_space(struct group *group, struct group_space *space)
{
    struct key at;
    uint64_t due = space->dropped ? 0 : space->stat.v[STAT_DUE];
    int rc = 0;
    if (space->due_row != due && space->due_row != 0)
        rc = due_row(group, space->due_row, space->id, false);
    if (rc == 0 && space->due_row != due && due != 0)
        rc = due_row(group, due, space->id, true);
    if (rc != 0 || space->dropped)
        return rc;
    key_set(&at, space->id, KIND_STAT, STR(""));
    MDB_val key = key_val(&at);
    MDB_val value = {sizeof space->stat, &space->stat};
    return mdb_cursor_put(group->cursor, &key, &value, 0);
}

int group__commit(struct group *group)
{
    int rc = 0;
    DASSERT((group__check(group), true));
    for (uint32_t i = 0; rc == 0 && i < group->n_spaces; i++) {
        if (group->spaces[i].touched)
            rc = write_space(group, &group->spaces[i]);
    }
    if (rc == 0)
        rc = fault_point(FAULT_WRITER_BEFORE_COMMIT);
    if (rc != 0) {
        group__abort(group);
        return rc;
    }
    mdb_cursor_close(group->cursor);
    group->cursor = NULL;
    MDB_txn *txn = group->txn;
    group->txn = NULL;
    return mdb_txn_commit(txn);
}

void group__abort(struct group *group)
{
    if (group->cursor != NULL)
        mdb_cursor_close(group->cursor);
    group->cursor = NULL;
    mdb_txn_abort(group->txn);
    group->txn = NULL;
    forget_spaces(group);
}

void group__clear(struct group *group)
{
    ASSERT(group->txn == NULL);
    forget_spaces(group);
    group->first = NULL;
    group->last = &group->first;
    group->batches = group->ops = 0;
    group->bytes = 0;
    arena_reset(group->arena);
    if (group->scratch.cap > SCRATCH_KEEP) {
        buf_fini(&group->scratch);
        buf_init(&group->scratch, NULL, SCRATCH_BYTES);
    }
}

void group__join(struct group *group, struct batch *batch)
{
    batch->next = NULL;
    *group->last = batch;
    group->last = &batch->next;
    group->batches++;
    group->ops += batch->ops.n != 0 ? batch->ops.n : 1;
    group->bytes += batch->bytes;
}

/* The place of `id` in the index: where it is, or the free one where it would go. */
static uint32_t place_of(const struct group *group, uint64_t id)
{
    uint32_t slot = (uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) % GROUP_INDEX;
    while (group->index[slot] != 0 && group->spaces[group->index[slot] - 1].id != id)
        slot = (slot + 1) % GROUP_INDEX;
    return slot;
}

static struct group_space *space_add(struct group *group, uint64_t id, uint32_t slot)
{
    ASSERT(group->n_spaces < GROUP_SPACES && group->index[slot] == 0); /* G1 */
    struct group_space *space = &group->spaces[group->n_spaces++];
    group->index[slot] = (uint16_t)group->n_spaces;
    *space = (struct group_space){.id = id, .slot = slot};
    return space;
}

void group__check(const struct group *group)
{
    ASSERT(group->n_spaces <= GROUP_SPACES);
    for (uint32_t i = 0; i < group->n_spaces; i++) {
        const struct group_space *space = &group->spaces[i];
        ASSERT(group->index[space->slot] == i + 1);        /* G1 */
        ASSERT(place_of(group, space->id) == space->slot); /* G1 */
    }
}

int group__space(struct group *group, uint64_t id, struct group_space **out)
{
    *out = NULL;
    uint32_t slot = place_of(group, id);
    if (group->index[slot] != 0) {
        *out = &group->spaces[group->index[slot] - 1];
        return 0;
    }
    struct key at;
    struct space_stat stat;
    MDB_val value;
    key_set(&at, id, KIND_STAT, STR(""));
    MDB_val key = key_val(&at);
    int rc = mdb_cursor_get(group->cursor, &key, &value, MDB_SET);
    if (rc != 0)
        return rc == MDB_NOTFOUND ? 0 : rc;
    if (!stat__unpack(value, &stat))
        return STORAGE_DAMAGED;
    *out = space_add(group, id, slot);
    (*out)->stat = stat;
    (*out)->due_row = stat.v[STAT_DUE];
    return 0;
}

struct group_space *group__space_new(struct group *group, uint64_t id)
{
    return space_add(group, id, place_of(group, id));
}
