/* Several threads use one encoder at once and get what one alone gets, bit for bit. */
#include <check.h>
#include <pthread.h>

#include "core/model/builtin/encoder.h"
#include "golden.h"

enum { THREADS = 4, ROUNDS = 3, TEXTS = 96, PAIRS = 40, DIMENSION = 32 };

struct shared {
    const struct encoder *encoder;
    struct golden_texts texts, pairs;
    float vectors[TEXTS * DIMENSION], logits[PAIRS]; /* of one alone */
};

struct worker {
    const struct shared *shared;
    pthread_t thread;
    float vectors[TEXTS * DIMENSION], logits[PAIRS];
    unsigned wrong;
};

static enum err_code embed(const struct shared *s, float *vectors)
{
    struct err err;
    struct encoder_texts ask = {.texts = s->texts.at, .n = TEXTS, .vectors = vectors};
    return encoder_embed(s->encoder, &ask, &err);
}

static enum err_code score(const struct shared *s, float *logits)
{
    struct err err;
    struct encoder_pairs ask = {
        .query = s->pairs.at[0], .documents = s->pairs.at + 1, .n = PAIRS, .logits = logits};
    return encoder_score(s->encoder, &ask, &err);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct shared *s = w->shared;
    for (int i = 0; i < ROUNDS; i++) {
        w->wrong += embed(s, w->vectors) != ERR_OK || score(s, w->logits) != ERR_OK;
        w->wrong += memcmp(w->vectors, s->vectors, sizeof s->vectors) != 0;
        w->wrong += memcmp(w->logits, s->logits, sizeof s->logits) != 0;
    }
    return NULL;
}

START_TEST(at_once)
{
    static struct shared s;
    static struct worker workers[THREADS];
    struct encoder *e;
    struct err err;
    struct arena *arena = arena_new(64 << 20);
    ck_assert_ptr_nonnull(arena);
    ck_assert_int_eq(encoder_open(GOLDEN_DIR "/tiny-cross", &e, &err), ERR_OK);
    s.encoder = e;
    s.texts = golden_texts(arena);
    s.pairs = golden_pairs(arena);
    ck_assert_uint_eq(encoder_about(e)->dimension, DIMENSION);
    ck_assert_int_eq(embed(&s, s.vectors), ERR_OK);
    ck_assert_int_eq(score(&s, s.logits), ERR_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i].shared = &s;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
        ck_assert_uint_eq(workers[i].wrong, 0);
    }
    encoder_close(e);
    arena_free(arena);
}
END_TEST

Suite *suite_encoder_threads(void)
{
    Suite *suite = suite_create("encoder_threads");
    TCase *all = tcase_create("all");
    tcase_add_test(all, at_once);
    suite_add_tcase(suite, all);
    return suite;
}
