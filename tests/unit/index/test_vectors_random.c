/* Ten thousand random steps: nodes and members come, go and are weighed anew, documents are
 * embedded, edges settled, blocks folded, in any order; every hundredth time all is held against
 * the reference. */
#include <check.h>

#include "tests/unit/index/vmodel.h"

static struct vmodel m;

static void setup(void)
{
    vmodel_init(&m, 4711, 40);
}

static void teardown(void)
{
    vmodel_fini(&m);
}

static uint32_t some_living_episode(void)
{
    for (uint32_t tries = 0; tries < 20; tries++) {
        uint32_t id = 1 + rng_below(&m.rng, m.n_episodes);
        if (id < m.n_episodes && m.episodes[id].lives)
            return id;
    }
    return 0;
}

static uint32_t some_living_fact(void)
{
    for (uint32_t tries = 0; tries < 20; tries++) {
        uint32_t doc = rng_below(&m.rng, m.n_docs[LAYER_FACT] + 1);
        if (vmodel_lives(&m, LAYER_FACT, doc))
            return doc + 1;
    }
    return 0;
}

static uint16_t some_weight(void)
{
    return (uint16_t)rng_below(&m.rng, 65536);
}

static uint32_t some_topic(void)
{
    if (m.n_topics < 3 || rng_below(&m.rng, 6) == 0)
        return vmodel_add_topic(&m);
    uint32_t topic = m.n_topics - 1 - rng_below(&m.rng, m.n_topics < 9 ? m.n_topics - 1 : 8);
    return m.edges[1][topic].n < 16 ? topic : vmodel_add_topic(&m);
}

static void a_new_episode(void)
{
    uint32_t a = some_topic(), b = rng_below(&m.rng, 3) == 0 ? some_topic() : 0;
    uint32_t episode = vmodel_add_episode(&m, a, a != b ? b : 0);
    for (uint32_t n = rng_below(&m.rng, 8); n != 0; n--)
        (void)vmodel_add_fact(&m, episode, some_weight());
    vmodel_add_turn(&m);
}

static bool is_in(uint32_t fact, uint32_t episode)
{
    for (uint32_t i = 0; i < m.facts[fact].n; i++) {
        if (m.facts[fact].episodes[i] == episode)
            return true;
    }
    return false;
}

static void a_fact_said_again(void)
{
    uint32_t fact = some_living_fact(), episode = some_living_episode();
    if (fact != 0 && episode != 0 && m.facts[fact].n < 6 && !is_in(fact, episode))
        vmodel_join(&m, fact, episode, some_weight());
}

static void a_source_less(void)
{
    uint32_t fact = some_living_fact();
    if (fact != 0 && m.facts[fact].n > 1)
        vmodel_leave(&m, fact, m.facts[fact].episodes[rng_below(&m.rng, m.facts[fact].n)]);
}

static void other_weights(void)
{
    unsigned layer = rng_below(&m.rng, 2) == 0 ? EDGE_FACTS : EDGE_EPISODES;
    uint32_t n = layer == EDGE_FACTS ? m.n_episodes : m.n_topics;
    uint32_t parent = rng_below(&m.rng, n);
    const struct vm_edge *e = &m.edges[layer - EDGE_FACTS][parent];
    for (uint32_t i = 0; i < 2 && e->n != 0; i++)
        vmodel_weigh(&m, layer, parent, e->at[rng_below(&m.rng, e->n)].id, some_weight());
}

static void a_death(void)
{
    uint32_t fact = some_living_fact();
    if (fact != 0)
        vmodel_kill_fact(&m, fact);
}

static void an_episodes_end(void)
{
    uint32_t episode = some_living_episode();
    if (episode != 0)
        vmodel_kill_episode(&m, episode);
}

static void an_episode_anew(void)
{
    uint32_t episode = some_living_episode();
    if (episode != 0)
        vmodel_rewrite_episode(&m, episode);
}

static void one_step(void)
{
    static void (*const changes[])(void) = {
        a_new_episode, a_new_episode, a_fact_said_again, a_fact_said_again, a_source_less,
        other_weights, other_weights, a_death,           an_episode_anew,   an_episodes_end,
    };
    enum { CHANGES = sizeof changes / sizeof changes[0], STEPS = CHANGES + 8 };
    uint32_t step = rng_below(&m.rng, STEPS);
    if (step < CHANGES) {
        vmodel_begin(&m);
        changes[step]();
        vmodel_commit(&m);
    } else if (step < CHANGES + 4) {
        vmodel_embed(&m, (enum layer)(step - CHANGES), 1 + rng_below(&m.rng, 20), 12);
    } else if (step < CHANGES + 7) {
        (void)vmodel_settle(&m);
    } else {
        (void)vmodel_fold(&m);
    }
}

START_TEST(ten_thousand_random_steps)
{
    enum { RANDOM_STEPS = 10000, CHECK_EVERY = 100 };
    uint32_t folds = 0;
    for (uint32_t step = 1; step <= RANDOM_STEPS; step++) {
        one_step();
        if (step % CHECK_EVERY != 0)
            continue;
        vmodel_settle_all(&m);
        (void)vmodel_check(&m, 2);
        folds += vmodel_fold(&m);
    }
    vmodel_embed_all(&m);
    vmodel_settle_all(&m);
    while (vmodel_fold(&m))
        folds++;
    (void)vmodel_check(&m, 16);
    ck_assert_uint_gt(folds, 0);
    ck_assert_uint_gt(m.n_docs[LAYER_FACT], 2000);
}
END_TEST

Suite *suite_vectors_random(void)
{
    Suite *suite = suite_create("vectors_random");
    TCase *tcase = tcase_create("vectors_random");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, ten_thousand_random_steps);
    suite_add_tcase(suite, tcase);
    return suite;
}
