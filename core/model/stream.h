/* A chat reply that comes in pieces: server-sent events to text, on the loop's thread.
 *
 *   bytes -> lines -> "data: {chunk}" -> content -> think blocks taken out -> piece()
 *
 * A server that does not stream answers with one document; it is collected and given as one piece
 * at the end. Costs: one small JSON parse an event. Memory: the arena. */
#ifndef HM_CORE_MODEL_STREAM_H
#define HM_CORE_MODEL_STREAM_H

#include "core/model/call.h"
#include "core/model/chat_json.h"

struct chat_stream {
    struct arena *arena;
    chat_piece_fn *piece;
    void *arg;
    struct buf line; /* what has come of the current line; the whole body when it is no stream */
    struct buf held; /* text that may be, or is in, a think block */
    struct buf text; /* what was given */
    enum { STREAM_NEW, STREAM_EVENTS, STREAM_DOCUMENT } form;
    enum { THINK_MAYBE, THINK_INSIDE, THINK_NOT } think;
    bool deaf; /* piece() said that nobody listens */
    bool no_memory;
    bool finished; /* a finish reason or [DONE] has come */
    enum chat_finish finish;
    struct chat_usage usage;
    bool faulty; /* an error came as an event */
    struct model_fault fault;
};

void chat_stream_init(struct chat_stream *stream, struct arena *arena, chat_piece_fn *piece,
                      void *arg);
/* False: stop receiving (deaf, no memory, an error event). */
bool chat_stream_take(struct chat_stream *stream, struct str bytes);
/* The end of the body: the last line and what is held. */
void chat_stream_end(struct chat_stream *stream);
/* Gives text that came as a document. */
void chat_stream_give(struct chat_stream *stream, struct str text);

#endif
