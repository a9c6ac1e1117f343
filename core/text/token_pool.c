#include <pthread.h>
#include <stdlib.h>

#include "core/text/token_int.h"

/* More than so many at rest are freed: one a thread is wanted. */
enum { IDLE_MAX = 32 };

struct tokenizers {
    pthread_mutex_t mutex; /* guards all below; held for a look at the list only */
    struct tokenizer *idle[IDLE_MAX];
    uint32_t n;
};

struct tokenizers *tokenizers_new(void)
{
    struct tokenizers *pool = calloc(1, sizeof *pool);
    if (pool != NULL && pthread_mutex_init(&pool->mutex, NULL) != 0) {
        free(pool);
        return NULL;
    }
    return pool;
}

void tokenizers_free(struct tokenizers *pool)
{
    if (pool == NULL)
        return;
    for (uint32_t i = 0; i < pool->n; i++)
        tokenizer_free(pool->idle[i]);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

/* The one that was given back last knows most of what is said now. */
static struct tokenizer *take_idle(struct tokenizers *pool, int language, bool automatic)
{
    struct tokenizer *found = NULL;
    (void)pthread_mutex_lock(&pool->mutex);
    for (uint32_t i = pool->n; i-- > 0 && found == NULL;) {
        struct tokenizer *one = pool->idle[i];
        if (one->language != language || one->automatic != automatic)
            continue;
        found = one;
        memmove(pool->idle + i, pool->idle + i + 1, (--pool->n - i) * sizeof(struct tokenizer *));
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return found;
}

enum err_code tokenizers_take(struct tokenizers *pool, struct str language, struct tokenizer **out,
                              struct err *err)
{
    bool automatic = str_eq(language, STR("auto"));
    *out = NULL;
    if (pool != NULL && tokenizer_knows(language))
        *out = take_idle(pool, language_find(automatic ? STR("en") : language), automatic);
    return *out != NULL ? ERR_OK : tokenizer_new(language, out, err);
}

void tokenizers_give(struct tokenizers *pool, struct tokenizer *tokenizer)
{
    struct tokenizer *surplus = tokenizer;
    if (pool != NULL && tokenizer != NULL) {
        (void)pthread_mutex_lock(&pool->mutex);
        if (pool->n < IDLE_MAX) {
            pool->idle[pool->n++] = tokenizer;
            surplus = NULL;
        }
        (void)pthread_mutex_unlock(&pool->mutex);
    }
    tokenizer_free(surplus);
}
