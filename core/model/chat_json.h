/* The wire form of /chat/completions, both ways (WIRE D8).
 *
 * Requests are written on one rung of the ladder (endpoint.h): the two rungs with json_schema send
 * the schema in response_format, the two below put it into the system message, where DeepSeek's
 * json_object also finds the word JSON. A question asked again carries the reply that was wrong,
 * what was wrong, and the schema.
 *
 * Replies: content as string, null, or array of parts; arguments of a tool call instead; reasoning
 * fields are ignored; an error object with status 200; no choices. */
#ifndef HM_CORE_MODEL_CHAT_JSON_H
#define HM_CORE_MODEL_CHAT_JSON_H

#include "core/model/base_json.h"
#include "core/model/endpoint.h"

struct chat_request {
    struct str model;
    const char *name, *system, *schema; /* schema NULL: text is wanted */
    struct str user;
    struct str reply, wrong; /* the question is asked again; reply.at NULL: it is not */
    uint32_t max_tokens;     /* 0: not sent */
    float temperature;       /* < 0: not sent */
    struct str reasoning;    /* empty: not sent */
    bool stream;
    struct endpoint_way way;
    struct str extra;
};
/* False: memory is short. */
bool chat_json_write(const struct chat_request *request, struct buf *out);
/* Whether this request would send the parameter. */
bool chat_json_sends(const struct chat_request *request, enum endpoint_param param);

enum chat_shape {
    CHAT_BROKEN, /* not JSON, or nothing that is known */
    CHAT_FAULT,  /* an error object */
    CHAT_EMPTY,  /* no choices, no content */
    CHAT_SAID
};
enum chat_finish { FINISH_STOP, FINISH_LENGTH, FINISH_FILTER };

struct chat_usage {
    bool known;
    uint64_t in, out;
};

struct chat_reply {
    enum chat_shape shape;
    struct str text; /* CHAT_SAID: as it was said */
    enum chat_finish finish;
    struct chat_usage usage;
    struct model_fault fault; /* CHAT_FAULT */
};
/* False: memory is short. */
bool chat_json_read(struct arena *arena, struct str body, struct chat_reply *out);
/* One event of a stream: delta instead of message; most have no finish and no usage. `finished`:
 * it names a finish reason. */
bool chat_json_chunk(struct arena *arena, struct str data, struct chat_reply *out, bool *finished);

/* The JSON in what a model said, as an object that `schema` asks for: repaired, a list alone or an
 * object alone put where the schema's one list stands, a single value where a list is wanted put
 * into one. ERR_UNPROCESSABLE: there is none. `*cut`: it ended early and was closed. Freed with
 * base_json_free(). */
enum err_code chat_json_object(struct arena *arena, struct str said, const char *schema,
                               struct json_t **out, bool *cut) MUST_USE;

#endif
