/* Runs a fuzz target over its corpus without a fuzzer: `replay_<target> FILE…`. Each file runs in a
 * process of its own with a time limit; the counts go to $HMTEST_COUNTS, one file one test. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT_S = 60, MAX_FILE = 16 * 1024 * 1024 };

/* Exactly as large as the input, so that a sanitizer sees a read past its end. */
static int run_file(const char *path)
{
    int rc = EXIT_FAILURE;
    uint8_t *data = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        goto out;
    long size = ftell(file);
    if (size < 0 || size > MAX_FILE || fseek(file, 0, SEEK_SET) != 0)
        goto out;
    data = malloc((size_t)size + (size == 0));
    if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size)
        goto out;
    if (LLVMFuzzerTestOneInput(data, (size_t)size) == 0)
        rc = EXIT_SUCCESS;
out:
    free(data);
    if (file != NULL)
        (void)fclose(file);
    return rc;
}

static bool passes(const char *path)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(LIMIT_S);
        exit(run_file(path));
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return false;
    if (status != 0)
        printf("FAIL  %s (wait status 0x%x)\n", path, (unsigned)status);
    return status == 0;
}

int main(int argc, char **argv)
{
    int passed = 0;
    for (int i = 1; i < argc; i++)
        passed += passes(argv[i]);
    int failed = argc - 1 - passed;
    printf("%s  %-40s %4d inputs\n", failed != 0 ? "FAIL" : "ok  ", argv[0], argc - 1);
    const char *path = getenv("HMTEST_COUNTS");
    FILE *counts = path != NULL ? fopen(path, "a") : NULL;
    if (counts != NULL) {
        (void)fprintf(counts, "%d %d\n", passed, failed);
        (void)fclose(counts);
    }
    return failed == 0 && argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
