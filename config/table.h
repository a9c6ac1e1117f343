/* The one table of parameters (STYLE 15). A row is everything there is to know of a parameter; from
 * it come the flag (--max-connections), the variable (HYPERMEM_MAX_CONNECTIONS), the key of the ini
 * file (max_connections in [server]), --help, the example file and the README table.
 *
 * To add a parameter: a row here and a member in config.h; the compiler finds the rest.
 *
 * symbol, key, type, member of struct config, default, min, max, unit, group, flags, prose
 *
 *   TEXT      anything without control characters        UINT     digits; min <= value <= max
 *   ADDRESS   127.0.0.1:7070, [::1]:7070, localhost:0    BOOL     true/false, yes/no, on/off, 1/0
 *   NAMES     host names, comma-separated                LEVEL    error, warn, info, debug
 *   PATH      a file or directory, not empty             FORMAT   text, json
 *   COLOR     auto, always, never                        REAL     a decimal number, or empty: -1
 *   URL       http:// or https://, or empty              RERANK   a form of rerank requests
 *   HEADERS   "Name: value", several separated by | or line ends
 *
 * min and max are of UINT and REAL; of TEXT, URL and HEADERS, max is the length in bytes. */
#ifndef HM_CONFIG_TABLE_H
#define HM_CONFIG_TABLE_H

enum config_flag {
    CONFIG_SECRET = 1, /* masked when shown; a key KEY_file names a file that holds the value */
};

/* What a purpose may have of its own; what it has not is the llm_* row's. A key and headers of
 * another host are never taken over (server/model_options.h). */
#define CONFIG_LLM_PURPOSE(X, ID, purpose, what)                                                   \
    X(LLM_##ID##_BASE_URL, llm_##purpose##_base_url, URL, llm.purpose.base_url, "", 0, 2048, "",   \
      "llm", 0, "Of " what " alone: instead of llm_base_url")                                      \
    X(LLM_##ID##_API_KEY, llm_##purpose##_api_key, TEXT, llm.purpose.api_key, "", 0, 1024, "",     \
      "llm", CONFIG_SECRET, "Of " what " alone: instead of llm_api_key")                           \
    X(LLM_##ID##_MODEL, llm_##purpose##_model, TEXT, llm.purpose.model, "", 0, 256, "", "llm", 0,  \
      "Of " what " alone: instead of llm_model")                                                   \
    X(LLM_##ID##_EXTRA_BODY, llm_##purpose##_extra_body, TEXT, llm.purpose.extra_body, "", 0,      \
      8192, "", "llm", 0, "Of " what " alone: instead of llm_extra_body")

