/* The nearest documents against sorting all of them: whatever the cosines are like, and however few
 * a filter lets through. */
#include <math.h>
#include <stdlib.h>

#include <check.h>

#include "core/recall/recall_int.h"

enum { DOCS = 5000, ARENA_BYTES = 1 << 20 };

static struct recall recall;
static float cosines[DOCS];
static uint32_t seed;

static float draw(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / (float)(1u << 24);
}

/* --- what cosines may be like --- */

static float spread(void)
{
    return 2 * draw() - 1;
}

static float narrow(void)
{
    return 0.7f + draw() / 4096;
}

static float equal(void)
{
    return 0.25f;
}

static float coarse(void)
{
    return floorf(draw() * 8) / 8;
}

static float tiny(void)
{
    return draw() * 1e-5f;
}

static float extreme(void)
{
    const float some[] = {1, -1, 0, VECTORS_ABSENT, NAN, 0x1p-149f, 0.999999f, 0.5f};
    return some[(uint32_t)(draw() * 8)];
}

static float (*const kinds[])(void) = {spread, narrow, equal, coarse, tiny, extreme};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* --- the reference --- */

static bool fits_every(uint32_t doc, uint32_t nth)
{
    return nth != 0 && doc % nth == 0;
}

static enum err_code fits(struct recall *r, uint32_t doc, const void *arg, bool *fine,
                          struct err *err)
{
    (void)r;
    (void)err;
    *fine = fits_every(doc, *(const uint32_t *)arg);
    return ERR_OK;
}

static int by_cosine(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (cosines[x] != cosines[y])
        return cosines[x] > cosines[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void compare(uint32_t n, uint32_t nth)
{
    static uint32_t wanted[DOCS];
    struct nearest near;
    struct err err;
    uint32_t n_wanted = 0;
    recall.arena = arena_new(ARENA_BYTES);
    recall.cosines[LAYER_FACT] = (struct vectors_scores){cosines, n};
    ck_assert_int_eq(
        recall__nearest(&recall, LAYER_FACT, nth == 1 ? NULL : fits, &nth, &near, &err), ERR_OK);
    for (uint32_t doc = 0; doc < n; doc++) {
        if (cosines[doc] > 0 && fits_every(doc, nth))
            wanted[n_wanted++] = doc;
    }
    qsort(wanted, n_wanted, sizeof *wanted, by_cosine);
    if (n_wanted > RECALL_NEAREST)
        n_wanted = RECALL_NEAREST;
    qsort(wanted, n_wanted, sizeof *wanted, by_number);
    ck_assert_uint_eq(near.n, n_wanted);
    qsort(near.docs, near.n, sizeof *near.docs, by_number);
    for (uint32_t i = 0; i < near.n; i++)
        ck_assert_uint_eq(near.docs[i], wanted[i]);
    arena_free(recall.arena);
}

START_TEST(they_are_those_that_sorting_gives)
{
    const uint32_t sizes[] = {0,    1,   RECALL_NEAREST - 1, RECALL_NEAREST, RECALL_NEAREST + 1,
                              1000, DOCS};
    const uint32_t parts[] = {0, 1, 2, 7, 60, DOCS};
    seed = 7;
    for (uint32_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (uint32_t doc = 0; doc < sizes[s]; doc++)
            cosines[doc] = kinds[_i]();
        for (uint32_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
            compare(sizes[s], parts[p]);
    }
}
END_TEST

static uint32_t looked_at;

static enum err_code count_looks(struct recall *r, uint32_t doc, const void *arg, bool *fine,
                                 struct err *err)
{
    (void)r;
    (void)doc;
    (void)arg;
    (void)err;
    looked_at++;
    *fine = true;
    return ERR_OK;
}

/* The filter reads rows: what ascends must not have every document looked at. */
START_TEST(few_others_are_looked_at)
{
    struct nearest near;
    struct err err;
    looked_at = 0;
    for (uint32_t doc = 0; doc < DOCS; doc++)
        cosines[doc] = (float)(doc + 1) / DOCS;
    recall.arena = arena_new(ARENA_BYTES);
    recall.cosines[LAYER_FACT] = (struct vectors_scores){cosines, DOCS};
    ck_assert_int_eq(recall__nearest(&recall, LAYER_FACT, count_looks, NULL, &near, &err), ERR_OK);
    ck_assert_uint_eq(near.n, RECALL_NEAREST);
    ck_assert_uint_le(looked_at, 2 * RECALL_NEAREST);
    arena_free(recall.arena);
}
END_TEST

static enum err_code break_off(struct recall *r, uint32_t doc, const void *arg, bool *fine,
                               struct err *err)
{
    (void)r;
    (void)arg;
    (void)fine;
    return err_set(err, ERR_INTERNAL, "document %u can't be read", doc);
}

START_TEST(what_fails_is_told)
{
    struct nearest near;
    struct err err;
    cosines[0] = 0.5f;
    recall.arena = arena_new(ARENA_BYTES);
    recall.cosines[LAYER_FACT] = (struct vectors_scores){cosines, 1};
    ck_assert_int_eq(recall__nearest(&recall, LAYER_FACT, break_off, NULL, &near, &err),
                     ERR_INTERNAL);
    arena_fail_after(recall.arena, 1);
    ck_assert_int_eq(recall__nearest(&recall, LAYER_FACT, NULL, NULL, &near, &err), ERR_EXHAUSTED);
    arena_free(recall.arena);
}
END_TEST

Suite *suite_recall_nearest(void);
Suite *suite_recall_nearest(void)
{
    Suite *suite = suite_create("recall_nearest");
    TCase *tc = tcase_create("nearest");
    tcase_add_loop_test(tc, they_are_those_that_sorting_gives, 0, KINDS);
    tcase_add_test(tc, few_others_are_looked_at);
    tcase_add_test(tc, what_fails_is_told);
    suite_add_tcase(suite, tc);
    return suite;
}
