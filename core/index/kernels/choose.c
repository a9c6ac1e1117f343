#include <string.h>

#include "core/index/kernels/kernels.h"

static bool runs_always(void)
{
    return true;
}

#if defined(__x86_64__) || defined(__i386__)
/* The builtin asks the operating system, too, whether it saves the wide registers. */
static bool runs_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

/* Ascending: the last that runs is the best. */
static const struct {
    const struct kernels *kernels;
    bool (*runs)(void);
} tables[] = {
    {&kernels__scalar, runs_always},
#if defined(__x86_64__) || defined(__i386__)
    {&kernels__avx2, runs_avx2},
#endif
#if defined(__aarch64__)
    {&kernels__neon, runs_always}, /* part of the architecture */
#endif
};
enum { TABLES = sizeof tables / sizeof tables[0] };

const struct kernels *kernels_at(size_t i)
{
    size_t running = 0;
    for (size_t t = 0; t < TABLES; t++) {
        if (tables[t].runs() && running++ == i)
            return tables[t].kernels;
    }
    return NULL;
}

const struct kernels *kernels_choose(const char *name)
{
    const struct kernels *best = NULL, *k;
    for (size_t i = 0; (k = kernels_at(i)) != NULL; i++) {
        if (name != NULL && strcmp(name, k->name) == 0)
            return k;
        best = k;
    }
    return name == NULL || strcmp(name, "auto") == 0 ? best : NULL;
}