#define CONFIG_TABLE_LLM(X)                                                                        \
    X(LLM_BASE_URL, llm_base_url, URL, llm.provider.base_url, "", 0, 2048, "", "llm", 0,           \
      "OpenAI-compatible chat endpoint, such as http://127.0.0.1:11434/v1. Empty: no chat model, " \
      "unless llm_model is set and the environment has OPENAI_BASE_URL")                           \
    X(LLM_API_KEY, llm_api_key, TEXT, llm.provider.api_key, "", 0, 1024, "", "llm", CONFIG_SECRET, \
      "Key for it. Empty: OPENAI_API_KEY of the environment, if the endpoint's host is that of "   \
      "OPENAI_BASE_URL")                                                                           \
    X(LLM_MODEL, llm_model, TEXT, llm.provider.model, "", 0, 256, "", "llm", 0,                    \
      "Model name; may be empty for servers that have one model")                                  \
    X(LLM_TIMEOUT, llm_timeout_ms, UINT, llm.provider.timeout_ms, "120000", 100, 3600000, "ms",    \
      "llm", 0, "Longest time of one request")                                                     \
    X(LLM_IDLE_TIMEOUT, llm_idle_timeout_ms, UINT, llm.idle_timeout_ms, "60000", 100, 3600000,     \
      "ms", "llm", 0, "Longest silence inside a streamed answer")                                  \
    X(LLM_CONCURRENCY, llm_concurrency, UINT, llm.provider.concurrency, "8", 1, 1024, "", "llm",   \
      0, "Requests to one endpoint at once")                                                       \
    X(LLM_ATTEMPTS, llm_attempts, UINT, llm.provider.attempts, "4", 1, 20, "", "llm", 0,           \
      "Failures (429, 5xx, no connection) of a call until it is given up")                         \
    X(LLM_PATIENCE, llm_patience_s, UINT, llm.patience_s, "600", 0, 604800, "s", "llm", 0,         \
      "A stage of an episode whose calls fail is tried again for so long, 6 times at most; then "  \
      "it is made built in, marked degraded, and its job kept as a dead letter")                   \
    X(LLM_EXTRA_HEADERS, llm_extra_headers, HEADERS, llm.provider.extra_headers, "", 0, 4096, "",  \
      "llm", CONFIG_SECRET,                                                                        \
      "Further headers of each request: Name: value, separated by vertical bars")                  \
    X(LLM_EXTRA_BODY, llm_extra_body, TEXT, llm.provider.extra_body, "", 0, 8192, "", "llm", 0,    \
      "JSON object whose members are put over those of each request; null leaves one out, such "   \
      "as {\"chat_template_kwargs\":{\"enable_thinking\":false}}")                                 \
    X(LLM_MAX_TOKENS, llm_max_tokens, UINT, llm.max_tokens, "0", 0, 1000000, "tokens", "llm", 0,   \
      "Longest reply; 0: what each purpose asks for")                                              \
    X(LLM_TEMPERATURE, llm_temperature, REAL, llm.temperature, "0", 0, 2, "", "llm", 0,            \
      "Temperature; empty: not sent. Models that refuse it are remembered")                        \
    X(LLM_REASONING_EFFORT, llm_reasoning_effort, TEXT, llm.reasoning_effort, "", 0, 32, "",       \
      "llm", 0, "reasoning_effort of each request, such as low; empty: not sent")                  \
    CONFIG_LLM_PURPOSE(X, BOUNDARY, boundary, "boundary detection")                                \
    CONFIG_LLM_PURPOSE(X, DESCRIBE, describe, "titles and summaries")                              \
    CONFIG_LLM_PURPOSE(X, TOPIC, topic, "topic decisions")                                         \
    CONFIG_LLM_PURPOSE(X, FACTS, facts, "fact extraction")                                         \
    CONFIG_LLM_PURPOSE(X, ANSWER, answer, "answers")

