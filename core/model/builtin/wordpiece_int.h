/* What the parts of the tokenizer share: wordpiece.c encodes, wordpiece_vocab.c holds the pieces,
 * wordpiece_open.c reads a directory, wordpiece_json.c its JSON files. */
#ifndef HM_CORE_MODEL_BUILTIN_WORDPIECE_INT_H
#define HM_CORE_MODEL_BUILTIN_WORDPIECE_INT_H

#include "core/base/buf.h"
#include "core/model/builtin/wordpiece.h"

/* Pieces by their text. Those of the inside of words are kept without their ## and apart from the
 * others: "ing" and "##ing" are two entries of one text. (A word never begins with ##: the sign is
 * punctuation.) */
struct piece {
    const char *at;
    uint32_t len;
    uint32_t id;
    bool inside;
};

struct piece_slot {
    uint32_t tag;   /* of the hash */
    uint32_t piece; /* its index + 1; 0: empty */
};

struct vocab {
    struct piece *pieces;
    uint32_t n, cap;
    struct piece_slot *slots; /* open addressing, at most half full */
    uint32_t mask;
    uint32_t longest[2]; /* bytes of the longest piece at the start and inside */
    uint32_t ids;        /* largest id + 1 */
    struct str inside;   /* ## */
};

struct added_token {
    struct str text;
    uint32_t id;
};

struct wordpiece {
    struct arena *arena; /* holds all of it, this struct too */
    struct vocab vocab;
    struct added_token *added;
    uint32_t n_added;
    uint32_t added_longest;
    bool begins[256]; /* a token begins with that byte */
    uint32_t roles[WORDPIECE_ROLES];
    unsigned steps; /* enum basic_step */
    uint32_t most_chars;
};

/* What a file may say of a step besides no (0) and yes (1). */
enum { WORDPIECE_UNSAID = -1, WORDPIECE_AS_LOWER = 2 };

/* What the files say. */
struct wordpiece_settings {
    int clean, han, strip, lower;
    int64_t most_chars;                /* -1: unsaid */
    struct str roles[WORDPIECE_ROLES]; /* .at NULL: unsaid */
    struct str class;
};

/* Room for `pieces` of them. False: memory is short. */
bool vocab__make(struct vocab *vocab, struct arena *arena, size_t pieces, struct str inside);
/* Borrows `text`, which is at most WORDPIECE_PIECE_MAX bytes; a text that is there gets the id. */
void vocab__put(struct vocab *vocab, struct str text, uint32_t id);
const struct piece *vocab__find(const struct vocab *vocab, struct str text, bool inside);

/* A token that is found as it is written; one that is there already is not added. False: there are
 * too many. */
bool wordpiece__add(struct wordpiece *w, struct str text, uint32_t id);

/* wordpiece_open() into an arena, which the tokenizer then owns; on failure it is the caller's. */
enum err_code wordpiece__load(struct arena *arena, const char *dir, struct wordpiece **out,
                              struct err *err) MUST_USE;

/* Of the bytes of the files; `name` is for messages. Strings are copied into the arena. */
enum err_code wordpiece__read_tokenizer(struct wordpiece *w, const char *name, struct str json,
                                        struct wordpiece_settings *settings,
                                        struct err *err) MUST_USE;
enum err_code wordpiece__read_config(struct arena *arena, const char *name, struct str json,
                                     struct wordpiece_settings *settings, struct err *err) MUST_USE;
/* Borrows `text`. */
enum err_code wordpiece__read_vocab(struct wordpiece *w, const char *name, struct str text,
                                    struct err *err) MUST_USE;
/* Fills roles and steps once all files are read. */
enum err_code wordpiece__settle(struct wordpiece *w, const char *name,
                                const struct wordpiece_settings *settings,
                                struct err *err) MUST_USE;

#endif
