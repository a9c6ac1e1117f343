/* The tokenizer of BERT-family models: text to ids of a vocabulary.
 *
 *   text -> [tokens written out: "[SEP]"] -> words (core/text/basic_words.h) -> longest pieces
 *
 *   "Unpacked [MASK] tulips"  ->  un ##pack ##ed   [MASK]   tulips   ->   4895 23947 2098 103 …
 *
 * A word is taken apart from its front, each time by the longest piece that the vocabulary has;
 * pieces inside a word are written with ## there. A word that can't be taken apart, or has more
 * than max_input_chars_per_word characters, is the one id [UNK].
 *
 * Files, as models have them on the hub: tokenizer.json, or else vocab.txt (a piece a line; its
 * line is its id; of a piece that is there twice the last line counts), and tokenizer_config.json
 * if it is there. do_lower_case, strip_accents and tokenize_chinese_chars of tokenizer_config.json
 * go before the normalizer of tokenizer.json, as in the reference; what neither says is BERT's
 * (lower case, Han alone, accents off where lowered, 100 characters). What we would do otherwise
 * than the reference is refused: other kinds of model, normalizer and pre-tokenizer, added tokens
 * that match in normalized text or as whole words only.
 *
 * The ids are those of the reference (tests/data/golden), so a special token that somebody writes
 * into a text ("[SEP]", in this very spelling) is that token. That is no way in: an encoder gives
 * the writer's own text a strange vector, and in a pair the token types, which the text can't
 * reach, still say which side each id belongs to; nothing here is an instruction to anybody.
 *
 * Long texts: wordpiece_encode() stops where the room ends and tells which words fitted whole, so
 * that a caller can go on behind them; a text is read once, whatever the number of its pieces.
 *
 * P1  every id given out is < wordpiece_ids(); a cut's ids <= what was given out.
 * P2  a cut moves on: its bytes are > 0 unless no id is left in the text.
 * Memory: about 1.5 MB for 30,000 pieces, 8 KiB of stack a call. Threads: never changes after it is
 * opened; any number may encode. Cost: some 40 MB of English a second
 * (the 500 golden texts in 1.5 ms), 5 MB of what no piece fits; a directory opens in 40 to 90 ms.
 * Rejected: an automaton over all pieces (linear in the worst case, which the limits of words and
 * pieces bound anyhow; several times the memory). */
#ifndef HM_CORE_MODEL_BUILTIN_WORDPIECE_H
#define HM_CORE_MODEL_BUILTIN_WORDPIECE_H

#include "core/base/str.h"

struct wordpiece;

enum wordpiece_role {
    WORDPIECE_PAD,
    WORDPIECE_UNK,
    WORDPIECE_CLS,
    WORDPIECE_SEP,
    WORDPIECE_MASK,
    WORDPIECE_ROLES
};

enum {
    WORDPIECE_FILE_MAX = 64 << 20, /* bytes of a file */
    WORDPIECE_IDS_MAX = 1 << 22,
    WORDPIECE_PIECE_MAX = 1024, /* bytes of a piece */
    WORDPIECE_ADDED_MAX = 256,  /* tokens that are found in the text as they are written */
};
#define WORDPIECE_NONE UINT32_MAX

/* The files are read and closed. ERR_NOT_FOUND: the directory has neither of the two; ERR_INVALID:
 * a file is malformed, or of a tokenizer that this is not (the message names the file);
 * ERR_UNAVAILABLE, ERR_EXHAUSTED. */
enum err_code wordpiece_open(const char *dir, struct wordpiece **out, struct err *err) MUST_USE;
void wordpiece_free(struct wordpiece *wordpiece); /* NULL is fine */

/* The words that fitted whole. */
struct wordpiece_cut {
    size_t bytes; /* where the text goes on, at the start of a word; its length: all was taken */
    uint32_t ids; /* of them */
};

/* Puts the ids of `text` (valid UTF-8, NULs allowed) without [CLS] and [SEP] into `ids`, at most
 * `most` >= 1 of them, and returns how many: the first ones of all that there are, as the reference
 * truncates, which may end inside a word. `cut` may be NULL. A first word that does not fit whole
 * by itself counts as fitted with what fits of it (P2). With `ids` NULL they are only counted. */
uint32_t wordpiece_encode(const struct wordpiece *wordpiece, struct str text, uint32_t *ids,
                          uint32_t most, struct wordpiece_cut *cut);

/* WORDPIECE_NONE for a [MASK] that the vocabulary lacks; the others are always there. */
uint32_t wordpiece_id(const struct wordpiece *wordpiece, enum wordpiece_role role);
/* One more than the largest id: the least number of rows that an embedding table needs. */
uint32_t wordpiece_ids(const struct wordpiece *wordpiece);

#endif
