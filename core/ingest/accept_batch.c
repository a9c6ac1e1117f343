/* From new turns to one batch: records with holes for what only the writer knows (numbers,
 * documents, ordinals), rows that find them, columns, postings, counters. */
#include "core/base/limits.h"
#include "core/base/tz.h"
#include "core/index/column.h"
#include "core/index/segment.h"
#include "core/ingest/accept_int.h"
#include "core/ingest/embed.h"
#include "core/text/date_terms.h"
#include "core/text/sentence.h"

enum {
    MENTIONS_MAX = 32, /* dates of one part that are indexed */
    RECORD_MAX = LIMIT_PART_BYTES + LIMIT_METADATA_BYTES + 4 * 128 + 256,
    SCRATCH_BYTES = 16 << 20,
};

/* The batch in the making. */
struct maker {
    struct accept_work *work;
    struct batch *batch;
    uint32_t turn_slot, doc_slot;
    int offset_min; /* of the space when the call came: for turns without a time */
    struct tokenizer *tokenizer;
    struct arena *scratch; /* a document's tokens; taken back after each */
    struct segment_doc *docs;
    struct turn_row *rows;
    uint32_t n_docs;
};

static struct str present(struct str s)
{
    return s.at != NULL ? s : STR("");
}

static struct turn turn_of(const struct maker *maker, const struct turn_input *input)
{
    int64_t now = maker->work->call->received_ms;
    struct turn turn = {.received_ms = now,
                        .id = present(input->id),
                        .session = present(input->session),
                        .speaker = present(input->speaker),
                        .role = present(input->role),
                        .metadata = present(input->metadata),
                        .text = present(input->text),
                        .text_len = (uint32_t)input->text.len};
    if (input->has_time) {
        turn.time_ms = input->time_ms;
        turn.offset_min = (int16_t)input->offset_min;
        turn.time_source = input->time_ms > now + FUTURE_MS ? TIME_FUTURE : TIME_GIVEN;
    } else {
        turn.time_ms = now;
        turn.offset_min = (int16_t)maker->offset_min;
        turn.time_source = TIME_RECEIVED;
    }
    return turn;
}

/* --- documents --- */

static uint32_t count_parts(struct str text)
{
    uint32_t n = 0;
    struct str part;
    while (part_next(&text, LIMIT_DOC_BYTES, &part))
        n++;
    return n;
}

/* The one place that decides under which words a part of a turn is found: its own, the days that it
 * speaks of, and the day on which it was said. */
static enum err_code index_part(struct maker *maker, struct str part, const struct turn *turn,
                                struct term_bag *bag, struct err *err)
{
    struct date_mention mentions[MENTIONS_MAX];
    struct civil day = civil_of_moment(turn->time_ms, turn->offset_min);
    size_t n = dates_find(part, turn->time_ms, turn->offset_min, mentions, MENTIONS_MAX);
    struct token_list tokens;
    enum err_code rc =
        tokenizer_run(maker->tokenizer, maker->scratch, part, TOKEN_INDEX, &tokens, err);
    if (rc == ERR_OK)
        rc = term_bag_of(maker->scratch, &tokens, 1, bag, err);
    if (rc == ERR_OK)
        rc =
            date_terms_add(maker->scratch, &(struct dated_text){part, mentions, n, &day}, bag, err);
    return rc;
}

/* Tokens go to the scratch arena, so that a long call needs memory for its terms only. */
static enum err_code bag_of(struct maker *maker, struct str part, const struct turn *turn,
                            struct term_bag *bag, struct err *err)
{
    struct term_bag found = {0};
    arena_reset(maker->scratch);
    enum err_code rc = index_part(maker, part, turn, &found, err);
    if (rc != ERR_OK)
        return rc;
    *bag = found;
    bag->at = ARENA_ARRAY(maker->work->arena, struct term_count, found.n);
    if (bag->at == NULL)
        return accept__memory(err);
    for (size_t i = 0; i < found.n; i++)
        bag->at[i] = (struct term_count){.term = found.at[i].term, .count = found.at[i].count};
    return ERR_OK;
}

static enum err_code add_docs(struct maker *maker, const struct turn *turn, struct err *err)
{
    struct str rest = turn->text;
    struct str part;
    for (uint32_t i = 0; part_next(&rest, LIMIT_DOC_BYTES, &part); i++) {
        struct segment_doc *doc = &maker->docs[maker->n_docs];
        doc->layer = LAYER_TURN;
        doc->doc = maker->n_docs;
        enum err_code rc = bag_of(maker, part, turn, &doc->bag, err);
        if (rc != ERR_OK)
            return rc;
        maker->rows[maker->n_docs] =
            (struct turn_row){.time_ms = turn->time_ms, .flags = i == 0 ? 0 : TURN_ROW_LATER};
        maker->n_docs++;
    }
    return ERR_OK;
}

