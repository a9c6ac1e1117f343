/* A turn: one utterance as the client sent it (DESIGN 1, 13).
 *
 * The record has three holes that the writer fills (see core/batch.h), at fixed offsets. Text over
 * LIMIT_PART_BYTES lies in KIND_TEXT parts; `text` is then absent after decoding and turn_text()
 * joins it. Long text is indexed as several documents of the turn layer, one a part of at most
 * LIMIT_DOC_BYTES (core/text/sentence.h part_next); a turn has `docs` consecutive ones. */
#ifndef HM_CORE_GRAPH_TURN_H
#define HM_CORE_GRAPH_TURN_H

#include "core/store.h"

enum time_source { TIME_GIVEN, TIME_RECEIVED, TIME_FUTURE };

struct turn {
    uint64_t seq;
    uint32_t n;          /* from the key */
    uint32_t doc;        /* first document of the turn layer */
    uint16_t docs;       /* how many */
    uint32_t session_no; /* ordinals of the names below, from 1 */
    uint32_t speaker_no;
    int64_t time_ms;    /* event time, UTC */
    int16_t offset_min; /* that it came with */
    int64_t received_ms;
    uint8_t time_source; /* enum time_source */
    struct str id;       /* the client's own; empty: none, shown as turn_{n} */
    struct str session;  /* empty: the default session */
    struct str speaker;  /* empty: none given */
    struct str role;     /* empty: none given */
    struct str metadata; /* compact JSON object; empty: none */
    uint32_t text_len;
    struct str text; /* .at NULL: in parts */
};

/* Byte offsets of the holes in the encoded record. */
enum { TURN_DOC_AT = 8, TURN_SESSION_AT = 12, TURN_SPEAKER_AT = 16 };

/* `text` decides by its length whether it is stored inside. */
void turn_encode(const struct turn *turn, struct buf *out);
enum err_code turn_decode(struct str value, uint32_t n, struct turn *turn,
                          struct err *err) MUST_USE;
/* Absent turn: ERR_OK with turn->n 0. */
enum err_code turn_get(struct store_txn *txn, uint64_t space, uint32_t n, struct turn *turn,
                       struct err *err) MUST_USE;
/* Sets turn->text, joined in the arena when it is in parts. */
enum err_code turn_load_text(struct store_txn *txn, uint64_t space, struct arena *arena,
                             struct turn *turn, struct err *err) MUST_USE;
/* What is shown as its id: the client's, else "turn_412". In the arena. */
struct str turn_shown_id(struct arena *arena, const struct turn *turn);
/* The name facts and headers use: speaker, else role, else "user". */
struct str turn_speaker(const struct turn *turn);
/* Role assistant, tool or system: its text may be an echo of what we served (DESIGN 13). */
bool turn_is_machine(const struct turn *turn);

#endif
