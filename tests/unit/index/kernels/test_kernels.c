/* Every table of kernels against the scalar one: all lengths 0 to 130 and some real dimensions, odd
 * alignment, NaN, infinities, denormals; and the scalar one against plain arithmetic. */
#include "core/index/kernels/kernels.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

enum { LONGEST = 1024, SHORT = 130, ROWS = 5, GUARD = 64, SHIFTS = 4 };

static const struct kernels *const ref = &kernels__scalar;

static uint64_t seed;

static uint32_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 32);
}

static float random_float(void)
{
    return (float)(int32_t)next_random() / 2147483648.0f;
}

/* -127 .. 127 with both ends frequent: sums of pairs must not saturate. */
static int8_t random_i8(void)
{
    uint32_t r = next_random();
    if (r % 4 == 0)
        return (int8_t)((r & 16) != 0 ? KERNELS_INT8 : -KERNELS_INT8);
    return (int8_t)((int)(r >> 8) % (KERNELS_INT8 + 1) * ((r & 16) != 0 ? 1 : -1));
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

#define EACH_LENGTH(n) (size_t n = 0; n != SIZE_MAX; n = next_length(n))
#define EACH_TABLE(k) (size_t k##_i = 0; (k = kernels_at(k##_i)) != NULL; k##_i++)

/* What is lent to the kernels: random, each array `shift` bytes or floats off its alignment. */
static int8_t bytes_a[ROWS * LONGEST + GUARD], bytes_b[2 * LONGEST + GUARD];
static float floats_a[LONGEST + GUARD], floats_b[LONGEST + GUARD];

static void fill(void)
{
    seed = 42;
    for (size_t i = 0; i < sizeof bytes_a; i++)
        bytes_a[i] = random_i8();
    for (size_t i = 0; i < sizeof bytes_b; i++)
        bytes_b[i] = random_i8();
    for (size_t i = 0; i < LONGEST + GUARD; i++) {
        floats_a[i] = random_float();
        floats_b[i] = random_float();
    }
}

/* Asserts are slow: only where one would fail. */
static void near(float is, float should, float scale, const char *name, size_t n)
{
    bool good = fabsf(is - should) <= scale * 4e-7f;
    if (isnan(should) || isinf(should))
        good = isnan(should) ? isnan(is) : is == should;
    if (!good)
        ck_abort_msg("%s, n %zu: %.9g, not %.9g", name, n, (double)is, (double)should);
}

START_TEST(one_is_chosen)
{
    const struct kernels *best = kernels_choose(NULL), *k = NULL;
    ck_assert_ptr_nonnull(best);
    ck_assert_ptr_eq(kernels_choose("auto"), best);
    ck_assert_ptr_eq(kernels_choose("scalar"), ref);
    ck_assert_ptr_eq(kernels_at(0), ref);
    ck_assert_ptr_null(kernels_choose("avx9"));
    ck_assert_ptr_null(kernels_choose(""));
    for
        EACH_TABLE(k)
    ck_assert_ptr_eq(kernels_choose(k->name), k);
#if defined(__x86_64__) || defined(__i386__)
    bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    ck_assert_ptr_eq(kernels_choose("avx2"), has ? &kernels__avx2 : NULL);
#endif
}
END_TEST

START_TEST(products_of_integers)
{
    const struct kernels *k;
    fill();
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n)
            {
                for (size_t shift = 0; shift < SHIFTS; shift++) {
                    const int8_t *a = bytes_a + shift, *b = bytes_b + 2 * shift + 1;
                    int32_t plain = 0;
                    for (size_t i = 0; i < n; i++)
                        plain += a[i] * b[i];
                    ck_assert_int_eq(k->dot_i8(a, b, n), plain);
                }
            }
        }
}
END_TEST

START_TEST(products_of_the_extremes_do_not_saturate)
{
    const struct kernels *k;
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n)
            {
                memset(bytes_a, KERNELS_INT8, sizeof bytes_a);
                memset(bytes_b, -KERNELS_INT8, sizeof bytes_b);
                ck_assert_int_eq(k->dot_i8(bytes_a, bytes_a, n), (int32_t)n * 127 * 127);
                ck_assert_int_eq(k->dot_i8(bytes_a, bytes_b, n), -(int32_t)n * 127 * 127);
                ck_assert_int_eq(k->dot_i8(bytes_b, bytes_b, n), (int32_t)n * 127 * 127);
            }
        }
}
END_TEST

/* As large as their sum allows. */
static void fill_words(int16_t *words, size_t n)
{
    int32_t most = n == 0 || 16900000 / n > INT16_MAX ? INT16_MAX : (int32_t)(16900000 / n);
    for (size_t i = 0; i < n; i++)
        words[i] = (int16_t)(next_random() % 2 == 0 ? most : -(int32_t)(next_random() % most));
}