/* --- records and rows --- */

static void add_record(struct maker *maker, uint32_t i, const struct turn *turn, uint32_t session,
                       uint32_t speaker)
{
    struct batch *batch = maker->batch;
    struct buf record;
    buf_init(&record, batch->arena, RECORD_MAX);
    turn_encode(turn, &record);
    if (!buf_ok(&record)) {
        batch->failed = true;
        return;
    }
    uint32_t op = batch_put_u32(batch, KIND_TURN, 0, buf_str(&record), PUT_STAMP);
    batch_fix(batch, op, FIX_KEY, 0, maker->turn_slot, i);
    batch_fix(batch, op, FIX_VALUE, TURN_DOC_AT, maker->doc_slot, turn->doc);
    batch_fix(batch, op, FIX_VALUE, TURN_SESSION_AT, session, 0);
    batch_fix(batch, op, FIX_VALUE, TURN_SPEAKER_AT, speaker, 0);
}

static void add_text_parts(struct maker *maker, uint32_t i, struct str text)
{
    if (text.len <= LIMIT_PART_BYTES)
        return;
    char key[8] = {0};
    for (uint32_t part = 0; text.len != 0; part++) {
        be32_set(key + 4, part);
        uint32_t op = batch_put(maker->batch, KIND_TEXT, (struct str){key, sizeof key},
                                str_part(text, 0, LIMIT_PART_BYTES), 0);
        batch_fix(maker->batch, op, FIX_KEY, 0, maker->turn_slot, i);
        text = str_part(text, LIMIT_PART_BYTES, text.len);
    }
}

static void add_finders(struct maker *maker, uint32_t i, const struct turn *turn, uint32_t session)
{
    struct batch *batch = maker->batch;
    char key[8] = {0};
    uint32_t op = batch_put(batch, KIND_SESSION_TURN, (struct str){key, sizeof key}, STR(""), 0);
    batch_fix(batch, op, FIX_KEY, 0, session, 0);
    batch_fix(batch, op, FIX_KEY, 4, maker->turn_slot, i);
    if (turn->id.len == 0)
        return;
    char n[4] = {0};
    op = batch_put(batch, KIND_TURN_ID, turn->id, (struct str){n, sizeof n}, 0);
    batch_fix(batch, op, FIX_VALUE, 0, maker->turn_slot, i);
    batch_need_absent(batch, KIND_TURN_ID, turn->id);
}

static void add_columns(struct maker *maker, uint32_t i, const struct turn *turn, uint32_t session,
                        uint32_t speaker)
{
    struct batch *batch = maker->batch;
    uint32_t op = column_put(batch, COLUMN_TURN, 0, &maker->rows[turn->doc], turn->docs);
    batch_fix(batch, op, FIX_ROW, 0, maker->doc_slot, turn->doc);
    for (uint32_t d = 0; d < turn->docs; d++) {
        uint32_t at = d * (uint32_t)sizeof(struct turn_row);
        batch_fix(batch, op, FIX_VALUE, at + offsetof(struct turn_row, n), maker->turn_slot, i);
        batch_fix(batch, op, FIX_VALUE, at + offsetof(struct turn_row, session_no), session, 0);
        batch_fix(batch, op, FIX_VALUE, at + offsetof(struct turn_row, speaker_no), speaker, 0);
    }
}

static enum err_code add_turn(struct maker *maker, uint32_t i, struct err *err)
{
    struct turn turn = turn_of(maker, &maker->work->call->turns[maker->work->fresh[i]]);
    turn.doc = maker->n_docs; /* relative; the slot is added */
    enum err_code rc = add_docs(maker, &turn, err);
    if (rc != ERR_OK)
        return rc;
    turn.docs = (uint16_t)(maker->n_docs - turn.doc);
    struct batch *batch = maker->batch;
    uint32_t session = batch_intern(batch, KIND_SESSION, turn.session, STAT_NEXT_SESSION);
    uint32_t speaker = batch_intern(batch, KIND_SPEAKER, turn_speaker(&turn), STAT_NEXT_SPEAKER);
    if (!batch_ok(batch))
        return accept__memory(err);
    add_record(maker, i, &turn, session, speaker);
    add_text_parts(maker, i, turn.text);
    add_finders(maker, i, &turn, session);
    add_columns(maker, i, &turn, session, speaker);
    batch_add(batch, STAT_TEXT_BYTES, turn.text_len);
    return batch_ok(batch) ? ERR_OK : accept__memory(err);
}

