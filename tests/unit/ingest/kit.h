/* What the tests of ingest share: a store, one space "s", turns posted as the API would post them.
 * */
#ifndef HM_TESTS_UNIT_INGEST_KIT_H
#define HM_TESTS_UNIT_INGEST_KIT_H

#include "core/base/civil.h"
#include "core/ingest/accept.h"
#include "tests/unit/storage/fixture.h"

struct kit {
    struct fixture f;
    uint64_t space;        /* 0 until something was posted */
    struct space settings; /* for the space to be created */
    int64_t now_ms;
    bool embeds;    /* as in accept_call */
    struct err err; /* of the last call that failed */
};

/* 8 May 2023, 14:00 UTC. */
#define KIT_NOW INT64_C(1683554400000)

void kit_init(struct kit *kit);
void kit_fini(struct kit *kit);
struct arena *kit_arena(struct kit *kit);

enum err_code kit_build(struct kit *kit, const struct turn_input *turns, uint32_t n, bool messages,
                        struct accept_plan *plan);
/* Builds, commits, and fills the receipt. */
enum err_code kit_post(struct kit *kit, const struct turn_input *turns, uint32_t n, bool messages,
                       struct accept_plan *plan);
/* One turn that must be taken; returns its number. */
uint32_t kit_say(struct kit *kit, struct turn_input turn);

struct space_stat kit_stat(struct kit *kit);
/* A turn with its text, copied into the arena; n 0: absent. */
struct turn kit_turn(struct kit *kit, uint32_t n);
struct str kit_text(struct kit *kit, char c, size_t len);
/* Puts a row as it is. */
void kit_raw(struct kit *kit, enum store_kind kind, struct str key, struct str value);
/* Live documents of the turn layer that hold the word (as a query would look it up). */
uint32_t kit_find(struct kit *kit, const char *word, uint32_t *docs, uint32_t cap);
/* The same for a day (core/text/date_terms.h). */
uint32_t kit_find_day(struct kit *kit, struct civil day, uint32_t *docs, uint32_t cap);

#endif