#define CONFIG_TABLE_EMBED(X)                                                                      \
    X(EMBED_BASE_URL, embed_base_url, URL, embed.provider.base_url, "", 0, 2048, "", "embed", 0,   \
      "OpenAI-compatible embeddings endpoint. Empty: none, unless embed_model is set and the "     \
      "environment has OPENAI_BASE_URL")                                                           \
    X(EMBED_MODEL_DIR, embed_model_dir, TEXT, embed.model_dir, "", 0, 4096, "", "embed", 0,        \
      "Directory of an encoder that runs in this process (BERT family: config.json, vocab.txt or " \
      "tokenizer.json, model.safetensors). Empty, and no endpoint: all-MiniLM-L6-v2 under "        \
      "models/ of the data directory, or where make model or make install puts it, if it is "      \
      "there. none: no encoder")                                                                   \
    X(EMBED_API_KEY, embed_api_key, TEXT, embed.provider.api_key, "", 0, 1024, "", "embed",        \
      CONFIG_SECRET, "Key for the endpoint; see llm_api_key")                                      \
    X(EMBED_MODEL, embed_model, TEXT, embed.provider.model, "", 0, 256, "", "embed", 0,            \
      "Model name; may be empty for servers that have one model")                                  \
    X(EMBED_TIMEOUT, embed_timeout_ms, UINT, embed.provider.timeout_ms, "30000", 100, 3600000,     \
      "ms", "embed", 0, "Longest time of one request")                                             \
    X(EMBED_CONCURRENCY, embed_concurrency, UINT, embed.provider.concurrency, "4", 1, 1024, "",    \
      "embed", 0, "Requests at once")                                                              \
    X(EMBED_ATTEMPTS, embed_attempts, UINT, embed.provider.attempts, "4", 1, 20, "", "embed", 0,   \
      "Failures (429, 5xx, no connection) of a call until it is given up")                         \
    X(EMBED_EXTRA_HEADERS, embed_extra_headers, HEADERS, embed.provider.extra_headers, "", 0,      \
      4096, "", "embed", CONFIG_SECRET,                                                            \
      "Further headers of each request: Name: value, separated by vertical bars")                  \
    X(EMBED_EXTRA_BODY, embed_extra_body, TEXT, embed.provider.extra_body, "", 0, 8192, "",        \
      "embed", 0, "JSON object whose members are put over those of each request")                  \
    X(EMBED_BATCH, embed_batch, UINT, embed.batch, "32", 1, 4096, "texts", "embed", 0,             \
      "Texts a request at most; halved where a server takes fewer")                                \
    X(EMBED_BATCH_TOKENS, embed_batch_tokens, UINT, embed.batch_tokens, "16384", 16, 1000000,      \
      "tokens", "embed", 0, "Estimated tokens a request at most")                                  \
    X(EMBED_TEXT_TOKENS, embed_text_tokens, UINT, embed.text_tokens, "480", 16, 1000000, "tokens", \
      "embed", 0, "Longer texts are embedded in pieces; below the model's own limit")              \
    X(EMBED_DIMENSIONS, embed_dimensions, UINT, embed.dimensions, "0", 0, 65536, "", "embed", 0,   \
      "Numbers kept of each vector, for models trained for it (Matryoshka); 0: all")               \
    X(EMBED_SEND_DIMENSIONS, embed_send_dimensions, BOOL, embed.send_dimensions, "false", 0, 0,    \
      "", "embed", 0, "Ask the server for so many too; many servers refuse that")                  \
    X(EMBED_QUERY_PREFIX, embed_query_prefix, TEXT, embed.query_prefix, "", 0, 1024, "", "embed",  \
      0,                                                                                           \
      "Put before each query, as it is, such as \"query: \"; see the model's card. An ini file "   \
      "drops a blank at its end: use the variable or the flag")                                    \
    X(EMBED_DOCUMENT_PREFIX, embed_document_prefix, TEXT, embed.document_prefix, "", 0, 1024, "",  \
      "embed", 0, "Put before each text that is stored, such as \"passage: \"")                    \
    X(EMBED_QUERY_DEADLINE, embed_query_deadline_ms, UINT, embed.query_deadline_ms, "2000", 10,    \
      600000, "ms", "embed", 0,                                                                    \
      "After it a query goes on with words alone, and says degraded: embed")

#define CONFIG_TABLE_RERANK(X)                                                                     \
    X(RERANK_BASE_URL, rerank_base_url, URL, rerank.provider.base_url, "", 0, 2048, "", "rerank",  \
      0,                                                                                           \
      "Rerank endpoint, without the /rerank at its end. Empty: none, unless rerank_model is set "  \
      "and the environment has OPENAI_BASE_URL")                                                   \
    X(RERANK_MODEL_DIR, rerank_model_dir, TEXT, rerank.model_dir, "", 0, 4096, "", "rerank", 0,    \
      "Directory of a cross-encoder that runs in this process (as embed_model_dir, with a "        \
      "classification head of one label)")                                                         \
    X(RERANK_API_KEY, rerank_api_key, TEXT, rerank.provider.api_key, "", 0, 1024, "", "rerank",    \
      CONFIG_SECRET, "Key for the endpoint; see llm_api_key")                                      \
    X(RERANK_MODEL, rerank_model, TEXT, rerank.provider.model, "", 0, 256, "", "rerank", 0,        \
      "Model name; may be empty for servers that have one model")                                  \
    X(RERANK_FORMAT, rerank_format, RERANK, rerank.format, "probe", 0, 0, "", "rerank", 0,         \
      "Form of the requests: cohere (also Jina, vLLM, llama.cpp, Infinity, SiliconFlow), tei, "    \
      "voyage, dashscope, deepinfra; probe tries them once")                                       \
    X(RERANK_CANDIDATES, rerank_candidates, UINT, rerank.candidates, "50", 1, 1000, "", "rerank",  \
      0, "Candidates a query sends at most")                                                       \
    X(RERANK_CHARS, rerank_chars, UINT, rerank.chars, "2000", 16, 100000, "characters", "rerank",  \
      0, "Longer candidates are cut")                                                              \
    X(RERANK_DEADLINE, rerank_deadline_ms, UINT, rerank.deadline_ms, "2000", 10, 600000, "ms",     \
      "rerank", 0, "After it a query goes on in the order it has, and says degraded: rerank")      \
    X(RERANK_CONCURRENCY, rerank_concurrency, UINT, rerank.provider.concurrency, "4", 1, 1024, "", \
      "rerank", 0, "Requests at once")                                                             \
    X(RERANK_EXTRA_HEADERS, rerank_extra_headers, HEADERS, rerank.provider.extra_headers, "", 0,   \
      4096, "", "rerank", CONFIG_SECRET,                                                           \
      "Further headers of each request: Name: value, separated by vertical bars")                  \
    X(RERANK_EXTRA_BODY, rerank_extra_body, TEXT, rerank.provider.extra_body, "", 0, 8192, "",     \
      "rerank", 0, "JSON object whose members are put over those of each request")

