#include "core/base/hash.h"

#include <check.h>

/* What is on disk depends on these for ever; the values of "" are those of the XXH3 documents. */
START_TEST(values_are_stable)
{
    ck_assert(hash64(STR("")) == UINT64_C(0x2d06800538d394c2));
    ck_assert(hash64(STR("a")) == UINT64_C(0xe6c632b61e964e1f));
    ck_assert(hash64(STR("hypermem")) == UINT64_C(0xbc6fc19f73b33354));
    ck_assert(hash64(STR("北京")) == UINT64_C(0x25e0bd0fa0da6684));
    struct hash128 h = hash128(STR(""));
    ck_assert(h.low == UINT64_C(0x6001c324468d497f) && h.high == UINT64_C(0x99aa06d3014798d8));
    h = hash128(STR("hypermem"));
    ck_assert(h.low == UINT64_C(0x6aed863a1283ae90) && h.high == UINT64_C(0xe75fe11c589c68af));
    h = hash128_add((struct hash128){0, 0}, STR("a"));
    ck_assert(h.low == UINT64_C(0x679040c1d7b7f789) && h.high == UINT64_C(0xe379a4b2c8243826));
    h = hash128_add(h, STR("b"));
    ck_assert(h.low == UINT64_C(0x7578ebc51544d041) && h.high == UINT64_C(0x93201a5eb1b18b94));
}
END_TEST

static struct hash128 digest(struct str a, struct str b)
{
    return hash128_add(hash128_add((struct hash128){0, 0}, a), b);
}

START_TEST(digests_know_order_and_lengths)
{
    struct hash128 one = digest(STR("ab"), STR("c")), other = digest(STR("a"), STR("bc")),
                   turned = digest(STR("c"), STR("ab")), none = digest(STR("abc"), STR(""));
    ck_assert(one.low != other.low && one.low != turned.low && one.low != none.low);
    ck_assert(hash64(STR_NONE) == hash64(STR("")));
}
END_TEST

Suite *suite_hash(void)
{
    Suite *suite = suite_create("hash");
    TCase *tc = tcase_create("hash");
    tcase_add_test(tc, values_are_stable);
    tcase_add_test(tc, digests_know_order_and_lengths);
    suite_add_tcase(suite, tc);
    return suite;
}
