/* Every table of row operations against the scalar one: all lengths 0 to 130 and some real
 * dimensions, odd alignment, what lies around the rows, NaN and infinities; and the scalar one
 * against plain arithmetic. */
#include "core/model/builtin/kernels/kernels.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 1536, SHORT = 130, SHIFTS = 3, ROWS_MOST = 8, GUARD = 16 };
#define UNTOUCHED 12345.0f

static const struct rowops *const ref = &rowops__scalar;
static uint64_t seed;

static uint32_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 32);
}

static float random_float(float most)
{
    return (float)(int32_t)next_random() / 2147483648.0f * most;
}

static void fill(float *x, size_t n, float most)
{
    for (size_t i = 0; i < n; i++)
        x[i] = random_float(most);
}

static size_t next_length(size_t n)
{
    static const size_t longer[] = {384, 768, LONGEST};
    if (n < SHORT)
        return n + 1;
    for (size_t i = 0; i < 3; i++) {
        if (longer[i] > n)
            return longer[i];
    }
    return SIZE_MAX;
}

#define EACH_LENGTH(n, first) (size_t n = (first); n != SIZE_MAX; n = next_length(n))
#define EACH_TABLE(k) (size_t k##_i = 0; (k = rowops_at(k##_i)) != NULL; k##_i++)

/* Asserts are slow: only where one would fail. */
static void near(float is, float should, float tolerance, const char *name, size_t n)
{
    bool good = fabsf(is - should) <= tolerance;
    if (isnan(should) || isinf(should))
        good = isnan(should) ? isnan(is) : is == should;
    if (!good)
        ck_abort_msg("%s, n %zu: %.9g, not %.9g", name, n, (double)is, (double)should);
}

static void all_near(const float *is, const float *should, size_t n, float tolerance,
                     const char *name)
{
    for (size_t i = 0; i < n; i++)
        near(is[i], should[i], tolerance, name, n);
    ck_assert(is[n] == UNTOUCHED);
}

/* The same row twice, `shift` floats off its alignment, with a guard behind it. */
struct twin {
    float mine[LONGEST + GUARD], other[LONGEST + GUARD];
};

static void twin_fill(struct twin *t, size_t shift, size_t n, float most)
{
    fill(t->mine + shift, n, most);
    t->mine[shift + n] = UNTOUCHED;
    memcpy(t->other, t->mine, sizeof t->other);
}

START_TEST(one_is_chosen)
{
    const struct rowops *best = rowops_choose(NULL), *k = NULL;
    ck_assert_ptr_nonnull(best);
    ck_assert_ptr_eq(rowops_choose("auto"), best);
    ck_assert_ptr_eq(rowops_choose("scalar"), ref);
    ck_assert_ptr_eq(rowops_at(0), ref);
    ck_assert_ptr_null(rowops_choose("avx9"));
    ck_assert_ptr_null(rowops_choose(""));
    for
        EACH_TABLE(k)
    ck_assert_ptr_eq(rowops_choose(k->name), k);
#if defined(__x86_64__) || defined(__i386__)
    bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("f16c");
    ck_assert_ptr_eq(rowops_choose("avx2"), has ? &rowops__avx2 : NULL);
#endif
}
END_TEST

START_TEST(activations)
{
    static struct twin x, bias;
    const struct rowops *k;
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n, 0)
            {
                for (int a = 0; a < ROWOP_ACTIVATIONS; a++) {
                    size_t shift = n % SHIFTS;
                    twin_fill(&x, shift, n, 12);
                    twin_fill(&bias, shift, n, 1);
                    k->activate[a](x.mine + shift, bias.mine + shift, n);
                    ref->activate[a](x.other + shift, bias.other + shift, n);
                    all_near(x.mine + shift, x.other + shift, n, 2e-6f, k->name);
                }
            }
        }
}
END_TEST

/* The scalar ones by the definitions, and all of them where functions bend or end. */
START_TEST(values_of_activations)
{
    static const struct {
        float x, gelu, gelu_tanh, relu;
    } rows[] = {
        {0, 0, 0, 0},
        {1, 0.84134475f, 0.84119199f, 1},
        {-1, -0.15865525f, -0.15880801f, 0},
        {3, 2.99595031f, 2.99636261f, 3},
        {-3, -0.00404969f, -0.00363739f, 0},
        {30, 30, 30, 30},
        {-30, 0, 0, 0},
        {1e30f, 1e30f, 1e30f, 1e30f},
        {-1e30f, 0, 0, 0},
        {NAN, NAN, NAN, NAN},
    };
    const struct rowops *k;
    for
        EACH_TABLE(k)
        {
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const float should[] = {rows[i].gelu, rows[i].gelu_tanh, rows[i].relu};
                for (int a = 0; a < ROWOP_ACTIVATIONS; a++) {
                    float x[9] = {0}, bias[9] = {0};
                    for (size_t j = 0; j < 9; j++)
                        x[j] = rows[i].x;
                    k->activate[a](x, bias, 9);
                    near(x[0], should[a], 1e-6f, k->name, i); /* in a full step, */
                    near(x[8], should[a], 1e-6f, k->name, i); /* and in the rest */
                }
            }
        }
}
END_TEST

