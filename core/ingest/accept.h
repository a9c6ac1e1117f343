/* Accepting turns: the first station of a turn (DESIGN 6.1).
 *
 * From validated input and a snapshot to one batch: turn records with holes for n, documents and
 * ordinals; client-id and session rows; postings of the turn layer; counters. Nothing is looked up
 * twice: duplicates are found here, and a race with another call for the same id is caught by the
 * batch's precondition, then the owner builds again.
 *
 * Duplicates. With a client id: same speaker, role, session, text, metadata, and timestamp where
 * both gave one: duplicate; else ERR_CONFLICT naming turns[i].id. The same id twice in one call
 * follows the same rule. `messages` without ids: a leading run that equals the session's stored
 * tail is skipped if it is the whole history of the session and a new message follows, or if it
 * has >= 3 messages (the longest such run counts).
 *
 * Names. The speaker ordinal is that of turn_speaker(): a turn without a speaker is filed under its
 * role, else "user", so every turn has one and facts show the name they are filed under.
 *
 * Validation of one turn is done by accept_check_turn(), limits in core/base/limits.h; the first
 * fault refuses the whole call with the parameter `turns[i].field` (or `messages[i].field`). */
#ifndef HM_CORE_INGEST_ACCEPT_H
#define HM_CORE_INGEST_ACCEPT_H

#include "core/batch.h"
#include "core/graph/space.h"
#include "core/graph/turn.h"
#include "core/services.h"

struct turn_input {
    struct str id, session, speaker, role, text, metadata; /* absent: .at NULL or empty */
    bool has_time;
    int64_t time_ms;
    int offset_min;
};

struct accept_call {
    const struct turn_input *turns;
    uint32_t n;
    bool messages; /* from `messages`: the history rule applies; `noun` in parameters */
    int64_t received_ms;
    bool embeds; /* an embed provider is configured: new documents make the space due */
    struct tokenizers *tokenizers; /* may be NULL */
};

struct accepted_turn {
    bool duplicate;
    bool is_index; /* `n` is an index among the new turns until accept_receipt() has run */
    uint32_t n;    /* the turn's number; of a duplicate: the number of the turn it repeats */
    struct str id; /* as shown; without a client's id and while is_index: set by the receipt */
};

struct accept_plan {
    struct batch *batch; /* NULL: nothing new */
    uint32_t slot;       /* of the first new turn's number */
    uint32_t accepted, duplicates;
    struct accepted_turn *turns; /* in order of the call */
};

/* Field limits, UTF-8, blank text, reserved ids. `noun` is "turns" or "messages"; the fields of a
 * message are named as clients send them (content, name). */
enum err_code accept_check_turn(const struct turn_input *turn, const char *noun, uint32_t index,
                                struct err *err) MUST_USE;

/* Checks all turns, then builds. `settings` are those of the space (NULL: read here). `space` 0
 * with `name`: the batch creates the space with `settings`. A refusal of the batch with
 * ERR_CONFLICT means: find the space again and build again. The plan borrows from `txn` only until
 * it returns; its strings lie in the arena. */
enum err_code accept_build(struct store_txn *txn, uint64_t space, struct str name,
                           const struct space *settings, const struct accept_call *call,
                           struct arena *arena, struct accept_plan *plan, struct err *err) MUST_USE;

/* After the commit: numbers and shown ids of the new turns. False when memory is short. */
bool accept_receipt(struct arena *arena, struct accept_plan *plan);

#endif
