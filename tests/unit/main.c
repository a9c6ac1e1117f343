/* The one unit test runner. Its table comes from the names of tests/unit/<area>/test_<name>.c, each
 * of which defines `Suite *suite_<name>(void)`, so a new file needs no edit here.
 *
 *   unit_tests [NAME…]     all suites, or those named
 *
 * Each test runs in a process of its own (CK_FORK=no in the environment turns that off, for a
 * debugger). The counts are appended to $HMTEST_COUNTS, as tests/stage.sh wants them. */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUITE(name) Suite *suite_##name(void);
#include "unit_suites.inc"
#undef SUITE

struct row {
    const char *name;
    Suite *(*make)(void);
};

static const struct row rows[] = {
#define SUITE(name) {#name, suite_##name},
#include "unit_suites.inc"
#undef SUITE
    {NULL, NULL},
};

static bool is_wanted(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return count == 0;
}

static double now_s(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void run_row(const struct row *row, int *run, int *failed)
{
    double start = now_s();
    SRunner *runner = srunner_create(row->make());
    srunner_run_all(runner, CK_SILENT);
    int ran = srunner_ntests_run(runner);
    int bad = srunner_ntests_failed(runner);
    if (ran == 0) {
        printf("FAIL  %s has no test\n", row->name);
        ran = bad = 1;
    } else {
        printf("%s  %-24s %4d tests %6.2f s\n", bad != 0 ? "FAIL" : "ok  ", row->name, ran,
               now_s() - start);
    }
    (void)fflush(stdout);
    if (bad != 0)
        srunner_print(runner, CK_NORMAL);
    srunner_free(runner);
    *run += ran;
    *failed += bad;
}

static bool write_counts(int passed, int failed)
{
    const char *path = getenv("HMTEST_COUNTS");
    if (path == NULL)
        return true;
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return false;
    bool ok = fprintf(file, "%d %d\n", passed, failed) > 0;
    return fclose(file) == 0 && ok;
}

int main(int argc, char **argv)
{
    int run = 0;
    int failed = 0;
    for (const struct row *row = rows; row->name != NULL; row++) {
        if (is_wanted(row->name, argc - 1, argv + 1))
            run_row(row, &run, &failed);
    }
    printf("unit: %d tests, %d failed\n", run, failed);
    bool ok = write_counts(run - failed, failed) && failed == 0 && run > 0;
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
