/* What the tests of the stages share: turns in, stage units run as the lane would run them, records
 * out, and the whole space checked (DESIGN 5) at the end of each test. */
#ifndef HM_TESTS_UNIT_INGEST_KIT_STAGE_H
#define HM_TESTS_UNIT_INGEST_KIT_STAGE_H

#include "core/base/hash.h"
#include "core/graph/edge.h"
#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/topic.h"
#include "core/ingest/job.h"
#include "core/ingest/stage.h"
#include "tests/unit/ingest/kit.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS (60 * MINUTE_MS)
#define KIT_IDLE_MS (15 * MINUTE_MS)

struct stage_kit {
    struct kit kit;
    struct clock clock; /* server time; kit.now_ms follows it */
    struct services services;
    int64_t time_ms;       /* event time of the next line */
    struct stage_unit sum; /* counters of all units */
    uint32_t units;
};

/* A fresh store; the tests of one process share this one. */
extern struct stage_kit stage_kit;
void stage_kit_setup(void);
void stage_kit_teardown(void); /* checks everything */

struct line {
    const char *session; /* NULL: none */
    const char *speaker; /* "assistant", "tool", "system": that role */
    const char *text;
};

/* Posts one line a minute of event time after the last; returns its number. */
uint32_t say(const char *session, const char *speaker, const char *text);
/* The same at a given event time. */
uint32_t say_at(const char *session, const char *speaker, const char *text, int64_t time_ms);
/* Posts them in one call. */
void say_all(const struct line *lines, uint32_t n);
struct turn_input turn_of_line(const struct line *line, int64_t time_ms);

/* Builds one unit and commits it; false: there is nothing to do. */
bool run_unit(void);
/* Until nothing is left; returns how many episodes were closed. */
uint32_t run_stages(void);
/* Asks for it, runs; returns the job as it is then. */
struct job flush_now(const char *session);
void advance(int64_t ms); /* server time */

uint64_t stat_now(enum stat_id id);
uint32_t episodes_now(void);
uint32_t topics_now(void);
uint32_t facts_now(void);
/* Records, copied; the test fails when there is none. */
struct episode episode_now(uint32_t id);
struct topic topic_now(uint32_t id);
struct fact fact_now(uint32_t id);
struct edge edge_now(enum store_kind kind, uint32_t parent);
/* The fact whose content holds the words, 0: none. */
uint32_t fact_with(const char *words);
bool holds_words(struct str text, const char *words);

/* fsck over everything. */
void check_space(void);
struct hash128 digest_now(void);

#endif