#define CONFIG_TABLE_RECALL(X)                                                                     \
    X(VECTOR_WEIGHT_TOPICS, vector_weight_topics, REAL, recall.weight_topics, "1", 0, 100, "",     \
      "recall", 0,                                                                                 \
      "What the nearness of a topic's vector counts in its score; its own words count 1. 0 or "    \
      "empty: those vectors are not looked at")                                                    \
    X(VECTOR_WEIGHT_EPISODES, vector_weight_episodes, REAL, recall.weight_episodes, "1", 0, 100,   \
      "", "recall", 0, "The same of an episode")                                                   \
    X(VECTOR_WEIGHT_FACTS, vector_weight_facts, REAL, recall.weight_facts, "1", 0, 100, "",        \
      "recall", 0, "The same of a fact; its own words count 0.5, its turn and windows 1 each")     \
    X(VECTOR_WEIGHT_TURNS, vector_weight_turns, REAL, recall.weight_turns, "2", 0, 100, "",        \
      "recall", 0, "The same of a fact's best source turn")                                        \
    X(VECTOR_LAMBDA, vector_lambda, REAL, recall.lambda, "0.5", 0, 10, "", "recall", 0,            \
      "How much of its hyperedges' vectors is added to that of a fact or an episode; 0: none. A "  \
      "query may say otherwise (lambda)")                                                          \
    X(VECTOR_EDGE_MEAN, vector_edge_mean, BOOL, recall.edge_mean, "false", 0, 0, "", "recall", 0,  \
      "Of a node in several hyperedges the mean of their vectors is added instead of the sum")

#define CONFIG_TABLE_MODELS(X)                                                                     \
    CONFIG_TABLE_LLM(X)                                                                            \
    CONFIG_TABLE_EMBED(X)                                                                          \
    CONFIG_TABLE_RERANK(X)                                                                         \
    CONFIG_TABLE_RECALL(X)