/* Rows that come next are asked for, never read. */
START_TEST(rows_are_products_with_a_wide_query)
{
    static int16_t words[LONGEST + GUARD];
    const size_t size = (size_t)1 << 21;
    int8_t *nowhere = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct kernels *k;
    ck_assert_ptr_ne(nowhere, MAP_FAILED);
    fill();
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n)
            {
                float out[ROWS + 1];
                const int8_t *rows = bytes_a + n % SHIFTS;
                const struct kernel_query q = {words + n % 3, n, 0.25f};
                const struct kernel_rows all = {rows, ROWS, nowhere, n % 2 == 0 ? 1000 : 0};
                fill_words(words + n % 3, n);
                out[ROWS] = 77;
                k->dot_rows(&q, &all, out);
                for (size_t row = 0; row < ROWS; row++) {
                    int64_t sum = 0;
                    for (size_t i = 0; i < n; i++)
                        sum += (int64_t)rows[row * n + i] * q.values[i];
                    ck_assert(out[row] == 0.25f * (float)sum);
                }
                ck_assert(out[ROWS] == 77);
            }
        }
    ck_assert_int_eq(munmap(nowhere, size), 0);
}
END_TEST

/* Each row that follows is asked for once, in its order: those of the block, then those behind. */
START_TEST(what_is_asked_for_ahead)
{
    enum { WIDTH = 64, BLOCK = 10, NEXT = 4, FARTHER = 7 };
    const struct kernel_rows rows = {bytes_a, BLOCK, bytes_b, NEXT};
    for (size_t row = 0; row < BLOCK; row++) {
        const int8_t *ahead = kernels__ahead(&rows, WIDTH, row, FARTHER);
        size_t to = row + FARTHER;
        if (to < BLOCK)
            ck_assert_ptr_eq(ahead, bytes_a + to * WIDTH);
        else if (to < BLOCK + NEXT)
            ck_assert_ptr_eq(ahead, bytes_b + (to - BLOCK) * WIDTH);
        else
            ck_assert_ptr_eq(ahead, bytes_a + row * WIDTH);
    }
}
END_TEST

START_TEST(the_largest_sums_of_a_wide_query)
{
    static int16_t words[LONGEST + GUARD];
    const struct kernels *k;
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n)
            {
                float out;
                int32_t most = n < 512 ? INT16_MAX : (int32_t)(16900000 / n);
                const struct kernel_query q = {words, n, 1};
                const struct kernel_rows one = {.values = bytes_a, .n = 1};
                memset(bytes_a, -KERNELS_INT8, sizeof bytes_a);
                for (size_t i = 0; i < n; i++)
                    words[i] = (int16_t)most;
                k->dot_rows(&q, &one, &out);
                ck_assert(out == (float)(-(int64_t)n * most * KERNELS_INT8));
            }
        }
}
END_TEST

static void compare_sums(const struct kernels *k, size_t n, size_t shift)
{
    const float *a = floats_a + shift, *b = floats_b + shift + 1;
    const int8_t *i8 = bytes_a + shift;
    float size = 1;
    for (size_t i = 0; i < n; i++)
        size += fabsf(a[i] * b[i]);
    near(k->dot_f32(a, b, n), ref->dot_f32(a, b, n), size, k->name, n);
    near(k->norm2(a, n), ref->norm2(a, n), (float)n + 1, k->name, n);
    near(k->dot_i8_f32(i8, b, n), ref->dot_i8_f32(i8, b, n), (float)n * KERNELS_INT8 + 1, k->name,
         n);
}

static void compare_updates(const struct kernels *k, size_t n, size_t shift)
{
    static float is[LONGEST + GUARD], should[LONGEST + GUARD];
    const float *a = floats_a + shift;
    memcpy(is, floats_b, sizeof is);
    memcpy(should, floats_b, sizeof should);
    k->axpy(is + shift, 0.37f, a, n);
    ref->axpy(should + shift, 0.37f, a, n);
    for (size_t i = 0; i < LONGEST + GUARD; i++)
        near(is[i], should[i], 1, k->name, n);
    k->axpy_i8(is + shift, 0.01f, bytes_a + shift, n);
    ref->axpy_i8(should + shift, 0.01f, bytes_a + shift, n);
    for (size_t i = 0; i < LONGEST + GUARD; i++)
        near(is[i], should[i], 2, k->name, n);
    memcpy(is, should, sizeof is);
    k->scale(is + shift, -1.7f, n);
    ref->scale(should + shift, -1.7f, n);
    for (size_t i = 0; i < LONGEST + GUARD; i++)
        near(is[i], should[i], 0, k->name, n);
}

