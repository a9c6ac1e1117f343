/* The parameters of a question: of query, and of answer, which calls it by its name and has no
 * format of its own. */
#include "api/handlers.h"

#include "api/query_reply.h"
#include "core/base/limits.h"
#include "core/recall/recall.h"

static const char *const gates[] = {
    [GATE_SOFT] = "soft", [GATE_STRICT] = "strict", [GATE_STRICT + 1] = NULL};
static const char *const fusions[] = {
    [FUSION_SCORE] = "score", [FUSION_MAX] = "max", [FUSION_RRF] = "rrf", [FUSION_RRF + 1] = NULL};
static const char *const summaries[] = {[SUMMARIES_AUTO] = "auto",
                                        [SUMMARIES_ON] = "on",
                                        [SUMMARIES_OFF] = "off",
                                        [SUMMARIES_OFF + 1] = NULL};
static const char *const reranks[] = {[RERANK_OFF] = "off", [RERANK_ON] = "on", NULL};
static const char *const formats[] = {
    [FORMAT_JSON] = "json", [FORMAT_TEXT] = "text", [FORMAT_TEXT + 1] = NULL};

#define QUESTION_ROW(text)                                                                         \
    [QUERY_Q] = {.name = (text),                                                                   \
                 .type = PARAM_TEXT,                                                               \
                 .flags = PARAM_REQUIRED | PARAM_NOT_BLANK,                                        \
                 .max = LIMIT_QUERY_BYTES,                                                         \
                 .doc = "what is asked"}

/* Of both. */
#define ASKED_ROWS                                                                                 \
    [QUERY_TOPICS] = {.name = "topics",                                                            \
                      .type = PARAM_UINT,                                                          \
                      .max = LIMIT_TOPICS,                                                         \
                      .fallback = 10,                                                              \
                      .doc = "topics in the reply; 0 skips the stage"},                            \
    [QUERY_EPISODES] = {.name = "episodes",                                                        \
                        .type = PARAM_UINT,                                                        \
                        .max = LIMIT_EPISODES,                                                     \
                        .fallback = 10,                                                            \
                        .doc = "episodes in the reply; 0 skips the stage"},                        \
    [QUERY_FACTS] = {.name = "facts",                                                              \
                     .type = PARAM_UINT,                                                           \
                     .max = LIMIT_FACTS,                                                           \
                     .fallback = 30,                                                               \
                     .doc = "facts in the reply"},                                                 \
    [QUERY_MAX_TOKENS] = {.name = "max_tokens",                                                    \
                          .type = PARAM_UINT,                                                      \
                          .max = LIMIT_MAX_TOKENS,                                                 \
                          .fallback = 2000,                                                        \
                          .doc = "of context.text, 4 characters each"},                            \
    [QUERY_MIN_SEQ] = {.name = "min_seq",                                                          \
                       .type = PARAM_UINT,                                                         \
                       .max = INT64_MAX,                                                           \
                       .doc = "wait until everything up to this seq is processed"},                \
    [QUERY_WAIT_MS] = {.name = "wait_ms",                                                          \
                       .type = PARAM_UINT,                                                         \
                       .max = LIMIT_WAIT_MS,                                                       \
                       .fallback = 5000,                                                           \
                       .doc = "how long min_seq may wait"},                                        \
    [QUERY_AS_OF] = {.name = "as_of", .type = PARAM_TIME, .doc = "what was valid then"},           \
    [QUERY_KNOWN_AT] = {.name = "known_at",                                                        \
                        .type = PARAM_TIME,                                                        \
                        .flags = PARAM_UNBUILT,                                                    \
                        .doc = "what was known then"},                                             \
    [QUERY_NOW] = {.name = "now", .type = PARAM_TIME, .doc = "what \"yesterday\" refers to"},      \
    [QUERY_SINCE] = {.name = "since", .type = PARAM_TIME, .doc = "event time, inclusive"},         \
    [QUERY_UNTIL] = {.name = "until", .type = PARAM_TIME, .doc = "event time, inclusive"},         \
    [QUERY_SESSION] = {.name = "session",                                                          \
                       .type = PARAM_TEXT,                                                         \
                       .max = LIMIT_SESSION_BYTES,                                                 \
                       .doc = "of this session only"},                                             \
    [QUERY_SPEAKER] = {.name = "speaker",                                                          \
                       .type = PARAM_TEXT,                                                         \
                       .max = LIMIT_SPEAKER_BYTES,                                                 \
                       .doc = "said by this speaker only"},                                        \
    [QUERY_GATE] = {.name = "gate",                                                                \
                    .type = PARAM_CHOICE,                                                          \
                    .fallback = GATE_SOFT,                                                         \
                    .choices = gates,                                                              \
                    .doc = "strict: members of the level above only"},                             \
    [QUERY_FUSION] = {.name = "fusion",                                                            \
                      .type = PARAM_CHOICE,                                                        \
                      .fallback = FUSION_SCORE,                                                    \
                      .choices = fusions,                                                          \
                      .doc = "how signals are joined"},                                            \
    [QUERY_RERANK] = {.name = "rerank",                                                            \
                      .type = PARAM_CHOICE,                                                        \
                      .flags = PARAM_UNBUILT,                                                      \
                      .fallback = RERANK_ON,                                                       \
                      .choices = reranks,                                                          \
                      .doc = "on (if there is a rerank model): its order"},                        \
    [QUERY_SUMMARIES] = {.name = "summaries",                                                      \
                         .type = PARAM_CHOICE,                                                     \
                         .fallback = SUMMARIES_AUTO,                                               \
                         .choices = summaries,                                                     \
                         .doc = "episode summaries in the context"},                               \
    [QUERY_WINDOWS] = {.name = "windows",                                                          \
                       .type = PARAM_FLAG,                                                         \
                       .fallback = 1,                                                              \
                       .doc = "neighbouring turns count"},                                         \
    [QUERY_VECTORS] = {.name = "vectors",                                                          \
                       .type = PARAM_FLAG,                                                         \
                       .fallback = 1,                                                              \
                       .doc = "the question's vector counts, if there is an embedding model"},     \
    [QUERY_LAMBDA] = {.name = "lambda",                                                            \
                      .type = PARAM_REAL,                                                          \
                      .max = QUERY_LAMBDA_MAX,                                                     \
                      .doc = "of propagation; the configured one"}

const struct param_row answer_params[ANSWER_PARAMS] = {QUESTION_ROW("question"), ASKED_ROWS};

const struct param_row query_params[QUERY_PARAMS] = {
    QUESTION_ROW("q"),
    ASKED_ROWS,
    [QUERY_EXPLAIN] = {.name = "explain",
                       .type = PARAM_FLAG,
                       .doc = "show candidates, signals and what cut them"},
    [QUERY_FORMAT] = {.name = "format",
                      .type = PARAM_CHOICE,
                      .fallback = FORMAT_JSON,
                      .choices = formats,
                      .doc = "text: the context alone, fenced"},
};
