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
 *   COLOR     auto, always, never
 *
 * min and max are of UINT; of TEXT, max is the length in bytes. */
#ifndef HM_CONFIG_TABLE_H
#define HM_CONFIG_TABLE_H

enum config_flag {
    CONFIG_SECRET = 1, /* masked when shown; a key KEY_file names a file that holds the value */
};

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
    X(STAGE_PACE, stage_pace_ms, UINT, memory.stage_pace_ms, "250", 0, 60000, "ms", "memory", 0,   \
      "Once the stages have caught up with a space they look at it again at the earliest after "   \
      "so long, unless somebody waits; 0: at once")                                                \
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
