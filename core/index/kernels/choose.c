#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include <string.h>

#include "core/index/kernels/kernels.h"

bool kernels_run_always(void)
{
    return true;
}

#if defined(__x86_64__) || defined(__i386__)
/* Not every compiler's builtin knows F16C. It came a generation before AVX2, but a virtual machine
 * may show the one and hide the other. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

/* The builtin asks the operating system, too, whether it saves the wide registers. */
bool kernels_run_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
#else
bool kernels_run_avx2(void)
{
    return false;
}
#endif

/* Ascending: the last that runs is the best. */
static const struct {
    const struct kernels *kernels;
    bool (*runs)(void);
} tables[] = {
    {&kernels__scalar, kernels_run_always},
#if defined(__x86_64__) || defined(__i386__)
    {&kernels__avx2, kernels_run_avx2},
#endif
#if defined(__aarch64__)
    {&kernels__neon, kernels_run_always}, /* part of the architecture */
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
