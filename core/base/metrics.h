/* Counters and histograms from one table each (STYLE 16). Labels are written in the row: bounded,
 * never a space. Gauges are read at scrape time by api/metrics.c. Atomic, relaxed: a scrape may see
 * one sample late. HTTP series by route live in api/, which knows the routes. */
#ifndef HM_CORE_BASE_METRICS_H
#define HM_CORE_BASE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

/* Rows of model calls, one a purpose (core/model/models.h lists them); a row's symbol is `head`
 * and the purpose. Exchanges, not calls: what is tried again counts again. */
#define METRIC_MODEL_REST(X, head, series, more)                                                   \
    X(head##_DESCRIBE, series, "purpose=\"describe\"" more, "")                                    \
    X(head##_TOPIC, series, "purpose=\"topic\"" more, "")                                          \
    X(head##_FACTS, series, "purpose=\"facts\"" more, "")                                          \
    X(head##_ANSWER, series, "purpose=\"answer\"" more, "")                                        \
    X(head##_EMBED, series, "purpose=\"embed\"" more, "")                                          \
    X(head##_RERANK, series, "purpose=\"rerank\"" more, "")
#define METRIC_MODEL_ROWS(X, head, series, more, help)                                             \
    X(head##_BOUNDARY, series, "purpose=\"boundary\"" more, help)                                  \
    METRIC_MODEL_REST(X, head, series, more)

#define METRIC_MODEL_COUNTERS(X)                                                                   \
    METRIC_MODEL_ROWS(X, LLM_OK, "hypermem_llm_requests_total", ",outcome=\"ok\"",                 \
                      "Requests to model providers")                                               \
    METRIC_MODEL_ROWS(X, LLM_ERROR, "hypermem_llm_requests_total", ",outcome=\"error\"", "")       \
    METRIC_MODEL_ROWS(X, LLM_IN, "hypermem_llm_tokens_total", ",direction=\"in\"",                 \
                      "Tokens of model calls, as reported or estimated")                           \
    METRIC_MODEL_ROWS(X, LLM_OUT, "hypermem_llm_tokens_total", ",direction=\"out\"", "")           \
    X(LLM_RETRY_CONNECT, "hypermem_llm_retry_total", "reason=\"connect\"",                         \
      "Requests made again, by what was wrong with the one before")                                \
    X(LLM_RETRY_RATE, "hypermem_llm_retry_total", "reason=\"rate\"", "")                           \
    X(LLM_RETRY_SERVER, "hypermem_llm_retry_total", "reason=\"server\"", "")                       \
    X(LLM_RETRY_MENDED, "hypermem_llm_retry_total", "reason=\"mended\"", "")                       \
    X(LLM_RETRY_TOO_LONG, "hypermem_llm_retry_total", "reason=\"too_long\"", "")                   \
    X(LLM_RETRY_REPLY, "hypermem_llm_retry_total", "reason=\"reply\"", "")

/* symbol, series, labels, help (the first row of a series) */
#define METRIC_COUNTER_TABLE(X)                                                                    \
    X(TURNS_STORED, "hypermem_ingest_turns_total", "outcome=\"stored\"", "Turns by outcome")       \
    X(TURNS_DUPLICATE, "hypermem_ingest_turns_total", "outcome=\"duplicate\"", "")                 \
    X(TURNS_REFUSED, "hypermem_ingest_turns_total", "outcome=\"refused\"", "")                     \
    X(TEXT_BYTES, "hypermem_ingest_text_bytes_total", "", "Bytes of turn text accepted")           \
    X(EPISODES_CLOSED, "hypermem_episodes_total", "outcome=\"closed\"", "Episodes by outcome")     \
    X(EPISODES_DELETED, "hypermem_episodes_total", "outcome=\"deleted\"", "")                      \
    X(TOPICS_NEW, "hypermem_topic_decisions_total", "outcome=\"new\"", "Topic decisions")          \
    X(TOPICS_JOIN, "hypermem_topic_decisions_total", "outcome=\"join\"", "")                       \
    X(TOPICS_SUCCESSOR, "hypermem_topic_decisions_total", "outcome=\"successor\"", "")             \
    X(FACTS_STORED, "hypermem_facts_total", "outcome=\"stored\"", "Facts by outcome")              \
    X(FACTS_DUPLICATE, "hypermem_facts_total", "outcome=\"duplicate\"", "")                        \
    X(FACTS_ECHO, "hypermem_facts_total", "outcome=\"echo\"", "")                                  \
    X(FACTS_DELETED, "hypermem_facts_total", "outcome=\"deleted\"", "")                            \
    X(EMBED_STORED, "hypermem_embedding_texts_total", "outcome=\"stored\"",                        \
      "Documents that got a vector, or could not have one")                                        \
    X(EMBED_FAILED, "hypermem_embedding_texts_total", "outcome=\"failed\"", "")                    \
    X(STAGE_RETRIES, "hypermem_stage_retries_total", "", "Stage batches built again")              \
    X(STAGE_FAILURES, "hypermem_stage_failures_total", "", "Stage steps that failed")              \
    X(FOLDS, "hypermem_folds_total", "", "Index segments folded")                                  \
    X(QUERIES, "hypermem_queries_total", "", "Queries answered")                                   \
    X(QUERY_DEGRADED, "hypermem_query_degraded_total", "reason=\"behind\"", "Degraded queries")    \
    X(QUERY_NO_EMBED, "hypermem_query_degraded_total", "reason=\"embed\"", "")                     \
    X(QUERY_NO_RERANK, "hypermem_query_degraded_total", "reason=\"rerank\"", "")                   \
    X(QUERY_REINDEX, "hypermem_query_degraded_total", "reason=\"reindex\"", "")                    \
    X(EMBED_CACHE_HIT, "hypermem_embed_cache_total", "outcome=\"hit\"",                            \
      "Vectors of questions, looked for in memory")                                                \
    X(EMBED_CACHE_MISS, "hypermem_embed_cache_total", "outcome=\"miss\"", "")                      \
    X(ANSWERS_OK, "hypermem_answers_total", "outcome=\"ok\"", "Answers by a chat model")           \
    X(ANSWERS_FAILED, "hypermem_answers_total", "outcome=\"failed\"", "")                          \
    X(IDEMPOTENT_REPLAYS, "hypermem_idempotent_replays_total", "", "Replies replayed by key")      \
    X(REJECTED_SPACE, "hypermem_rejected_total", "limit=\"space\"", "Requests turned away")        \
    X(REJECTED_SERVER, "hypermem_rejected_total", "limit=\"server\"", "")                          \
    X(CONNECTIONS, "hypermem_http_connections_total", "", "Connections accepted")                  \
    X(ABORTED, "hypermem_http_aborted_total", "", "Requests whose client left early")              \
    X(TIMEOUTS, "hypermem_http_timeouts_total", "", "Requests over their total time")              \
    METRIC_MODEL_COUNTERS(X)

enum metric_counter {
#define X(id, name, labels, help) METRIC_##id,
    METRIC_COUNTER_TABLE(X)
#undef X
        METRIC_COUNTERS
};

/* symbol, series, labels, help; unit seconds */
#define METRIC_HISTOGRAM_TABLE(X)                                                                  \
    X(QUERY_TOTAL, "hypermem_query_duration_seconds", "stage=\"total\"", "Query time by stage")    \
    X(QUERY_EMBED, "hypermem_query_duration_seconds", "stage=\"embed\"", "")                       \
    X(QUERY_RERANK, "hypermem_query_duration_seconds", "stage=\"rerank\"", "")                     \
    X(QUERY_TERMS, "hypermem_query_duration_seconds", "stage=\"terms\"", "")                       \
    X(QUERY_COLLECT, "hypermem_query_duration_seconds", "stage=\"collect\"", "")                   \
    X(QUERY_VECTORS, "hypermem_query_duration_seconds", "stage=\"vectors\"", "")                   \
    X(QUERY_SCORE, "hypermem_query_duration_seconds", "stage=\"score\"", "")                       \
    X(QUERY_RECORDS, "hypermem_query_duration_seconds", "stage=\"records\"", "")                   \
    X(QUERY_CONTEXT, "hypermem_query_duration_seconds", "stage=\"context\"", "")                   \
    X(STAGE_BUILD, "hypermem_job_duration_seconds", "stage=\"episode\"", "Stage time")             \
    X(STAGE_FOLD, "hypermem_job_duration_seconds", "stage=\"fold\"", "")                           \
    X(STAGE_REMOVE, "hypermem_job_duration_seconds", "stage=\"remove\"", "")                       \
    X(STAGE_VECTORS, "hypermem_job_duration_seconds", "stage=\"vectors\"", "")                     \
    METRIC_MODEL_ROWS(X, LLM, "hypermem_llm_request_duration_seconds", "",                         \
                      "Time of requests to model providers")

enum metric_histogram {
#define X(id, name, labels, help) METRIC_H_##id,
    METRIC_HISTOGRAM_TABLE(X)
#undef X
        METRIC_HISTOGRAMS
};

/* Upper bounds double from 16 us; bucket 23 is 134 s, the last is +Inf. */
enum { METRIC_BUCKETS = 25, METRIC_FIRST_BUCKET_NS = 16000 };

struct metric_histogram_data {
    atomic_uint_fast64_t bucket[METRIC_BUCKETS];
    atomic_uint_fast64_t sum_ns;
};

struct metrics {
    atomic_uint_fast64_t counter[METRIC_COUNTERS];
    struct metric_histogram_data histogram[METRIC_HISTOGRAMS];
};

static inline void metrics_add(struct metrics *metrics, enum metric_counter id, uint64_t n)
{
    if (metrics != 0)
        atomic_fetch_add_explicit(&metrics->counter[id], n, memory_order_relaxed);
}

void metrics_observe_data(struct metric_histogram_data *data, int64_t ns);
static inline void metrics_observe(struct metrics *metrics, enum metric_histogram id, int64_t ns)
{
    if (metrics != 0)
        metrics_observe_data(&metrics->histogram[id], ns);
}

#endif
