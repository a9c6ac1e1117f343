/* Built-in titles and summaries (DESIGN 6.3): extractive, so every word was said by somebody.
 *
 *   title    "Nora and Idris: Seven Cranes Marathon, training plan, Anneke": who, and the strongest
 *            terms as written; capitalised runs and repeated pairs stay together
 *   summary  "4 March 2025. Idris: I signed up for a marathon yesterday (3 March 2025). Nora: …":
 *            the one to three most central sentences in the order they were said, who said them,
 *            and both forms of relative dates
 *
 * A topic is told by its keywords and, with dates, the titles of its first and latest episodes. All
 * on one line. Everything is in the arena; ERR_EXHAUSTED is the only error. */
#ifndef HM_CORE_INGEST_DESCRIBE_H
#define HM_CORE_INGEST_DESCRIBE_H

#include "core/graph/episode.h"
#include "core/graph/topic.h"
#include "core/ingest/stage_dialogue.h"

enum {
    DESCRIBE_TITLE_BYTES = 96,
    DESCRIBE_SUMMARY_BYTES = 210,
    DESCRIBE_TOPIC_BYTES = 480,
};

struct description {
    struct str title;
    struct str summary;
    struct str participants; /* joined by line feeds */
};

/* `weights`: how much each term of the dialogue says, 0 for those that are no subject. */
enum err_code describe_episode(struct arena *arena, const struct dialogue *dialogue,
                               const float *weights, struct description *out,
                               struct err *err) MUST_USE;

/* Sets title and summary from topic->keywords and its `n` >= 1 member episodes in order of time. */
enum err_code describe_topic(struct arena *arena, struct topic *topic,
                             const struct episode *const *members, uint32_t n,
                             struct err *err) MUST_USE;

#endif
