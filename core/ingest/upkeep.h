/* Housekeeping of one space, a bounded unit at a time, for when no turn work is due: a fold of the
 * inverted index, else a step of the vector index (upkeep_vectors.c), else rows whose time is over
 * (KIND_EXPIRY names them). Maintenance batches: they change no answer and have no seq.
 *
 * STAT_EXPIRE_DUE is the time of the first EXPIRY row, exactly, 0 when there is none. Rows are
 * added by batches outside the lane, with later times than those that are there, so what a unit
 * leaves is known from its snapshot; only "none is left" could be wrong by then, and is therefore
 * refused with ERR_CONFLICT when the space changed meanwhile (NEED_STAT SEQ). */
#ifndef HM_CORE_INGEST_UPKEEP_H
#define HM_CORE_INGEST_UPKEEP_H

#include "core/ingest/stage.h"

enum { UPKEEP_ROWS = 256 }; /* expired rows a unit */

/* unit->batch NULL: nothing to do now. */
enum err_code upkeep_build(const struct stage_base *base, int64_t now_ms, struct stage_unit *unit,
                           struct err *err) MUST_USE;
/* Settles, folds or drops, once VECTORS_DUE has come; takes EMBED_DUE away where there is no embed
 * provider. */
enum err_code upkeep__vectors(const struct stage_base *base, const struct space_stat *stat,
                              int64_t now_ms, struct stage_unit *unit, struct err *err) MUST_USE;

#endif
