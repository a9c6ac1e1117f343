/* The bodies of POST turns, four forms, to one array of inputs (DESIGN 10):
 *
 *   {"turns":[{id?,session?,speaker?,role?,text,timestamp?,metadata?}, …]}
 *   {"messages":[{role,content,name?}, …], "session"?}    as chat clients keep them
 *   {text, …}                                             one turn
 *   a turn a line                                          application/x-ndjson
 *
 * The first three are JSON and told apart by their members. Types, unknown members (named
 * `turns[i].member`; in messages they are ignored) and the count are checked here; lengths, blank
 * text and reserved ids in accept_check_turn(). A message's content is a string or parts, of which
 * those of type "text" are joined by line feeds; a message that only calls tools (content null,
 * tool_calls or function_call there) says nothing and is left out. null is the same as leaving an
 * optional member out. Metadata is kept as compact JSON with its members in the order they came. */
#ifndef HM_API_TURNS_JSON_H
#define HM_API_TURNS_JSON_H

#include "core/ingest/accept.h"

struct turns_body {
    struct turn_input *turns; /* in the arena, with all their text */
    uint32_t n;
    bool messages;
    uint32_t *places; /* index in the body of each; NULL: as they stand here */
};

enum err_code turns_json(struct arena *arena, struct str body, bool ndjson, struct turns_body *out,
                         struct err *err) MUST_USE;

#endif
