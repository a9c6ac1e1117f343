#include "core/base/fault.h"

#ifdef HYPERMEM_FAULTS

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

struct fault_row {
    const char *name;
    atomic_ulong visits; /* any thread; only the count matters, so relaxed would do */
    unsigned long nth;   /* 0: off. Written before threads start */
    int action;          /* -1 kill, else errno */
};

/* Test builds only: the plan must be reachable from any depth. */
static struct fault_row rows[FAULT_COUNT] = {
#define X(id, text) [FAULT_##id] = {.name = text},
    FAULT_TABLE(X)
#undef X
};

static bool plan_one(struct str item)
{
    size_t a = str_index(item, ':');
    struct str rest = str_part(item, a + 1, item.len);
    size_t b = str_index(rest, ':');
    struct str action = str_part(rest, b + 1, rest.len);
    uint64_t nth;
    if (!str_u64(str_part(rest, 0, b), 1u << 30, &nth))
        return false;
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        if (!str_eq(str_part(item, 0, a), str_of(rows[i].name)))
            continue;
        rows[i].nth = nth;
        rows[i].action = str_eq(action, STR("enospc")) ? ENOSPC
                         : str_eq(action, STR("eio"))  ? EIO
                                                       : -1;
        return rows[i].action != -1 || str_eq(action, STR("kill"));
    }
    return false;
}

bool fault_plan(struct str plan)
{
    while (plan.len != 0) {
        size_t comma = str_index(plan, ',');
        if (!plan_one(str_part(plan, 0, comma)))
            return false;
        plan = str_part(plan, comma + 1, plan.len);
    }
    return true;
}

int fault_point(enum fault_id id)
{
    struct fault_row *row = &rows[id];
    if (row->nth == 0 || atomic_fetch_add(&row->visits, 1) + 1 != row->nth)
        return 0;
    if (row->action == -1)
        (void)kill(getpid(), SIGKILL);
    return row->action;
}

const char *fault_name(enum fault_id id)
{
    return rows[id].name;
}

#endif
