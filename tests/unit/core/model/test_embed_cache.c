/* The cache of questions' vectors: what is found, what goes first, limits, many threads. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/model/embed_cache.h"

enum { DIM = 8 };

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(16 << 20);
}

static void teardown(void)
{
    arena_free(arena);
}

static void put(struct embed_cache *cache, uint64_t identity, const char *text, float value)
{
    float vector[DIM];
    for (int i = 0; i < DIM; i++)
        vector[i] = value + (float)i;
    embed_cache_put(cache, identity, str_of(text), vector, DIM);
}

/* The first value of what is there; -1: nothing is. */
static float get(struct embed_cache *cache, uint64_t identity, const char *text)
{
    const float *found = embed_cache_get(cache, identity, str_of(text), DIM, arena);
    if (found == NULL)
        return -1;
    for (int i = 0; i < DIM; i++)
        ck_assert(found[i] == found[0] + (float)i);
    return found[0];
}

START_TEST(finds_by_identity_text_and_dimension)
{
    struct embed_cache *cache = embed_cache_new(10, 1 << 20);
    put(cache, 1, "where is Rex", 5);
    put(cache, 2, "where is Rex", 6);
    ck_assert(get(cache, 1, "where is Rex") == 5);
    ck_assert(get(cache, 2, "where is Rex") == 6);
    ck_assert(get(cache, 3, "where is Rex") == -1);
    ck_assert(get(cache, 1, "where is Re") == -1);
    ck_assert_ptr_null(embed_cache_get(cache, 1, STR("where is Rex"), DIM - 1, arena));
    put(cache, 1, "where is Rex", 7);
    ck_assert(get(cache, 1, "where is Rex") == 7);
    ck_assert_uint_eq(embed_cache_entries(cache), 2);
    embed_cache_check(cache);
    embed_cache_free(cache);
}
END_TEST

START_TEST(the_longest_unasked_goes_first)
{
    struct embed_cache *cache = embed_cache_new(3, 1 << 20);
    put(cache, 1, "a", 1);
    put(cache, 1, "b", 2);
    put(cache, 1, "c", 3);
    ck_assert(get(cache, 1, "a") == 1);
    put(cache, 1, "d", 4);
    ck_assert(get(cache, 1, "b") == -1);
    ck_assert(get(cache, 1, "a") == 1 && get(cache, 1, "c") == 3 && get(cache, 1, "d") == 4);
    embed_cache_check(cache);
    embed_cache_free(cache);
}
END_TEST

START_TEST(bytes_are_bounded)
{
    enum { ROOM = 4096 };
    struct embed_cache *cache = embed_cache_new(1000, ROOM);
    char text[32];
    for (int i = 0; i < 200; i++) {
        (void)snprintf(text, sizeof text, "question %d", i);
        put(cache, 1, text, (float)i);
        ck_assert_uint_le(embed_cache_bytes(cache), ROOM);
    }
    embed_cache_check(cache);
    ck_assert_uint_gt(embed_cache_entries(cache), 10);
    ck_assert(get(cache, 1, "question 199") == 199 && get(cache, 1, "question 0") == -1);
    float *large = calloc(2048, sizeof *large);
    embed_cache_put(cache, 1, STR("too large"), large, 2048);
    ck_assert_ptr_null(embed_cache_get(cache, 1, STR("too large"), 2048, arena));
    ck_assert(get(cache, 1, "question 199") == 199); /* nothing went for what can't be kept */
    free(large);
    embed_cache_free(cache);
}
END_TEST

START_TEST(no_memory_is_a_miss)
{
    struct embed_cache *cache = embed_cache_new(3, 1 << 20);
    put(cache, 1, "a", 1);
    arena_fail_after(arena, 1);
    ck_assert(get(cache, 1, "a") == -1);
    arena_fail_after(arena, 0);
    ck_assert(get(cache, 1, "a") == 1);
    embed_cache_free(cache);
    embed_cache_free(NULL);
}
END_TEST

/* --- threads --- */

struct worker {
    struct embed_cache *cache;
    unsigned seed, found;
    bool wrong;
};

static void *hammer(void *arg)
{
    struct worker *w = arg;
    struct arena *own = arena_new(64 << 20);
    for (int i = 0; i < 4000; i++) {
        char text[32];
        w->seed = w->seed * 1664525u + 1013904223u;
        unsigned n = (w->seed >> 8) % 60;
        (void)snprintf(text, sizeof text, "q%u", n);
        const float *found = embed_cache_get(w->cache, 1, str_of(text), DIM, own);
        if (found == NULL) {
            put(w->cache, 1, text, (float)n);
            continue;
        }
        w->found++;
        w->wrong |= found[0] != (float)n || found[DIM - 1] != (float)(n + DIM - 1);
    }
    arena_free(own);
    return NULL;
}

START_TEST(many_threads_find_what_was_put)
{
    struct worker workers[4];
    pthread_t threads[4];
    struct embed_cache *cache = embed_cache_new(40, 1 << 20);
    for (unsigned i = 0; i < 4; i++) {
        workers[i] = (struct worker){.cache = cache, .seed = i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert(!workers[i].wrong);
        ck_assert_uint_gt(workers[i].found, 100);
    }
    embed_cache_check(cache);
    ck_assert_uint_eq(embed_cache_entries(cache), 40);
    embed_cache_free(cache);
}
END_TEST

Suite *suite_embed_cache(void);
Suite *suite_embed_cache(void)
{
    Suite *suite = suite_create("embed_cache");
    TCase *tc = tcase_create("cache");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, finds_by_identity_text_and_dimension);
    tcase_add_test(tc, the_longest_unasked_goes_first);
    tcase_add_test(tc, bytes_are_bounded);
    tcase_add_test(tc, no_memory_is_a_miss);
    tcase_add_test(tc, many_threads_find_what_was_put);
    suite_add_tcase(suite, tc);
    return suite;
}
