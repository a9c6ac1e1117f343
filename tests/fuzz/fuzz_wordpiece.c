/* The first byte says which files the rest is: a vocabulary, settings and a vocabulary, or a
 * tokenizer.json, each followed by a text behind a line "--"; or, where its upper bit is set, only
 * a text for the tokenizer of tests/data/golden. Whatever the files, ids stay below their number,
 * and a text that is taken in pieces gives the same as the whole (wordpiece.h, P1 and P2). */
#include <stdlib.h>

#include "core/model/builtin/wordpiece_int.h"
#include "core/text/basic_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IDS = 1 << 14, ARENA_BYTES = 256 << 20 };

static void check_words(struct str text, unsigned steps, uint32_t most)
{
    struct basic_words words;
    struct basic_word word;
    size_t from = 0;
    basic_words_init(&words, text, steps, most);
    while (basic_words_next(&words, &word)) {
        ASSERT(word.chars > 0 && word.from < word.to && word.to <= text.len);
        ASSERT((word.text.len > 0) == (word.chars <= most));
        ASSERT(word.text.len <= (size_t)4 * most);
        ASSERT(word.to >= from);
        from = word.from;
    }
}

/* `most` at a time. Where a word may have more ids than that it is passed over after its first. */
static void check_pieces(const struct wordpiece *w, struct str text, const uint32_t *whole,
                         uint32_t n, uint32_t most)
{
    uint32_t *ids = malloc(most * sizeof *ids);
    uint32_t done = 0;
    bool same = true;
    ASSERT(ids != NULL);
    for (size_t at = 0; at < text.len;) {
        struct wordpiece_cut cut;
        uint32_t got = wordpiece_encode(w, str_part(text, at, text.len), ids, most, &cut);
        ASSERT(got <= most && cut.ids <= got && cut.bytes > 0 && cut.bytes <= text.len - at);
        same = same && done + got <= n && memcmp(ids, whole + done, got * sizeof *ids) == 0;
        done += cut.ids;
        at += cut.bytes;
    }
    ASSERT(w->most_chars > most || (same && done == n));
    free(ids);
}

static void check_text(const struct wordpiece *w, struct str text)
{
    uint32_t *ids = malloc(IDS * sizeof *ids);
    ASSERT(ids != NULL);
    struct str part = str_part(text, 0, IDS / 2);
    struct wordpiece_cut cut;
    uint32_t n = wordpiece_encode(w, part, ids, IDS, &cut);
    ASSERT(cut.bytes == part.len && cut.ids == n);
    ASSERT(wordpiece_encode(w, part, NULL, UINT32_MAX, NULL) == n);
    for (uint32_t i = 0; i < n; i++)
        ASSERT(ids[i] < wordpiece_ids(w)); /* P1 */
    check_pieces(w, part, ids, n, w->most_chars);
    check_pieces(w, part, ids, n, 3);
    check_words(part, w->steps, w->most_chars);
    free(ids);
}

static struct str take_file(struct str *rest)
{
    static const char mark[] = "\n--\n";
    for (size_t i = 0; i + 4 <= rest->len; i++) {
        if (memcmp(rest->at + i, mark, 4) == 0) {
            struct str file = str_part(*rest, 0, i + 1);
            *rest = str_part(*rest, i + 4, rest->len);
            return file;
        }
    }
    struct str all = *rest;
    *rest = str_part(all, all.len, all.len);
    return all;
}

static void check_files(struct arena *arena, unsigned kind, struct str rest)
{
    struct wordpiece_settings settings = {-1, -1, -1, -1, -1, {STR_NONE}, STR_NONE};
    struct err err;
    struct wordpiece *w = ARENA_NEW(arena, struct wordpiece);
    ASSERT(w != NULL);
    w->arena = arena;
    w->added = ARENA_ARRAY(arena, struct added_token, WORDPIECE_ADDED_MAX);
    ASSERT(w->added != NULL);
    enum err_code code = ERR_OK;
    if (kind != 0)
        code = wordpiece__read_config(arena, "config", take_file(&rest), &settings, &err);
    if (code == ERR_OK && kind != 2)
        code = wordpiece__read_vocab(w, "vocab", take_file(&rest), &err);
    if (code == ERR_OK && kind == 2)
        code = wordpiece__read_tokenizer(w, "tokenizer", take_file(&rest), &settings, &err);
    if (code == ERR_OK)
        code = wordpiece__settle(w, "files", &settings, &err);
    if (code == ERR_OK)
        check_text(w, rest);
    else
        ASSERT(err.code == code && err.message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str rest = {(const char *)data + 1, size - 1};
    if ((data[0] & 0x80) != 0) {
        struct wordpiece *w = NULL;
        struct err err;
        if (wordpiece_open("tests/data/golden/tiny-bert-mean", &w, &err) != ERR_OK)
            abort();
        check_text(w, rest);
        check_words(rest, data[0] & 15, 5);
        wordpiece_free(w);
        return 0;
    }
    struct arena *arena = arena_new(ARENA_BYTES);
    ASSERT(arena != NULL);
    check_files(arena, data[0] % 3, rest);
    arena_free(arena);
    return 0;
}
