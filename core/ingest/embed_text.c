#include "core/ingest/embed_text.h"

#include "core/base/limits.h"
#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/topic.h"
#include "core/model/tokens.h"
#include "core/text/sentence.h"

enum {
    TEXT_MAX = 4 << 20,
    BYTES_A_TOKEN = 4,
    PIECE_BYTES_MIN = 16, /* so that cutting ends whatever the script is */
};

bool embed_reader_init(struct embed_reader *reader, const struct stage_base *base)
{
    *reader = (struct embed_reader){.base = base,
                                    .columns = columns_new(base->txn, base->space, base->arena),
                                    .turn = {.n = 0}};
    return reader->columns != NULL;
}

static enum err_code damaged(enum layer layer, uint32_t doc, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "document %u of layer %u has no record", doc,
                   (unsigned)layer);
}

/* --- turns --- */

static enum err_code load_turn(struct embed_reader *reader, uint32_t doc, struct err *err)
{
    const struct stage_base *base = reader->base;
    struct turn_row row;
    columns_turn(reader->columns, doc, &row);
    enum err_code rc = columns_error(reader->columns, err);
    if (rc != ERR_OK || (row.n != 0 && row.n == reader->turn.n))
        return rc;
    reader->turn.n = 0;
    rc = turn_get(base->txn, base->space, row.n, &reader->turn, err);
    if (rc == ERR_OK && reader->turn.n == 0)
        return damaged(LAYER_TURN, doc, err);
    if (rc == ERR_OK)
        rc = turn_load_text(base->txn, base->space, base->arena, &reader->turn, err);
    reader->rest = reader->turn.text;
    reader->part = 0;
    return rc;
}

static enum err_code write_turn(struct embed_reader *reader, uint32_t doc, struct buf *out,
                                struct err *err)
{
    struct str part = STR("");
    enum err_code rc = load_turn(reader, doc, err);
    if (rc != ERR_OK)
        return rc;
    uint32_t wanted = doc - reader->turn.doc;
    if (wanted < reader->part) {
        reader->rest = reader->turn.text;
        reader->part = 0;
    }
    bool found = false;
    while (reader->part <= wanted && part_next(&reader->rest, LIMIT_DOC_BYTES, &part))
        found = reader->part++ == wanted;
    if (!found)
        return damaged(LAYER_TURN, doc, err);
    if (str_trim(part).len == 0)
        return ERR_OK;
    buf_str_put(out, turn_speaker(&reader->turn));
    buf_str_put(out, STR(": "));
    buf_str_put(out, str_trim(part));
    return ERR_OK;
}

/* --- the other layers --- */

static void put_line(struct buf *out, struct str line)
{
    if (str_trim(line).len == 0)
        return;
    if (out->len != 0)
        buf_char(out, '\n');
    buf_str_put(out, str_trim(line));
}

static enum err_code write_fact(struct embed_reader *reader, uint32_t doc, struct buf *out,
                                struct err *err)
{
    const struct stage_base *base = reader->base;
    struct fact fact;
    enum err_code rc = fact_get(base->txn, base->space, doc + 1, base->arena, &fact, err);
    if (rc != ERR_OK)
        return rc;
    if (fact.id == 0)
        return damaged(LAYER_FACT, doc, err);
    put_line(out, fact.content);
    put_line(out, fact.potential);
    return ERR_OK;
}

static enum err_code write_episode(struct embed_reader *reader, uint32_t doc, struct buf *out,
                                   struct err *err)
{
    struct episode episode;
    uint32_t id = columns_episode_of_doc(reader->columns, doc);
    enum err_code rc = columns_error(reader->columns, err);
    if (rc == ERR_OK)
        rc = episode_get(reader->base->txn, reader->base->space, id, &episode, err);
    if (rc != ERR_OK)
        return rc;
    if (episode.id == 0)
        return damaged(LAYER_EPISODE, doc, err);
    put_line(out, episode.title);
    put_line(out, episode.summary);
    return ERR_OK;
}

static enum err_code write_topic(struct embed_reader *reader, uint32_t doc, struct buf *out,
                                 struct err *err)
{
    const struct stage_base *base = reader->base;
    struct topic topic;
    uint32_t id = columns_topic_of_doc(reader->columns, doc);
    enum err_code rc = columns_error(reader->columns, err);
    if (rc == ERR_OK)
        rc = topic_get(base->txn, base->space, id, base->arena, &topic, err);
    if (rc != ERR_OK)
        return rc;
    if (topic.id == 0)
        return damaged(LAYER_TOPIC, doc, err);
    put_line(out, topic.title);
    put_line(out, topic.summary);
    for (uint16_t i = 0; i < topic.n_keywords; i++) {
        buf_str_put(out, i == 0 ? STR("\n") : STR(", "));
        buf_str_put(out, topic.keywords[i].text);
    }
    return ERR_OK;
}

typedef enum err_code write_fn(struct embed_reader *reader, uint32_t doc, struct buf *out,
                               struct err *err);
static write_fn *const writers[LAYERS] = {[LAYER_TURN] = write_turn,
                                          [LAYER_FACT] = write_fact,
                                          [LAYER_EPISODE] = write_episode,
                                          [LAYER_TOPIC] = write_topic};

enum err_code embed_text(struct embed_reader *reader, enum layer layer, uint32_t doc,
                         struct str *text, struct err *err)
{
    struct buf out;
    buf_init(&out, reader->base->arena, TEXT_MAX);
    enum err_code rc = writers[layer](reader, doc, &out, err);
    if (rc == ERR_OK && !buf_ok(&out))
        rc = err_set(err, ERR_EXHAUSTED, "out of memory for a text to embed");
    *text = buf_str(&out);
    return rc;
}

/* --- cutting --- */

/* The greatest part of the rest that keeps the limit. */
static bool take_piece(struct str *rest, uint32_t tokens, struct str *piece)
{
    size_t most = (size_t)tokens * BYTES_A_TOKEN;
    struct str behind = *rest;
    if (most < PIECE_BYTES_MIN)
        most = PIECE_BYTES_MIN;
    if (!part_next(&behind, most, piece))
        return false;
    for (uint32_t n = model_tokens(*piece); n > tokens && most > PIECE_BYTES_MIN;) {
        most = piece->len * tokens / n;
        if (most < PIECE_BYTES_MIN)
            most = PIECE_BYTES_MIN;
        behind = *rest;
        (void)part_next(&behind, most, piece);
        n = model_tokens(*piece);
    }
    *rest = behind;
    return true;
}

uint32_t embed_cut(struct str text, uint32_t tokens, struct str *pieces)
{
    struct str piece;
    uint32_t n = 0;
    while (n < EMBED_PIECES_MAX && take_piece(&text, tokens, &piece)) {
        pieces[n] = str_trim(piece);
        n += pieces[n].len != 0;
    }
    return n;
}
