#include <string.h>

#include "core/index/kernels/kernels.h"
#include "core/model/builtin/kernels/kernels.h"

/* Ascending: the last that runs is the best. */
static const struct {
    const struct rowops *ops;
    bool (*runs)(void);
} tables[] = {
    {&rowops__scalar, kernels_run_always},
#if defined(__x86_64__) || defined(__i386__)
    {&rowops__avx2, kernels_run_avx2},
#endif
};
enum { TABLES = sizeof tables / sizeof tables[0] };

const struct rowops *rowops_at(size_t i)
{
    size_t running = 0;
    for (size_t t = 0; t < TABLES; t++) {
        if (tables[t].runs() && running++ == i)
            return tables[t].ops;
    }
    return NULL;
}

const struct rowops *rowops_choose(const char *name)
{
    const struct rowops *best = NULL, *ops;
    for (size_t i = 0; (ops = rowops_at(i)) != NULL; i++) {
        if (name != NULL && strcmp(name, ops->name) == 0)
            return ops;
        best = ops;
    }
    return name == NULL || strcmp(name, "auto") == 0 ? best : NULL;
}
