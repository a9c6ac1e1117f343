/* How fast the built-in encoder is, and what memory it takes.
 *
 *   bench_encoder --model DIR --texts FILE [--batch 32]
 *
 * FILE has a text a line; the first is the question. Then one command a line on standard input, one
 * object of JSON a line on standard output, so that a script can run another encoder in turn:
 *
 *   ids        the ids that the model is fed, of all texts
 *   vector     the question's vector
 *   all        milliseconds of all texts but the question, `batch` a call
 *   ask N      milliseconds of the question, N times
 *   memory N   private KiB without the mapped weights: before the model was opened, after it, and
 *              the most that was seen while N threads encoded all texts */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/json_out.h"
#include "core/base/file.h"
#include "core/model/builtin/encoder.h"
#include "core/model/builtin/wordpiece.h"
#include "tests/bench/args.h"

enum { TEXTS_MAX = 10000, IDS_MAX = 4096, THREADS_MAX = 16, ASKS_MAX = 1000, LINE_MAX_BYTES = 512 };

struct bench {
    const char *dir;
    struct encoder *encoder;
    struct wordpiece *wordpiece;
    struct str texts[TEXTS_MAX];
    uint32_t n, batch;
    uint64_t private_before;
};

static void must(enum err_code code, const struct err *err)
{
    if (code == ERR_OK)
        return;
    (void)fprintf(stderr, "bench_encoder: %s\n", err->message);
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* --- memory --- */

/* A line of smaps that begins a mapping has a path or nothing behind its fifth field; the others
 * begin with a capital. */
static uint64_t private_kib(void)
{
    char line[LINE_MAX_BYTES];
    bool counts = true;
    uint64_t sum = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    ASSERT(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long long kib = 0;
        if (line[0] < 'A' || line[0] > 'Z')
            counts = strstr(line, "model.safetensors") == NULL;
        else if (counts && strncmp(line, "Private_", 8) == 0 && strchr(line, ':') != NULL &&
                 sscanf(strchr(line, ':') + 1, "%llu", &kib) == 1)
            sum += kib;
    }
    (void)fclose(file);
    return sum;
}

/* --- encoding --- */

static uint64_t embed(const struct bench *b, uint32_t first, uint32_t n, float *vectors)
{
    struct err err;
    struct encoder_texts ask = {
        .texts = b->texts + first, .n = n, .truncate = true, .vectors = vectors};
    must(encoder_embed(b->encoder, &ask, &err), &err);
    return ask.tokens;
}

static float *room_for(const struct bench *b, uint32_t n)
{
    float *vectors = calloc((size_t)n * encoder_about(b->encoder)->dimension, sizeof *vectors);
    ASSERT(vectors != NULL);
    return vectors;
}

static uint64_t embed_all(const struct bench *b)
{
    uint64_t tokens = 0;
    float *vectors = room_for(b, b->batch);
    for (uint32_t i = 1; i < b->n; i += b->batch)
        tokens += embed(b, i, b->n - i < b->batch ? b->n - i : b->batch, vectors);
    free(vectors);
    return tokens;
}

/* --- commands --- */

static void put_ids(struct bench *b, struct json_out *out)
{
    uint32_t ids[IDS_MAX], most = encoder_about(b->encoder)->max_tokens - 2;
    ASSERT(most <= IDS_MAX);
    out_array(out, "ids");
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t n = wordpiece_encode(b->wordpiece, b->texts[i], ids, most, NULL);
        out_array(out, NULL);
        out_u64(out, NULL, wordpiece_id(b->wordpiece, WORDPIECE_CLS));
        for (uint32_t k = 0; k < n; k++)
            out_u64(out, NULL, ids[k]);
        out_u64(out, NULL, wordpiece_id(b->wordpiece, WORDPIECE_SEP));
        out_end(out);
    }
    out_end(out);
}

static void put_vector(struct bench *b, struct json_out *out)
{
    float *vector = room_for(b, 1);
    (void)embed(b, 0, 1, vector);
    out_array(out, "vector");
    for (uint32_t i = 0; i < encoder_about(b->encoder)->dimension; i++)
        out_real(out, NULL, (double)vector[i], 8);
    out_end(out);
    free(vector);
}

static void put_all(struct bench *b, struct json_out *out)
{
    double start = now_ms();
    uint64_t tokens = embed_all(b);
    out_real(out, "ms", now_ms() - start, 4);
    out_u64(out, "tokens", tokens);
}

static void put_asks(struct bench *b, uint32_t n, struct json_out *out)
{
    float *vector = room_for(b, 1);
    out_array(out, "ms");
    for (uint32_t i = 0; i < n && i < ASKS_MAX; i++) {
        double start = now_ms();
        (void)embed(b, 0, 1, vector);
        out_real(out, NULL, now_ms() - start, 4);
    }
    out_end(out);
    free(vector);
}