#define CONFIG_TABLE_ALWAYS(X)                                                                     \
    X(LISTEN, listen, ADDRESS, server.listen, "127.0.0.1:7070", 0, 0, "address", "server", 0,      \
      "Where to listen. Port 0 takes a free one. Any address but a loopback one wants an api_key") \
    X(MAX_CONNECTIONS, max_connections, UINT, server.max_connections, "1024", 4, 65536, "",        \
      "server", 0,                                                                                 \
      "Connections served at once; further ones are told to come back. Half of them may wait "     \
      "(wait=true, min_seq). Lowered when the system allows fewer descriptors")                    \
    X(REQUEST_TIMEOUT, request_timeout_s, UINT, server.request_timeout_s, "60", 1, 3600, "s",      \
      "server", 0,                                                                                 \
      "Time for the head and body of a request to arrive, and for a reply to be "                  \
      "taken; 408 after that")                                                                     \
    X(IDLE_TIMEOUT, idle_timeout_s, UINT, server.idle_timeout_s, "75", 1, 3600, "s", "server", 0,  \
      "How long a connection may stay open between two requests")                                  \
    X(SHUTDOWN_TIMEOUT, shutdown_timeout_s, UINT, server.shutdown_timeout_s, "20", 1, 600, "s",    \
      "server", 0, "Deadline of a stop by SIGTERM or SIGINT; a second signal hastens it")          \
    X(READERS, readers, UINT, server.readers, "0", 0, 256, "threads", "server", 0,                 \
      "Workers for queries and reads; 0: one a core")                                              \
    X(STAGE_WORKERS, stage_workers, UINT, server.stage_workers, "0", 0, 256, "threads", "server",  \
      0, "Workers for what happens to turns after they are stored; 0: one a core")                 \
    X(ENCODERS, encoders, UINT, server.encoders, "0", 0, 256, "threads", "server", 0,              \
      "Threads of the built-in encoder for texts that are stored; 0: one for two cores. A query "  \
      "is encoded by its reader")                                                                  \
    X(API_KEY, api_key, TEXT, access.api_key, "", 0, 1024, "", "access", CONFIG_SECRET,            \
      "Key that clients send as Authorization: Bearer KEY. Empty: none is asked for, which is "    \
      "allowed on loopback only. A command line is visible to other users: use the file form")     \
    X(ALLOWED_HOSTS, allowed_hosts, NAMES, access.allowed_hosts, "", 0, 0, "", "access", 0,        \
      "Further names allowed in a Host header when there is no key, without port, "                \
      "comma-separated")                                                                           \
    X(DATA_DIR, data_dir, PATH, storage.data_dir, "hypermem-data", 0, 0, "", "storage", 0,         \
      "Directory of the data; made when it is not there")                                          \
    X(MAP_SIZE, map_size_gib, UINT, storage.map_size_gib, "1024", 1, 131072, "GiB", "storage", 0,  \
      "Address space reserved for the data file, its largest size; takes no memory. Halved down "  \
      "to 16 while the system refuses")                                                            \
    X(AUTO_CREATE, auto_create, BOOL, memory.auto_create, "true", 0, 0, "", "memory", 0,           \
      "POST of turns makes the space when it does not exist")                                      \
    X(IDLE_CLOSE, idle_close_s, UINT, memory.idle_close_s, "900", 1, 604800, "s", "memory", 0,     \
      "An open episode is closed when its session had no new turn for so long")                    \
    X(STAGE_PACE, stage_pace_ms, UINT, memory.stage_pace_ms, "1000", 0, 60000, "ms", "memory", 0,  \
      "Once the stages have caught up with a space they look at it again at the earliest after "   \
      "so long, unless somebody waits; 0: at once")                                                \
    CONFIG_TABLE_MODELS(X)                                                                         \
    X(LOG_LEVEL, log_level, LEVEL, log.level, "info", 0, 0, "", "log", 0,                          \
      "Least level that is logged: error, warn, info or debug")                                    \
    X(LOG_FORMAT, log_format, FORMAT, log.json, "text", 0, 0, "", "log", 0,                        \
      "text (key=value) or json (an object a line); on standard error")                            \
    X(READY_MAX_JOB_AGE, ready_max_job_age_s, UINT, health.ready_max_job_age_s, "0", 0, 604800,    \
      "s", "health", 0, "/health/ready fails when the oldest waiting job is older; 0: never")      \
    X(READY_MIN_DISK, ready_min_disk_mib, UINT, health.ready_min_disk_mib, "64", 0, 1048576,       \
      "MiB", "health", 0, "/health/ready fails when less disk space is free")                      \
    X(COLOR, color, COLOR, terminal.color, "auto", 0, 0, "", "terminal", 0,                        \
      "Colour in what demo prints: auto (on a terminal, unless NO_COLOR is set), always, never")

#ifdef HYPERMEM_FAULTS
#define CONFIG_TABLE(X)                                                                            \
    CONFIG_TABLE_ALWAYS(X)                                                                         \
    X(FAULT, fault, TEXT, fault, "", 0, 4096, "", "test", 0,                                       \
      "Fault points of a test build: name:nth:action, comma-separated (kill, enospc, eio)")
#else
#define CONFIG_TABLE(X) CONFIG_TABLE_ALWAYS(X)
#endif

enum config_id {
#define X(id, ...) CONFIG_##id,
    CONFIG_TABLE(X)
#undef X
        CONFIG_COUNT
};

#endif