START_TEST(floats_agree)
{
    const struct kernels *k;
    fill();
    for
        EACH_TABLE(k)
        {
        for
            EACH_LENGTH(n)
            {
                for (size_t shift = 0; shift < SHIFTS; shift++) {
                    compare_sums(k, n, shift);
                    compare_updates(k, n, shift);
                }
            }
        }
}
END_TEST

/* Some are none, some have no edge, of some node and edges nearly cancel out. */
static void fill_sides(float *scores, float *sums, float *along, float *across, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t kind = next_random() % 8;
        scores[i] = kind == 0 ? -2 : random_float();
        sums[i] = kind == 1 ? 0 : 3 * random_float();
        along[i] = kind == 1 ? 0 : kind == 2 ? -2 : random_float() / 4;
        across[i] = kind == 1 ? 0 : kind == 2 ? 4 : 1 + random_float() / 2;
    }
}

/* Against the formula; what is none, and what is behind the end, stays. */
START_TEST(edges_are_added_as_the_formula_says)
{
    static float scores[SHORT + GUARD], sums[SHORT], along[SHORT], across[SHORT], is[SHORT + GUARD];
    const float lambdas[] = {0, 0.5f, 2};
    const struct kernels *k;
    size_t outside = 0, cancelled = 0, none = 0;
    for
        EACH_TABLE(k)
        {
            for (size_t n = 0; n <= SHORT; n++) {
                const struct kernel_sides sides = {sums, along, across, lambdas[n % 3]};
                double lambda = (double)sides.lambda;
                fill_sides(scores, sums, along, across, n);
                memcpy(is, scores, sizeof is);
                is[n] = 77;
                k->propagate(&sides, is, n);
                ck_assert(is[n] == 77);
                for (size_t i = 0; i < n; i++) {
                    double norm2 =
                        1 + 2 * lambda * (double)along[i] + lambda * lambda * (double)across[i];
                    double x = ((double)scores[i] + lambda * (double)sums[i]) / sqrt(norm2);
                    none += scores[i] < -1;
                    outside += fabs(x) > 1;
                    cancelled += norm2 < KERNELS_NORM_LEAST;
                    x = norm2 < KERNELS_NORM_LEAST ? 0 : x > 1 ? 1 : x < -1 ? -1 : x;
                    near(is[i], scores[i] < -1 ? -2 : (float)x, 0.5f, k->name, n);
                }
            }
        }
    ck_assert(none != 0 && outside != 0 && cancelled != 0);
}
END_TEST

START_TEST(no_edges_change_nothing_and_no_number_stays_none)
{
    const float none[] = {0, 0, 0, 0, 0};
    const struct kernel_sides sides = {none, none, none, 0.5f};
    const struct kernels *k;
    for
        EACH_TABLE(k)
        {
            float is[5] = {0.5f, 0.25f, -1, 1, 0};
            k->propagate(&sides, is, 5);
            ck_assert(is[0] == 0.5f && is[1] == 0.25f && is[2] == -1 && is[3] == 1 && is[4] == 0);
            const float nan[] = {0, NAN, 0, 0, NAN};
            const struct kernel_sides broken = {nan, none, none, 0.5f};
            k->propagate(&broken, is, 5);
            ck_assert(is[0] == 0.5f && isnan(is[1]) && is[2] == -1 && is[3] == 1 && isnan(is[4]));
        }
}
END_TEST

/* Bit for bit, and never outside -127 .. 127. */
static void compare_quantised(const float *x, size_t n)
{
    static int8_t is[LONGEST + GUARD], should[LONGEST + GUARD];
    const struct kernels *k;
    for
        EACH_TABLE(k)
        {
            memset(is, 99, sizeof is);
            memset(should, 99, sizeof should);
            float scale = k->quantise(x, n, is + 1);
            ck_assert(scale == ref->quantise(x, n, should + 1));
            ck_assert_int_eq(memcmp(is, should, sizeof is), 0);
            bool good = true;
            for (size_t i = 1; i <= n; i++)
                good = good && is[i] >= -KERNELS_INT8 &&
                       (fabsf((float)is[i] * scale - x[i - 1]) <= 0.5001f * scale || scale == 0);
            ck_assert(good);
        }
}

START_TEST(quantised_alike)
{
    fill();
    for
        EACH_LENGTH(n)
        {
            for (size_t shift = 0; shift < SHIFTS; shift++)
                compare_quantised(floats_a + shift, n);
        }
}
END_TEST