struct crew {
    struct bench *b;
    atomic_uint working;
};

static void *work(void *arg)
{
    struct crew *crew = arg;
    (void)embed_all(crew->b);
    (void)atomic_fetch_sub(&crew->working, 1); /* put_memory() looks at it */
    return NULL;
}

static void put_memory(struct bench *b, uint32_t n, struct json_out *out)
{
    struct crew crew = {.b = b};
    pthread_t threads[THREADS_MAX];
    uint64_t most = 0;
    ASSERT(n >= 1 && n <= THREADS_MAX);
    out_u64(out, "before_kib", b->private_before);
    out_u64(out, "opened_kib", private_kib());
    atomic_init(&crew.working, n);
    for (uint32_t i = 0; i < n; i++)
        ASSERT(pthread_create(&threads[i], NULL, work, &crew) == 0);
    while (atomic_load(&crew.working) != 0) {
        uint64_t now = private_kib();
        most = now > most ? now : most;
    }
    out_u64(out, "encoded_kib", most);
    for (uint32_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    out_u64(out, "after_kib", private_kib());
    out_u64(out, "threads", n);
}

static void put_about(const struct bench *b, struct json_out *out, double opened_ms)
{
    const struct encoder_about *about = encoder_about(b->encoder);
    out_str(out, "model", about->name);
    out_cstr(out, "dtype", about->dtype);
    out_cstr(out, "kernels", about->kernels);
    out_bool(out, "blas", about->blas);
    out_u64(out, "dimension", about->dimension);
    out_u64(out, "file_bytes", about->file_bytes);
    out_u64(out, "scratch_bytes", about->scratch_bytes);
    out_real(out, "opened_ms", opened_ms, 4);
    out_u64(out, "texts", b->n);
}

/* False: it is none. */
static bool obey(struct bench *b, const char *line, struct json_out *out)
{
    unsigned n = 0;
    if (strcmp(line, "ids\n") == 0)
        put_ids(b, out);
    else if (strcmp(line, "vector\n") == 0)
        put_vector(b, out);
    else if (strcmp(line, "all\n") == 0)
        put_all(b, out);
    else if (sscanf(line, "ask %u", &n) == 1)
        put_asks(b, n, out);
    else if (sscanf(line, "memory %u", &n) == 1)
        put_memory(b, n, out);
    else
        return false;
    return true;
}

static void print(struct buf *line, struct json_out *out)
{
    out_end(out);
    ASSERT(buf_ok(line));
    (void)printf("%.*s\n", STR_FMT(buf_str(line)));
    (void)fflush(stdout);
    buf_clear(line);
    *out = json_out_of(line);
    out_object(out, NULL);
}

static void split_lines(struct bench *b, struct str rest)
{
    while (rest.len != 0 && b->n < TEXTS_MAX) {
        size_t end = str_index(rest, '\n');
        b->texts[b->n++] = str_part(rest, 0, end);
        rest = str_part(rest, end + 1, rest.len);
    }
}

int main(int argc, char **argv)
{
    static struct bench b;
    const char *texts = NULL;
    char command[LINE_MAX_BYTES];
    struct err err;
    struct buf file, line;
    b.batch = 32;
    const struct arg args[] = {
        {.name = "model", .text = &b.dir, .doc = "directory of the model"},
        {.name = "texts", .text = &texts, .doc = "a text a line; the first is the question"},
        {.name = "batch", .number = &b.batch, .doc = "texts a call"},
    };
    if (!args_parse(argc, argv, args, sizeof args / sizeof args[0]) || b.dir == NULL ||
        texts == NULL || b.batch == 0)
        return 2;
    buf_init(&file, NULL, 64 << 20);
    buf_init(&line, NULL, 64 << 20);
    must(file_read(texts, &file, &err), &err);
    split_lines(&b, buf_str(&file));
    b.private_before = private_kib();
    double start = now_ms();
    must(encoder_open(b.dir, &b.encoder, &err), &err);
    double opened_ms = now_ms() - start;
    struct json_out out = json_out_of(&line);
    out_object(&out, NULL);
    put_about(&b, &out, opened_ms);
    print(&line, &out);
    must(wordpiece_open(b.dir, &b.wordpiece, &err), &err);
    while (fgets(command, sizeof command, stdin) != NULL && obey(&b, command, &out))
        print(&line, &out);
    buf_fini(&line);
    buf_fini(&file);
    wordpiece_free(b.wordpiece);
    encoder_close(b.encoder);
    return 0;
}
