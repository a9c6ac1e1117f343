/* What demo reads and sends: the conversation file (tests/data/sample.json is one) and the few
 * calls of the API that it makes. Everything decoded is copied to the arena.
 *
 *   {"conversations":[{"id","sessions":[{"id","time","turns":[{"id","speaker","text"}]}],
 *                      "questions":[{"id","question","answer"}], "ask":["id", …]}]}
 *
 * Of several conversations the first is taken. Turns of a session are 30 s apart. `ask` names the
 * questions to be asked; without it the first three are. Replies are read leniently: a member that
 * is not there is empty. */
#ifndef HM_SERVER_DEMO_JSON_H
#define HM_SERVER_DEMO_JSON_H

#include "core/base/str.h"

struct demo_turn {
    struct str id, session, speaker, role, text; /* .at NULL: not given */
    struct str timestamp;                        /* RFC 3339 in the session's own offset */
};
struct demo_question {
    struct str id, text, answer;
};
struct demo_file {
    struct str name;
    struct demo_turn *turns;
    size_t n_turns, n_sessions;
    struct demo_question *ask;
    size_t n_ask;
};

enum err_code demo_file_read(struct arena *arena, const char *path, struct demo_file *file,
                             struct err *err) MUST_USE;
/* The body of POST turns. */
enum err_code demo_turns_encode(struct arena *arena, const struct demo_turn *turns, size_t n,
                                struct str *body, struct err *err) MUST_USE;

/* The numbers of the replies to POST turns, flush and GET of a space. */
struct demo_counts {
    uint64_t accepted, duplicates, pending_turns;
    uint64_t turns, episodes, topics, facts;
    struct str encoder;        /* .at NULL: there is none */
    bool has_vectors;          /* a generation is in use */
    uint64_t embedded, behind; /* documents */
};
enum err_code demo_counts_decode(struct arena *arena, struct str body, struct demo_counts *counts,
                                 struct err *err) MUST_USE;

/* A topic, episode or fact, as far as it is shown. */
struct demo_node {
    double score;        /* negative: none */
    struct str title;    /* a fact's content */
    struct str text;     /* summary */
    struct str from, to; /* dates, YYYY-MM-DD */
    struct str session;
    struct str turns; /* source turns, joined by blanks */
    size_t members;   /* a topic's episodes */
};
struct demo_reply {
    struct demo_node *topics, *episodes, *facts;
    size_t n_topics, n_episodes, n_facts;
    struct str context;
    uint64_t tokens;
};
/* Of GET query, and (topics only) of GET topics. */
enum err_code demo_reply_decode(struct arena *arena, struct str body, struct demo_reply *reply,
                                struct err *err) MUST_USE;
/* error.message of a refusal; the start of the body when it is none of ours. */
struct str demo_error_decode(struct arena *arena, struct str body);

#endif
