/* What the file of each noun gives to the table of routes: first functions and parameter rows. The
 * enums name the index of a row in its table. */
#ifndef HM_API_HANDLERS_H
#define HM_API_HANDLERS_H

#include "api/routes.h"

/* spaces.c */
step_fn spaces_put, spaces_delete;
route_read_fn spaces_get, spaces_list;
enum { SPACES_LIMIT, SPACES_CURSOR, SPACES_PREFIX, SPACES_LIST_PARAMS };
extern const struct param_row spaces_list_params[SPACES_LIST_PARAMS];
enum { SPACES_CONFIRM, SPACES_DELETE_PARAMS };
extern const struct param_row spaces_delete_params[SPACES_DELETE_PARAMS];

/* turns.c */
step_fn turns_post;
route_read_fn turns_list, turns_get;
enum { TURNS_WAIT, TURNS_TIMEOUT_MS, TURNS_POST_PARAMS };
extern const struct param_row turns_post_params[TURNS_POST_PARAMS]; /* flush.c has the same two */
enum {
    TURNS_LIMIT,
    TURNS_CURSOR,
    TURNS_SESSION,
    TURNS_SPEAKER,
    TURNS_SINCE,
    TURNS_UNTIL,
    TURNS_LIST_PARAMS
};
extern const struct param_row turns_list_params[TURNS_LIST_PARAMS];

/* flush.c */
step_fn flush_post;

/* query.c, answer.c; rows: query_params.c. What only a query has comes last. */
step_fn query_any, answer_post;
enum { FORMAT_JSON, FORMAT_TEXT };
enum { RERANK_OFF, RERANK_ON };
enum { QUERY_LAMBDA_MAX = 10 };
enum {
    QUERY_Q,
    QUERY_TOPICS,
    QUERY_EPISODES,
    QUERY_FACTS,
    QUERY_MAX_TOKENS,
    QUERY_MIN_SEQ,
    QUERY_WAIT_MS,
    QUERY_AS_OF,
    QUERY_KNOWN_AT,
    QUERY_NOW,
    QUERY_SINCE,
    QUERY_UNTIL,
    QUERY_SESSION,
    QUERY_SPEAKER,
    QUERY_GATE,
    QUERY_FUSION,
    QUERY_RERANK,
    QUERY_SUMMARIES,
    QUERY_WINDOWS,
    QUERY_VECTORS,
    QUERY_LAMBDA,
    ANSWER_PARAMS,
    QUERY_EXPLAIN = ANSWER_PARAMS,
    QUERY_FORMAT,
    QUERY_PARAMS
};
extern const struct param_row answer_params[ANSWER_PARAMS];
extern const struct param_row query_params[QUERY_PARAMS];

/* episodes.c, topics.c, facts.c */
route_read_fn episodes_list, episodes_get, topics_list, topics_get, facts_list, facts_get;
enum {
    EPISODES_LIMIT,
    EPISODES_CURSOR,
    EPISODES_SESSION,
    EPISODES_SPEAKER,
    EPISODES_SINCE,
    EPISODES_UNTIL,
    EPISODES_TOPIC,
    EPISODES_LIST_PARAMS
};
extern const struct param_row episodes_list_params[EPISODES_LIST_PARAMS];
enum { TOPICS_LIMIT, TOPICS_CURSOR, TOPICS_LIST_PARAMS };
extern const struct param_row topics_list_params[TOPICS_LIST_PARAMS];
enum {
    FACTS_LIMIT,
    FACTS_CURSOR,
    FACTS_SESSION,
    FACTS_SPEAKER,
    FACTS_SINCE,
    FACTS_UNTIL,
    FACTS_EPISODE,
    FACTS_LIST_PARAMS
};
extern const struct param_row facts_list_params[FACTS_LIST_PARAMS];

/* removes.c */
step_fn turns_delete, facts_delete, episodes_delete, topics_delete;
enum { TOPICS_CONFIRM, TOPICS_DELETE_PARAMS };
extern const struct param_row topics_delete_params[TOPICS_DELETE_PARAMS];

/* jobs.c */
route_read_fn jobs_list, jobs_get;
step_fn jobs_retry, jobs_cancel, spaces_redo;
enum { JOBS_LIMIT, JOBS_CURSOR, JOBS_STATE, JOBS_LIST_PARAMS };
enum { REDO_EPISODES, REDO_PARAMS };
extern const struct param_row redo_params[REDO_PARAMS];
extern const struct param_row jobs_list_params[JOBS_LIST_PARAMS];

/* probes.c, metrics.c */
route_answer_fn probes_live, probes_version;
step_fn probes_ready, metrics_get;

#endif