START_TEST(norms)
{
    static struct twin x, bias, gain, shift;
    const struct rowops *k;
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n, 1)
            {
                size_t off = n % SHIFTS;
                twin_fill(&x, off, n, 4);
                twin_fill(&bias, off, n, 1);
                twin_fill(&gain, off, n, 2);
                twin_fill(&shift, off, n, 1);
                const float *add = n % 2 == 0 ? bias.mine + off : NULL;
                const struct rowop_norm norm = {gain.mine + off, shift.mine + off, 1e-5f};
                k->normalise(x.mine + off, add, &norm, n);
                ref->normalise(x.other + off, add, &norm, n);
                all_near(x.mine + off, x.other + off, n, 2e-5f, k->name);
            }
        }
}
END_TEST

START_TEST(a_norm_by_hand)
{
    float x[4] = {1, 2, 3, 6}, gain[4] = {1, 1, 2, 1}, shift[4] = {0, 0, 0, 10};
    const struct rowop_norm norm = {gain, shift, 0.5f};
    ref->normalise(x, NULL, &norm, 4); /* mean 3, variance 3.5, plus a half: 4 */
    near(x[0], -1, 1e-6f, "norm", 0);
    near(x[1], -0.5f, 1e-6f, "norm", 1);
    near(x[2], 0, 1e-6f, "norm", 2);
    near(x[3], 11.5f, 1e-6f, "norm", 3);
}
END_TEST

START_TEST(weights_of_attention)
{
    static struct twin x;
    const struct rowops *k;
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n, 1)
            {
                size_t shift = n % SHIFTS;
                double sum = 0;
                twin_fill(&x, shift, n, 40);
                if (n % 3 == 0)
                    x.mine[shift + n / 2] = x.other[shift + n / 2] = -INFINITY;
                k->softmax(x.mine + shift, 0.25f, n);
                ref->softmax(x.other + shift, 0.25f, n);
                all_near(x.mine + shift, x.other + shift, n, 1e-6f, k->name);
                for (size_t i = 0; i < n; i++)
                    sum += (double)x.mine[shift + i];
                near((float)sum, 1, 1e-5f, k->name, n);
            }
        }
    float even[3] = {5, 5, 5}, odd[2] = {0, 0.69314718f};
    ref->softmax(even, 1, 3);
    ref->softmax(odd, 1, 2);
    near(even[0], 1.0f / 3, 1e-7f, "softmax", 3);
    near(odd[1], 2.0f / 3, 1e-7f, "softmax", 2);
}
END_TEST

/* A NaN stays in sight, wherever in the row it stands. */
START_TEST(nan_is_kept)
{
    const struct rowops *k;
    for
        EACH_TABLE(k)
        {
            for (size_t n = 1; n < 40; n++) {
                float x[40], gain[40] = {0}, shift[40] = {0};
                const struct rowop_norm norm = {gain, shift, 1};
                fill(x, n, 1);
                x[n - 1] = NAN;
                k->normalise(x, NULL, &norm, n);
                ck_assert_msg(isnan(x[0]), "%s, n %zu", k->name, n);
                fill(x, n, 1);
                x[n / 2] = NAN;
                k->softmax(x, 1, n);
                ck_assert_msg(isnan(x[n / 2]), "%s, n %zu", k->name, n);
            }
        }
}
END_TEST

static float many_x[(ROWS_MOST + 1) * (LONGEST + GUARD)],
    many_w[(ROWS_MOST + 1) * (LONGEST + GUARD)];
static float mine[ROWS_MOST * (ROWS_MOST + GUARD)], other[ROWS_MOST * (ROWS_MOST + GUARD)];

static void compare_products(const struct rowops *k, size_t rows, size_t outs, size_t n)
{
    size_t gap = n % SHIFTS, out_step = outs + n % 5;
    struct rowop_product p = {.x = many_x + gap,
                              .x_step = n + gap,
                              .rows = rows,
                              .w = many_w + gap,
                              .w_step = n + (n % 4 == 0 ? 0 : gap),
                              .outs = outs,
                              .n = n,
                              .out_step = out_step,
                              .add = n % 2 == 0};
    for (size_t i = 0; i < sizeof mine / sizeof mine[0]; i++)
        mine[i] = other[i] = (float)(i % 7);
    p.out = mine;
    k->product(&p);
    p.out = other;
    ref->product(&p);
    /* what lies between and behind the rows, too */
    for (size_t i = 0; i < sizeof mine / sizeof mine[0]; i++)
        near(mine[i], other[i], 1e-4f, k->name, n);
}

