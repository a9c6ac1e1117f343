#include "server/waits.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 256 };
_Static_assert((BUCKETS & (BUCKETS - 1)) == 0, "buckets are masked");

struct waits {
    pthread_mutex_t lock;
    struct step *bucket[BUCKETS];
    unsigned count;
    int64_t next_ms;
    bool ended;
};

typedef bool is_done_fn(const struct step *step, const void *arg);

struct waits *waits_new(void)
{
    struct waits *waits = calloc(1, sizeof *waits);
    if (waits == NULL)
        return NULL;
    if (pthread_mutex_init(&waits->lock, NULL) != 0) {
        free(waits);
        return NULL;
    }
    waits->next_ms = INT64_MAX;
    return waits;
}

void waits_free(struct waits *waits)
{
    if (waits == NULL)
        return;
    ASSERT(waits->count == 0);
    (void)pthread_mutex_destroy(&waits->lock);
    free(waits);
}

static void lock(struct waits *waits)
{
    int rc = pthread_mutex_lock(&waits->lock);
    ASSERT(rc == 0);
}

static void unlock(struct waits *waits)
{
    int rc = pthread_mutex_unlock(&waits->lock);
    ASSERT(rc == 0);
}

static struct step **bucket_of(struct waits *waits, uint64_t space)
{
    return &waits->bucket[(space * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (BUCKETS - 1)];
}

bool waits_add(struct waits *waits, struct step *step)
{
    lock(waits);
    bool added = !waits->ended;
    step->timed_out = !added;
    if (added) {
        struct step **bucket = bucket_of(waits, step->wait_space);
        step->next = *bucket;
        *bucket = step;
        waits->count++;
        if (step->wait_until_ms < waits->next_ms) /* I2 */
            waits->next_ms = step->wait_until_ms;
    }
    unlock(waits);
    return added;
}

/* Moves the steps of a bucket that are done to `taken`; lock held. */
static void take(struct waits *waits, struct step **link, is_done_fn *is_done, const void *arg,
                 bool timed_out, struct step **taken)
{
    while (*link != NULL) {
        struct step *step = *link;
        if (!is_done(step, arg)) {
            link = &step->next;
            continue;
        }
        *link = step->next;
        step->next = *taken;
        step->timed_out = timed_out;
        *taken = step;
        waits->count--;
    }
}

struct news {
    uint64_t space, processed_seq;
    bool dropped;
};

static bool is_reached(const struct step *step, const void *arg)
{
    const struct news *news = arg;
    return step->wait_space == news->space &&
           (news->dropped || step->wait_seq <= news->processed_seq);
}

struct step *waits_tell(struct waits *waits, uint64_t space, uint64_t processed_seq, bool dropped)
{
    struct news news = {space, processed_seq, dropped};
    struct step *taken = NULL;
    lock(waits);
    if (waits->count != 0)
        take(waits, bucket_of(waits, space), is_reached, &news, false, &taken);
    unlock(waits);
    return taken;
}

static bool is_over(const struct step *step, const void *arg)
{
    return step->wait_until_ms <= *(const int64_t *)arg;
}

struct step *waits_expire(struct waits *waits, int64_t now_ms)
{
    struct step *taken = NULL;
    lock(waits);
    if (waits->next_ms <= now_ms) {
        waits->next_ms = INT64_MAX;
        for (unsigned i = 0; i < BUCKETS; i++) {
            take(waits, &waits->bucket[i], is_over, &now_ms, true, &taken);
            for (const struct step *step = waits->bucket[i]; step != NULL; step = step->next) {
                if (step->wait_until_ms < waits->next_ms)
                    waits->next_ms = step->wait_until_ms;
            }
        }
    }
    unlock(waits);
    return taken;
}

static bool is_same(const struct step *step, const void *arg)
{
    return step == arg;
}

bool waits_take(struct waits *waits, const struct step *step)
{
    struct step *taken = NULL;
    lock(waits);
    /* Its space can't be asked for the bucket: it may be running on a worker. */
    for (unsigned i = 0; i < BUCKETS && taken == NULL; i++)
        take(waits, &waits->bucket[i], is_same, step, true, &taken);
    unlock(waits);
    return taken != NULL;
}

struct step *waits_end(struct waits *waits)
{
    int64_t forever = INT64_MAX;
    struct step *taken = NULL;
    lock(waits);
    waits->ended = true;
    for (unsigned i = 0; i < BUCKETS; i++)
        take(waits, &waits->bucket[i], is_over, &forever, true, &taken);
    ASSERT(waits->count == 0);
    waits->next_ms = INT64_MAX;
    unlock(waits);
    return taken;
}

int64_t waits_next_ms(struct waits *waits)
{
    lock(waits);
    int64_t next_ms = waits->next_ms;
    unlock(waits);
    return next_ms;
}

unsigned waits_count(struct waits *waits)
{
    lock(waits);
    unsigned count = waits->count;
    unlock(waits);
    return count;
}
