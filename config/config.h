/* Configuration: one table (table.h), three sources, one const struct.
 *
 *   flag --max-connections 64  >  HYPERMEM_MAX_CONNECTIONS=64  >  max_connections = 64  >  default
 *
 * The ini file is named by --config or HYPERMEM_CONFIG; there is no default one. Its sections are
 * the groups of the table; a key may also stand before the first section. An empty variable counts
 * as not set. A secret KEY may be given as KEY_file (--api-key-file, HYPERMEM_API_KEY_FILE,
 * api_key_file): the value is the file's content without the line end. NO_COLOR, not empty, is read
 * as color=never below every other source. OPENAI_BASE_URL and OPENAI_API_KEY are read beside the
 * table: they turn nothing on by themselves.
 *
 * I1  Nothing is ignored: an unknown flag, key, section or HYPERMEM_* variable, a key given twice
 *     in a file, a value out of its range each refuse to start; the nearest known name is told.
 * I2  Nothing else reads the environment, and nothing changes a config after config_load().
 * I3  No message and no print shows a secret.
 *
 * Threads: read-only after loading, so any. Memory: all of it lives in the config's own arena.
 *
 * Rejected: reloading on SIGHUP (half of the values can't change without a restart; a restart takes
 * milliseconds), a search path for the file (whose file is in force must never be a question). */
#ifndef HM_CONFIG_CONFIG_H
#define HM_CONFIG_CONFIG_H

#include "config/table.h"
#include "core/base/buf.h"
#include "core/base/log.h"

struct config_address {
    struct str text; /* as given */
    struct str host; /* without brackets; an address, never a name */
    uint16_t port;
    bool is_ipv6;
    bool is_loopback;
};

enum { CONFIG_HOSTS_MAX = 64 };
struct config_names {
    struct str *at; /* lower case, without brackets; at most CONFIG_HOSTS_MAX */
    unsigned n;
};

enum config_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct config_server {
    struct config_address listen;
    uint64_t max_connections;
    uint64_t request_timeout_s, idle_timeout_s, shutdown_timeout_s;
    uint64_t readers, stage_workers; /* 0: one a core */
    uint64_t encoders;               /* 0: one for two cores */
};
struct config_access {
    struct str api_key; /* empty: none */
    struct config_names allowed_hosts;
};
struct config_storage {
    struct str data_dir; /* a NUL follows */
    uint64_t map_size_gib;
};
struct config_memory {
    bool auto_create;
    uint64_t idle_close_s;
    uint64_t stage_pace_ms;
};
/* Where a provider of models is. Empty: not given; server/model_options.h decides what stands for
 * it. */
struct config_provider {
    struct str base_url, api_key, model;
    struct str extra_headers; /* "Name: value" lines joined by line feeds */
    struct str extra_body;
    uint64_t timeout_ms, concurrency, attempts; /* rerank has only concurrency */
};
struct config_purpose {
    struct str base_url, api_key, model, extra_body;
};
struct config_llm {
    struct config_provider provider;
    uint64_t idle_timeout_ms, max_tokens;
    uint64_t patience_s;
    double temperature; /* -1: not sent */
    struct str reasoning_effort;
    struct config_purpose boundary, describe, topic, facts, answer;
};
struct config_embed {
    struct config_provider provider;
    struct str model_dir; /* empty: searched for; "none" */
    uint64_t batch, batch_tokens, text_tokens, dimensions, query_deadline_ms;
    bool send_dimensions;
    struct str query_prefix, document_prefix;
};
enum config_rerank_format {
    CONFIG_RERANK_PROBE,
    CONFIG_RERANK_COHERE,
    CONFIG_RERANK_TEI,
    CONFIG_RERANK_VOYAGE,
    CONFIG_RERANK_DASHSCOPE,
    CONFIG_RERANK_DEEPINFRA
};
struct config_rerank {
    struct config_provider provider;
    struct str model_dir;
    enum config_rerank_format format;
    uint64_t candidates, chars, deadline_ms;
};
struct config_recall {
    double weight_topics, weight_episodes, weight_facts, weight_turns, lambda; /* -1: 0 */
    bool edge_mean;
};
/* What other programs call their model provider: used only where a model is named. */
struct config_openai {
    struct str base_url; /* OPENAI_BASE_URL, or OPENAI_API_BASE; empty: neither is set */
    struct str api_key;  /* OPENAI_API_KEY */
};
struct config_log {
    enum log_level level;
    bool json;
};
struct config_health {
    uint64_t ready_max_job_age_s; /* 0: never fails on it */
    uint64_t ready_min_disk_mib;
};
struct config_terminal {
    enum config_color color;
};

/* Where a value came from. */
enum config_source { SOURCE_DEFAULT, SOURCE_NO_COLOR, SOURCE_FILE, SOURCE_ENV, SOURCE_FLAG };
struct config_origin {
    enum config_source source;
    bool by_file;    /* given as KEY_file */
    struct str text; /* the value as given; not of a secret */
    struct str name; /* the flag, the variable, or the ini file's path */
};

struct config {
    struct config_server server;
    struct config_access access;
    struct config_storage storage;
    struct config_memory memory;
    struct config_llm llm;
    struct config_embed embed;
    struct config_rerank rerank;
    struct config_recall recall;
    struct config_openai openai;
    struct config_log log;
    struct config_health health;
    struct config_terminal terminal;
    struct str fault;
    struct config_origin origin[CONFIG_COUNT];
    struct arena *arena;
};

/* An option of one subcommand (--to DIR, --digest). */
struct config_option {
    const char *name; /* without dashes */
    bool has_value;
    const char *prose;
    struct str value; /* out: .at NULL: not given; "" for one without a value */
};

/* What a command line and an environment give; everything is borrowed until config_free(). */
struct config_input {
    char **words; /* the arguments behind the subcommand, NULL at the end */
    char **env;   /* NAME=value, NULL at the end; NULL: an empty environment */
    struct config_option *options;
    unsigned n_options;
    unsigned max_operands; /* operands allowed, at most CONFIG_OPERANDS */
    /* out */
    const char *operand[2];
    unsigned n_operands;
    bool help; /* --help or -h: nothing else was looked at behind it */
};
enum { CONFIG_OPERANDS = 2 };

/* The process's environment: the only place that knows it. */
char **config_environment(void);

enum err_code config_load(struct config_input *input, struct config **config,
                          struct err *err) MUST_USE;
void config_free(struct config *config); /* NULL is fine */

/* What must hold to serve: an address that others can reach wants a key. */
enum err_code config_check_serve(const struct config *config, struct err *err) MUST_USE;

/* The effective values, one a line, secrets masked, each with its source. */
void config_print(const struct config *config, struct buf *out);
/* From the table alone. */
void config_print_help(struct buf *out);
void config_print_example(struct buf *out);
void config_print_markdown(struct buf *out);

/* The one of `names` with the least edit distance to `word` (a swap of neighbours counts once); the
 * first of equals; NULL when there is none. */
const char *config_nearest(const char *word, const char *const *names, size_t n);

#endif