START_TEST(products)
{
    const struct rowops *k;
    fill(many_x, sizeof many_x / sizeof many_x[0], 1);
    fill(many_w, sizeof many_w / sizeof many_w[0], 1);
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n, 0)
            {
                for (size_t rows = 0; rows <= ROWS_MOST; rows++)
                    compare_products(k, rows, (rows * 5 + n) % (ROWS_MOST + 1), n);
            }
        }
}
END_TEST

static void compare_mixes(const struct rowops *k, size_t rows, size_t n, size_t width)
{
    static float one[ROWS_MOST * (LONGEST + GUARD)], two[ROWS_MOST * (LONGEST + GUARD)];
    size_t gap = width % SHIFTS, count = ROWS_MOST * (width + GUARD);
    struct rowop_mix m = {.p = many_x + gap,
                          .p_step = n + gap,
                          .rows = rows,
                          .v = many_w + gap,
                          .v_step = width + gap,
                          .n = n,
                          .width = width,
                          .out_step = width + 3};
    for (size_t i = 0; i < count; i++)
        one[i] = two[i] = (float)(i % 7);
    m.out = one;
    k->mix(&m);
    m.out = two;
    ref->mix(&m);
    for (size_t i = 0; i < count; i++)
        near(one[i], two[i], 1e-4f, k->name, width);
}

START_TEST(mixes)
{
    const struct rowops *k;
    fill(many_x, sizeof many_x / sizeof many_x[0], 1);
    fill(many_w, sizeof many_w / sizeof many_w[0], 1);
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(width, 0)
            {
                for (size_t rows = 0; rows <= ROWS_MOST; rows++)
                    compare_mixes(k, rows, (rows + width) % ROWS_MOST, width);
            }
        }
}
END_TEST

START_TEST(sums_and_scales)
{
    static struct twin x, y;
    const struct rowops *k;
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n, 0)
            {
                size_t shift = n % SHIFTS;
                twin_fill(&x, shift, n, 3);
                twin_fill(&y, shift, n, 3);
                k->add(x.mine + shift, y.mine + shift, n);
                ref->add(x.other + shift, y.other + shift, n);
                all_near(x.mine + shift, x.other + shift, n, 0, k->name);
                k->scale(x.mine + shift, 0.3f, n);
                ref->scale(x.other + shift, 0.3f, n);
                all_near(x.mine + shift, x.other + shift, n, 0, k->name);
            }
        }
}
END_TEST

/* All numbers of sixteen bits, of both kinds; bit for bit, but that a NaN need only be one. */
START_TEST(halves)
{
    enum { ALL = 1 << 16 };
    static uint16_t bits[ALL];
    static float one[ALL], two[ALL];
    const struct rowops *k;
    for (uint32_t i = 0; i < ALL; i++)
        bits[i] = (uint16_t)i;
    for
        EACH_TABLE(k)
        {
            k->widen_f16(one, bits, ALL);
            ref->widen_f16(two, bits, ALL);
            for (uint32_t i = 0; i < ALL; i++)
                ck_assert(isnan(two[i]) ? isnan(one[i]) : memcmp(&one[i], &two[i], 4) == 0);
            k->widen_bf16(one, bits, ALL);
            ref->widen_bf16(two, bits, ALL);
            ck_assert_int_eq(memcmp(one, two, sizeof one), 0);
            for (size_t n = 0; n < 20; n++) { /* rests */
                one[n] = UNTOUCHED;
                k->widen_f16(one, bits + 0x3c00, n);
                ck_assert(one[n] == UNTOUCHED && (n == 0 || one[0] == 1));
                k->widen_bf16(one, bits + 0x3f80, n);
                ck_assert(one[n] == UNTOUCHED && (n == 0 || one[0] == 1));
            }
        }
    ref->widen_f16(one, bits, ALL);
    ck_assert(one[0x3c00] == 1 && one[0xc000] == -2 && one[0x7bff] == 65504);
    ck_assert(one[1] == 0x1p-24f && one[0x8001] == -0x1p-24f && one[0x0400] == 0x1p-14f);
    ck_assert(isinf(one[0x7c00]) && isnan(one[0x7c01]) && signbit(one[0x8000]) != 0);
}
END_TEST

Suite *suite_rowops(void)
{
    Suite *suite = suite_create("rowops");
    TCase *all = tcase_create("all");
    tcase_add_test(all, one_is_chosen);
    tcase_add_test(all, activations);
    tcase_add_test(all, values_of_activations);
    tcase_add_test(all, norms);
    tcase_add_test(all, a_norm_by_hand);
    tcase_add_test(all, weights_of_attention);
    tcase_add_test(all, nan_is_kept);
    tcase_add_test(all, products);
    tcase_add_test(all, mixes);
    tcase_add_test(all, sums_and_scales);
    tcase_add_test(all, halves);
    suite_add_tcase(suite, all);
    return suite;
}
