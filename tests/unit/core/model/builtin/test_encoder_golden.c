/* Vectors and logits as the reference library makes them, of every text and pair. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/model/builtin/encoder.h"
#include "golden.h"

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(512 << 20);
    ck_assert_ptr_nonnull(arena);
}

static void teardown(void)
{
    arena_free(arena);
}

static struct encoder *opened(const char *dir)
{
    struct encoder *e = NULL;
    struct err err;
    ck_assert_msg(encoder_open(dir, &e, &err) == ERR_OK, "%s", err.message);
    return e;
}

static double cosine(const float *a, const float *b, uint32_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (uint32_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

/* `step` texts a call. */
static void embed(const struct encoder *e, const struct golden_texts *texts, uint32_t step,
                  float *vectors)
{
    uint32_t dimension = encoder_about(e)->dimension;
    for (uint32_t i = 0; i < texts->n; i += step) {
        struct err err;
        struct encoder_texts ask = {
            .texts = texts->at + i,
            .n = texts->n - i < step ? texts->n - i : step,
            .truncate = true,
            .vectors = vectors + (size_t)i * dimension,
        };
        ck_assert_msg(encoder_embed(e, &ask, &err) == ERR_OK, "%s", err.message);
        ck_assert_uint_ge(ask.tokens, 2 * ask.n);
    }
}

/* All at once, and one by one: what a text is batched with makes no difference. */
static void expect_golden(const char *dir, const char *name, const char *dtype, const char *pooling)
{
    struct encoder *e = opened(dir);
    const struct encoder_about *about = encoder_about(e);
    struct golden_texts texts = golden_texts(arena);
    struct golden_numbers golden = golden_vectors(arena, name);
    size_t count = (size_t)texts.n * about->dimension;
    float *together = ARENA_ARRAY(arena, float, count), *apart = ARENA_ARRAY(arena, float, count);
    double least = 1, closest = 1;
    ck_assert_str_eq(about->dtype, dtype);
    ck_assert_str_eq(about->pooling, pooling);
    ck_assert_uint_eq(texts.n, 500);
    ck_assert_uint_eq(golden.n, texts.n);
    ck_assert_uint_eq(golden.dimension, about->dimension);
    embed(e, &texts, texts.n, together);
    embed(e, &texts, 1, apart);
    for (uint32_t i = 0; i < texts.n; i++) {
        size_t at = (size_t)i * about->dimension;
        double is = cosine(together + at, golden.at + at, about->dimension);
        double same = cosine(together + at, apart + at, about->dimension);
        double norm = cosine(apart + at, apart + at, about->dimension);
        ck_assert_msg(is >= 0.9999, "text %u: cosine %.7f", i, is);
        ck_assert_msg(same >= 0.99999, "text %u alone: cosine %.7f", i, same);
        ck_assert_double_eq_tol(norm, 1, 1e-6);
        least = is < least ? is : least;
        closest = same < closest ? same : closest;
    }
    (void)printf(
        "%s: least cosine with the reference %.8f, of a text alone with it in a batch %.8f\n", name,
        least, closest);
    encoder_close(e);
}

START_TEST(mean_f32)
{
    expect_golden(GOLDEN_DIR "/tiny-bert-mean", "tiny-bert-mean.vectors.bin", "f32", "mean");
}
END_TEST

START_TEST(cls_bf16)
{
    expect_golden(GOLDEN_DIR "/tiny-bert-cls", "tiny-bert-cls.vectors.bin", "bf16", "cls");
}
END_TEST

START_TEST(the_default_model)
{
    expect_golden(golden_minilm(), "all-MiniLM-L6-v2.vectors.bin", "f32", "mean");
}
END_TEST

/* The query is the same in no two pairs that follow each other, so each is a call. */
START_TEST(logits_f16)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-cross");
    struct golden_texts pairs = golden_pairs(arena);
    struct golden_numbers golden = golden_logits(arena, "tiny-cross.logits.bin");
    double most = 0;
    ck_assert(encoder_about(e)->has_head);
    ck_assert_str_eq(encoder_about(e)->dtype, "f16");
    ck_assert_uint_eq(golden.n, 200);
    ck_assert_uint_eq(pairs.n, 2 * golden.n);
    for (uint32_t i = 0; i < golden.n; i++) {
        struct err err;
        float logit;
        struct encoder_pairs ask = {.query = pairs.at[(size_t)2 * i],
                                    .documents = &pairs.at[(size_t)2 * i + 1],
                                    .n = 1,
                                    .logits = &logit};
        ck_assert_msg(encoder_score(e, &ask, &err) == ERR_OK, "%s", err.message);
        double off = fabs((double)logit - (double)golden.at[i]);
        ck_assert_msg(off <= 1e-3, "pair %u: %.5f, not %.5f", i, (double)logit,
                      (double)golden.at[i]);
        most = off > most ? off : most;
    }
    (void)printf("tiny-cross.logits.bin: greatest distance %.2g\n", most);
    encoder_close(e);
}
END_TEST

/* All documents of one query in one call give what they give one by one. */
START_TEST(documents_together)
{
    enum { DOCUMENTS = 200 };
    struct encoder *e = opened(GOLDEN_DIR "/tiny-cross");
    struct golden_texts pairs = golden_pairs(arena);
    struct str documents[DOCUMENTS];
    float together[DOCUMENTS], apart;
    struct err err;
    for (uint32_t i = 0; i < DOCUMENTS; i++)
        documents[i] = pairs.at[(size_t)2 * i + 1];
    for (uint32_t query = 0; query < 10; query++) {
        struct encoder_pairs ask = {.query = pairs.at[(size_t)2 * query],
                                    .documents = documents,
                                    .n = DOCUMENTS,
                                    .logits = together};
        ck_assert_int_eq(encoder_score(e, &ask, &err), ERR_OK);
        for (uint32_t i = 0; i < DOCUMENTS; i += 7) {
            ask.documents = &documents[i];
            ask.n = 1;
            ask.logits = &apart;
            ck_assert_int_eq(encoder_score(e, &ask, &err), ERR_OK);
            ck_assert_float_eq_tol(apart, together[i], 1e-4f);
        }
    }
    encoder_close(e);
}
END_TEST

Suite *suite_encoder_golden(void)
{
    Suite *suite = suite_create("encoder_golden");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, mean_f32);
    tcase_add_test(all, cls_bf16);
    tcase_add_test(all, the_default_model);
    tcase_add_test(all, logits_f16);
    tcase_add_test(all, documents_together);
    suite_add_tcase(suite, all);
    return suite;
}
