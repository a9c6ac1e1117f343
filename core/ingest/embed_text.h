/* What is embedded of a document, and how a long text is cut.
 *
 *   turn     "Speaker: " and the part of its text that the document is
 *   fact     content; the questions it could answer, where a model told them
 *   episode  title and summary
 *   topic    title, summary, keywords
 *
 * A text over the provider's limit is several pieces that end at sentences; its vector is the mean
 * of theirs. */
#ifndef HM_CORE_INGEST_EMBED_TEXT_H
#define HM_CORE_INGEST_EMBED_TEXT_H

#include "core/graph/turn.h"
#include "core/index/column.h"
#include "core/index/segment.h"
#include "core/ingest/stage.h"

enum { EMBED_PIECES_MAX = 32 }; /* of a text; what lies behind them is left out */

struct embed_reader {
    const struct stage_base *base;
    struct columns *columns;
    /* Parts of a long turn are asked for one after the other. */
    struct turn turn; /* n 0: none yet */
    struct str rest;  /* behind the part that was read last */
    uint32_t part;    /* index of the one that `rest` begins with */
};

/* False when memory is short. */
bool embed_reader_init(struct embed_reader *reader, const struct stage_base *base);
/* In the arena, not borrowed. Empty: there is nothing to embed. The document must live. */
enum err_code embed_text(struct embed_reader *reader, enum layer layer, uint32_t doc,
                         struct str *text, struct err *err) MUST_USE;

/* Writes at most EMBED_PIECES_MAX pieces, none blank; returns how many. */
uint32_t embed_cut(struct str text, uint32_t tokens, struct str *pieces);

#endif
