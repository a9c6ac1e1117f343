/* Dialogue as the stages see it: each turn read, cut up and tokenised once.
 *
 *   said (a turn)   docs       [ part 0 ][ part 1 ]…     as indexed in the turn layer
 *                   sentences  [..][....][...][..].      each inside one doc, with its tokens
 *                   mentions       ^         ^           dates, resolved against the turn's time
 *   dialogue        turns of one episode, its terms with counts, its participants
 *
 * Everything lives in the arena or borrows from the transaction. Nothing here decides. */
#ifndef HM_CORE_INGEST_STAGE_DIALOGUE_H
#define HM_CORE_INGEST_STAGE_DIALOGUE_H

#include "core/graph/turn.h"
#include "core/text/dates.h"
#include "core/text/token.h"

enum {
    SAID_MENTIONS_MAX = 32, /* a document; as accept indexes them */
    SPEAKERS_KNOWN = 32,
    SPEAKERS_LOOKED_AT = 1024, /* rows of a space with more are not all read */
};

struct said_doc {
    uint32_t doc;
    struct str text;
    struct token_list tokens;
    struct date_mention *mentions;
    uint32_t n_mentions;
};

struct said_sentence {
    struct str text;
    uint32_t doc;             /* index into docs */
    uint32_t at;              /* byte in the doc's text */
    uint32_t token, n_tokens; /* those of the doc inside it */
    uint32_t mention, n_mentions;
    bool question;
    bool fenced; /* we said it, not the speaker */
};

struct said {
    struct turn turn; /* text loaded */
    struct said_doc *docs;
    uint32_t n_docs;
    struct said_sentence *sentences;
    uint32_t n_sentences;
};

/* A term of an episode. */
struct dialogue_term {
    uint64_t term;
    struct str text;    /* as indexed */
    struct str surface; /* a word of the dialogue, as written there */
    uint32_t count;     /* occurrences */
    uint32_t turns;     /* turns that have it */
    uint32_t wholes;    /* occurrences that are no part of a compound */
    uint32_t capitals;  /* turns that write it with a capital inside a sentence */
    uint32_t lowers;    /* turns that write it with a small letter */
    bool name;          /* a participant's name */
    bool light;         /* says when, how many or how, never what (describe_light.h) */
    bool number;
};

struct dialogue {
    struct said **turns; /* in order of n */
    uint32_t n_turns;
    struct dialogue_term *terms; /* ascending by term; stop words not */
    uint32_t n_terms;
    struct str *participants; /* in order of appearance */
    uint32_t n_participants;
    /* Terms of the names of the participants and of who else spoke in the space before them (the
     * first SPEAKERS_KNOWN at most), so that a name means the same whatever arrived later. */
    uint64_t *names;
    uint32_t n_names;
    int64_t start_ms, end_ms;
};

struct said_reader {
    struct store_txn *txn;
    uint64_t space;
    struct arena *arena;
    struct tokenizer *tokenizer;
};

/* Numbers of turns, ascending. */
struct said_numbers {
    uint32_t *at;
    uint32_t n, cap;
};
/* The session's living turns from `first` to `last`. */
enum err_code said_session(const struct said_reader *reader, uint32_t session_no, uint32_t first,
                           uint32_t last, struct said_numbers *out, struct err *err) MUST_USE;

/* Absent turn: ERR_OK with *said NULL. */
enum err_code said_read(const struct said_reader *reader, uint32_t n, struct said **said,
                        struct err *err) MUST_USE;
/* The same for a turn at hand, with its text. */
enum err_code said_of(const struct said_reader *reader, const struct turn *turn, struct said **said,
                      struct err *err) MUST_USE;
/* `turns` has `n` >= 1 entries and is kept. */
enum err_code dialogue_of(const struct said_reader *reader, struct said **turns, uint32_t n,
                          struct dialogue *d, struct err *err) MUST_USE;
const struct dialogue_term *dialogue_find(const struct dialogue *d, uint64_t term);

/* The sentence with each relative date followed by what it means, as dates_resolve() writes it. */
void said_resolve(const struct said *said, const struct said_sentence *sentence, struct buf *out);
static inline const struct date_mention *said_mentions(const struct said *said,
                                                       const struct said_sentence *sentence)
{
    return said->docs[sentence->doc].mentions + sentence->mention;
}
static inline const struct token *said_tokens(const struct said *said,
                                              const struct said_sentence *sentence)
{
    return said->docs[sentence->doc].tokens.at + sentence->token;
}

#endif