START_TEST(the_greatest_becomes_127)
{
    int8_t out[3];
    const struct kernels *k;
    const float sizes[] = {1, 3e38f, 1e-20f, 0x1p-99f, FLT_MAX};
    for
        EACH_TABLE(k)
        {
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                const float x[3] = {sizes[i] / 2, -sizes[i], 0};
                ck_assert(k->quantise(x, 3, out) > 0);
                ck_assert_int_eq(out[0], 64); /* 63.5 to even */
                ck_assert_int_eq(out[1], -127);
                ck_assert_int_eq(out[2], 0);
            }
        }
}
END_TEST

START_TEST(what_is_no_vector_becomes_nothing)
{
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    const struct kernels *k;
    int8_t out[SHORT];
    float x[SHORT];
    for
        EACH_TABLE(k)
        {
            for (size_t n = 1; n < SHORT; n++) {
                for (size_t i = 0; i < n; i++)
                    x[i] = random_float();
                x[next_random() % n] = bad[n % 4];
                memset(out, 1, sizeof out);
                ck_assert(k->quantise(x, n, out) == 0);
                bool zero = true;
                for (size_t i = 0; i < n; i++)
                    zero = zero && out[i] == 0;
                ck_assert(zero);
                ck_assert_int_eq(out[n], 1);
                for (size_t i = 0; i < n; i++)
                    x[i] = (float)(i + 1) * FLT_TRUE_MIN;
                ck_assert(k->quantise(x, n, out) == 0);
                ck_assert_int_eq(out[n - 1], 0);
            }
            ck_assert(k->quantise(x, 0, out) == 0);
        }
}
END_TEST

/* One strange value at each place: the sums become what IEEE 754 says, in whatever order. */
START_TEST(strange_values_are_summed_as_they_are)
{
    const float strange[] = {NAN, INFINITY, -INFINITY, FLT_TRUE_MIN, -FLT_MIN / 4};
    const struct kernels *k;
    float x[SHORT], y[SHORT], z[SHORT];
    for
        EACH_TABLE(k)
        {
            for (size_t n = 1; n < SHORT; n++) {
                for (size_t i = 0; i < n; i++) {
                    x[i] = random_float();
                    y[i] = z[i] = 0.5f + random_float() / 4;
                }
                x[next_random() % n] = strange[n % 5];
                near(k->dot_f32(x, y, n), ref->dot_f32(x, y, n), (float)n, k->name, n);
                near(k->norm2(x, n), ref->norm2(x, n), (float)n, k->name, n);
                near(k->dot_i8_f32(bytes_a, x, n), ref->dot_i8_f32(bytes_a, x, n), 127 * (float)n,
                     k->name, n);
                k->axpy(y, 2, x, n);
                ref->axpy(z, 2, x, n);
                for (size_t i = 0; i < n; i++)
                    near(y[i], z[i], 4, k->name, n);
            }
        }
}
END_TEST

/* Denormals are not flushed to zero. */
START_TEST(denormals_count)
{
    const struct kernels *k;
    float x[SHORT], y[SHORT];
    for
        EACH_TABLE(k)
        {
            for (size_t n = 1; n < SHORT; n++) {
                for (size_t i = 0; i < n; i++) {
                    x[i] = FLT_TRUE_MIN;
                    y[i] = 1;
                }
                ck_assert(k->dot_f32(x, y, n) == (float)n * FLT_TRUE_MIN);
                k->scale(x, 3, n);
                ck_assert(x[n - 1] == 3 * FLT_TRUE_MIN);
                k->axpy(x, 1, x, n);
                ck_assert(x[0] == 6 * FLT_TRUE_MIN);
            }
        }
}
END_TEST

Suite *suite_kernels(void)
{
    Suite *suite = suite_create("kernels");
    TCase *tcase = tcase_create("kernels");
    tcase_add_test(tcase, one_is_chosen);
    tcase_add_test(tcase, products_of_integers);
    tcase_add_test(tcase, products_of_the_extremes_do_not_saturate);
    tcase_add_test(tcase, rows_are_products_with_a_wide_query);
    tcase_add_test(tcase, what_is_asked_for_ahead);
    tcase_add_test(tcase, the_largest_sums_of_a_wide_query);
    tcase_add_test(tcase, floats_agree);
    tcase_add_test(tcase, edges_are_added_as_the_formula_says);
    tcase_add_test(tcase, no_edges_change_nothing_and_no_number_stays_none);
    tcase_add_test(tcase, quantised_alike);
    tcase_add_test(tcase, the_greatest_becomes_127);
    tcase_add_test(tcase, what_is_no_vector_becomes_nothing);
    tcase_add_test(tcase, strange_values_are_summed_as_they_are);
    tcase_add_test(tcase, denormals_count);
    suite_add_tcase(suite, tcase);
    return suite;
}