static enum err_code add_segment(struct maker *maker, struct err *err)
{
    struct segment_bases bases;
    for (int layer = 0; layer < LAYERS; layer++) {
        bases.base[layer] = 0;
        bases.slot[layer] = SEGMENT_NO_SLOT;
    }
    bases.slot[LAYER_TURN] = maker->doc_slot;
    return segment_add(maker->batch, maker->docs, maker->n_docs, &bases, err);
}

/* --- the batch --- */

/* The language decides the terms and may change while there is no turn, so the first turns insist
 * on the settings they were built with. */
static enum err_code need_settings(struct accept_work *work, struct batch *batch, struct err *err)
{
    enum err_code rc = store_stat(work->txn, work->space, &work->stat, err);
    if (rc == ERR_OK && work->stat.v[STAT_TURNS] == 0)
        batch_need_version(batch, KIND_META, STR(""), work->settings->seq);
    return rc;
}

static enum err_code start_batch(struct accept_work *work, struct str name, struct batch **out,
                                 struct err *err)
{
    struct batch *batch = work->space != 0 ? batch_new(work->arena, work->space, CAUSE_TURNS)
                                           : batch_new_named(work->arena, name, CAUSE_TURNS);
    if (batch == NULL || !batch_ok(batch))
        return accept__memory(err);
    *out = batch;
    if (work->space != 0)
        return need_settings(work, batch, err);
    struct buf settings;
    buf_init(&settings, work->arena, 4096);
    space_encode(work->settings, &settings);
    if (!buf_ok(&settings))
        return accept__memory(err);
    batch->create = true;
    batch->create_only = true; /* made meanwhile: its language may be another */
    batch->settings = buf_str(&settings);
    return ERR_OK;
}

static void add_counters(struct maker *maker)
{
    struct batch *batch = maker->batch;
    uint32_t n = maker->work->n_fresh;
    batch_add(batch, STAT_TURNS, n);
    batch_add(batch, STAT_PENDING, n);
    batch_set(batch, STAT_LAST_ARRIVAL, (uint64_t)maker->work->call->received_ms);
    if (maker->work->call->embeds)
        embed_note_docs(batch, &maker->work->stat, maker->work->call->received_ms);
    batch_log(batch, CHANGE_ADD, KIND_TURN, maker->turn_slot, 0, n);
}

static enum err_code fill_batch(struct maker *maker, struct err *err)
{
    struct accept_work *work = maker->work;
    uint32_t total = 0;
    bool untimed = false;
    for (uint32_t i = 0; i < work->n_fresh; i++) {
        const struct turn_input *turn = &work->call->turns[work->fresh[i]];
        total += count_parts(turn->text);
        untimed |= !turn->has_time;
    }
    if (untimed)
        maker->offset_min = tz_offset_min(work->settings->timezone, work->call->received_ms);
    maker->docs = ARENA_ARRAY(work->arena, struct segment_doc, total);
    maker->rows = ARENA_ARRAY(work->arena, struct turn_row, total);
    if (maker->docs == NULL || maker->rows == NULL)
        return accept__memory(err);
    maker->turn_slot = batch_take(maker->batch, STAT_NEXT_TURN, work->n_fresh);
    maker->doc_slot = batch_take(maker->batch, STAT_NEXT_DOC_TURN, total);
    for (uint32_t i = 0; i < work->n_fresh; i++) {
        enum err_code rc = add_turn(maker, i, err);
        if (rc != ERR_OK)
            return rc;
    }
    ASSERT(maker->n_docs == total);
    add_counters(maker);
    return add_segment(maker, err);
}

enum err_code accept__make_batch(struct accept_work *work, struct str name, struct err *err)
{
    struct maker maker = {.work = work};
    enum err_code rc = start_batch(work, name, &maker.batch, err);
    if (rc != ERR_OK)
        return rc;
    maker.scratch = arena_new(SCRATCH_BYTES);
    if (maker.scratch == NULL)
        return accept__memory(err);
    rc = tokenizers_take(work->call->tokenizers, work->settings->language, &maker.tokenizer, err);
    if (rc == ERR_OK)
        rc = fill_batch(&maker, err);
    if (rc == ERR_OK && !batch_ok(maker.batch))
        rc = accept__memory(err);
    tokenizers_give(work->call->tokenizers, maker.tokenizer);
    arena_free(maker.scratch);
    if (rc != ERR_OK)
        return rc;
    DASSERT((batch_check(maker.batch), true));
    work->plan->batch = maker.batch;
    work->plan->slot = maker.turn_slot;
    return ERR_OK;
}
