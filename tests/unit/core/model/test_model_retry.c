#include <check.h>

#include "core/model/retry.h"
#include "core/model/tokens.h"

START_TEST(waits_are_spread_over_the_whole_span)
{
    int64_t span = RETRY_BASE_MS;
    for (uint32_t failures = 1; failures <= 12; failures++) {
        int64_t least = INT64_MAX;
        int64_t most = 0;
        int64_t sum = 0;
        for (uint64_t n = 0; n < 2000; n++) {
            int64_t wait = retry_wait_ms(retry_random(7, n), failures, -1);
            least = wait < least ? wait : least;
            most = wait > most ? wait : most;
            sum += wait;
        }
        ck_assert_int_ge(least, 0);
        ck_assert_int_le(most, span);
        ck_assert_int_lt(least, span / 20);
        ck_assert_int_gt(most, span - span / 20);
        ck_assert_int_gt(sum / 2000, span * 45 / 100);
        ck_assert_int_lt(sum / 2000, span * 55 / 100);
        span = span * 2 < RETRY_CAP_MS ? span * 2 : RETRY_CAP_MS;
    }
    ck_assert_int_le(retry_wait_ms(UINT64_MAX, UINT32_MAX, -1), RETRY_CAP_MS);
}
END_TEST

START_TEST(never_sooner_than_asked)
{
    for (uint64_t n = 0; n < 200; n++) {
        int64_t wait = retry_wait_ms(retry_random(1, n), 1, 7000);
        ck_assert_int_ge(wait, 7000);
        ck_assert_int_le(wait, 7000 + RETRY_BASE_MS);
    }
    ck_assert_int_le(retry_wait_ms(retry_random(1, 1), 1, 0), RETRY_BASE_MS);
}
END_TEST

START_TEST(the_stream_is_its_seed)
{
    ck_assert(retry_random(1, 5) == retry_random(1, 5));
    ck_assert(retry_random(1, 5) != retry_random(1, 6));
    ck_assert(retry_random(1, 5) != retry_random(2, 5));
    ck_assert(retry_random(0, 0) == 0xe220a8397b1dcdafu); /* splitmix64's first number of seed 0 */
}
END_TEST

START_TEST(breaker_doubles_up_to_a_cap)
{
    int64_t ms = retry_breaker_ms(0);
    ck_assert_int_eq(ms, BREAKER_FIRST_MS);
    ck_assert_int_eq(retry_breaker_ms(ms), 2 * ms);
    for (int i = 0; i < 100; i++)
        ms = retry_breaker_ms(ms);
    ck_assert_int_eq(ms, BREAKER_MAX_MS);
}
END_TEST

START_TEST(times_in_sentences)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"rate limit reached. please try again in 20s. contact us", 20000},
        {"please try again in 6m0s.", 360000},
        {"please try again in 1.203s", 1203},
        {"please try again in 217ms.", 217},
        {"please retry in 23.5 seconds", 23500},
        {"retry after 2 minutes", 120000},
        {"try again in 1h 30m", 5400000},
        {"\"retrydelay\": \"23s\"", 23000},
        {"wait for 3 sec", 3000},
        {"try again in 99999 days", 86400000},
        {"try again in a moment", -1},
        {"try again in 5 parsecs", -1},
        {"try again in 5", -1},
        {"try again in ", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(retry_told_ms(str_of(cases[i].text)) == cases[i].ms, "%s: %lld",
                      cases[i].text, (long long)retry_told_ms(str_of(cases[i].text)));
    ck_assert_int_eq(retry_told_ms(STR_NONE), -1);
}
END_TEST

START_TEST(token_estimates)
{
    static const struct {
        const char *text;
        uint32_t tokens;
    } cases[] = {{"", 0},
                 {"a", 1},
                 {"four", 1},
                 {"fives", 2},
                 {"\xe4\xbd\xa0\xe5\xa5\xbd", 2},
                 {"\xe4\xbd\xa0 ok", 2},
                 {"caf\xc3\xa9", 1},
                 {"\xff\xfe\xfd\xfc", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(model_tokens(str_of(cases[i].text)) == cases[i].tokens, "%s: %u",
                      cases[i].text, model_tokens(str_of(cases[i].text)));
    ck_assert_uint_eq(model_tokens(STR_NONE), 0);
}
END_TEST

Suite *suite_model_retry(void)
{
    Suite *suite = suite_create("model_retry");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, waits_are_spread_over_the_whole_span);
    tcase_add_test(tcase, never_sooner_than_asked);
    tcase_add_test(tcase, the_stream_is_its_seed);
    tcase_add_test(tcase, breaker_doubles_up_to_a_cap);
    tcase_add_test(tcase, times_in_sentences);
    tcase_add_test(tcase, token_estimates);
    suite_add_tcase(suite, tcase);
    return suite;
}
