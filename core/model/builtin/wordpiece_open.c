#include <stdio.h>

#include "core/base/file.h"
#include "core/model/builtin/wordpiece_int.h"
#include "core/text/basic_words.h"

enum { PATH_BYTES = 4096, DEFAULT_CHARS = 100 };

/* Holds vocabulary, pieces and slots of the largest files that are read. */
#define ARENA_BYTES ((size_t)512 << 20)

static const char *const bert_names[WORDPIECE_ROLES] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                        "[MASK]"};

bool wordpiece__add(struct wordpiece *w, struct str text, uint32_t id)
{
    for (uint32_t i = 0; i < w->n_added; i++)
        if (str_eq(w->added[i].text, text))
            return true;
    if (text.len == 0)
        return true;
    if (w->n_added == WORDPIECE_ADDED_MAX)
        return false;
    w->added[w->n_added++] = (struct added_token){text, id};
    w->begins[(unsigned char)text.at[0]] = true;
    if (id >= w->vocab.ids)
        w->vocab.ids = id + 1;
    return true;
}

/* The id of a token by its text, among the added ones, too. */
static uint32_t id_of(const struct wordpiece *w, struct str text)
{
    for (uint32_t i = 0; i < w->n_added; i++)
        if (str_eq(w->added[i].text, text))
            return w->added[i].id;
    const struct piece *piece = vocab__find(&w->vocab, text, false);
    return piece != NULL ? piece->id : WORDPIECE_NONE;
}

static enum err_code settle_roles(struct wordpiece *w, const char *name,
                                  const struct wordpiece_settings *settings, struct err *err)
{
    for (unsigned role = 0; role < WORDPIECE_ROLES; role++) {
        struct str text = settings->roles[role];
        if (text.at == NULL)
            text = str_of(bert_names[role]);
        w->roles[role] = id_of(w, text);
        if (w->roles[role] == WORDPIECE_NONE && role != WORDPIECE_MASK)
            return err_set(err, ERR_INVALID, "%s has no %.*s", name, STR_FMT(text));
        if (w->roles[role] != WORDPIECE_NONE && !wordpiece__add(w, text, w->roles[role]))
            return err_set(err, ERR_INVALID, "%s has more than %d added tokens", name,
                           WORDPIECE_ADDED_MAX);
    }
    return ERR_OK;
}

enum err_code wordpiece__settle(struct wordpiece *w, const char *name,
                                const struct wordpiece_settings *settings, struct err *err)
{
    const struct wordpiece_settings *s = settings;
    bool lower = s->lower != 0; /* BERT's own: yes */
    bool as_lower = s->strip == WORDPIECE_UNSAID || s->strip == WORDPIECE_AS_LOWER;
    bool strip = as_lower ? lower : s->strip != 0;
    w->steps = (s->clean != 0 ? BASIC_CLEAN : 0U) | (s->han != 0 ? BASIC_HAN : 0U) |
               (lower ? BASIC_LOWER : 0U) | (strip ? BASIC_STRIP : 0U);
    int64_t most = s->most_chars < 0 ? DEFAULT_CHARS : s->most_chars;
    if (most < 1 || most > BASIC_WORD_CHARS)
        return err_set(err, ERR_INVALID, "%s: max_input_chars_per_word is not 1 to %d", name,
                       BASIC_WORD_CHARS);
    w->most_chars = (uint32_t)most;
    return settle_roles(w, name, s, err);
}

/* --- files --- */

static bool path_of(char path[PATH_BYTES], const char *dir, const char *name)
{
    int n = snprintf(path, PATH_BYTES, "%s/%s", dir, name);
    return n > 0 && n < PATH_BYTES;
}

static enum err_code read_config(struct arena *arena, const char *dir,
                                 struct wordpiece_settings *settings, struct err *err)
{
    char path[PATH_BYTES];
    struct buf file;
    if (!path_of(path, dir, "tokenizer_config.json"))
        return err_set(err, ERR_INVALID, "the path of the model is too long");
    buf_init(&file, NULL, WORDPIECE_FILE_MAX);
    enum err_code code = file_read(path, &file, err);
    if (code == ERR_OK)
        code = wordpiece__read_config(arena, path, buf_str(&file), settings, err);
    else if (code == ERR_NOT_FOUND)
        code = ERR_OK;
    buf_fini(&file);
    return code;
}

static enum err_code load_json(struct wordpiece *w, const char *path,
                               struct wordpiece_settings *settings, struct err *err)
{
    struct buf file;
    buf_init(&file, NULL, WORDPIECE_FILE_MAX);
    enum err_code code = file_read(path, &file, err);
    if (code == ERR_OK)
        code = wordpiece__read_tokenizer(w, path, buf_str(&file), settings, err);
    buf_fini(&file);
    return code;
}

/* What vocab.txt alone may be read for: others of this name are split by other rules before. */
static bool is_bert(struct str class)
{
    static const char *const names[] = {
        "BertTokenizer",           "BertTokenizerFast", "DistilBertTokenizer",
        "DistilBertTokenizerFast", "ElectraTokenizer",  "ElectraTokenizerFast",
        "PreTrainedTokenizerFast", "TokenizersBackend",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_eq(class, str_of(names[i])))
            return true;
    return class.at == NULL;
}

static enum err_code load_text(struct wordpiece *w, const char *path,
                               const struct wordpiece_settings *settings, struct err *err)
{
    struct buf file;
    if (!is_bert(settings->class))
        return err_set(err, ERR_INVALID, "%s is of a %.*s, which is not known", path,
                       STR_FMT(settings->class));
    buf_init(&file, w->arena, WORDPIECE_FILE_MAX);
    enum err_code code = file_read(path, &file, err);
    return code != ERR_OK ? code : wordpiece__read_vocab(w, path, buf_str(&file), err);
}

enum err_code wordpiece__load(struct arena *arena, const char *dir, struct wordpiece **out,
                              struct err *err)
{
    char path[PATH_BYTES], text_path[PATH_BYTES];
    struct wordpiece_settings settings = {-1, -1, -1, -1, -1, {STR_NONE}, STR_NONE};
    struct wordpiece *w = ARENA_NEW(arena, struct wordpiece);
    if (w != NULL)
        w->added = ARENA_ARRAY(arena, struct added_token, WORDPIECE_ADDED_MAX);
    if (w == NULL || w->added == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for a tokenizer");
    w->arena = arena;
    enum err_code code = read_config(arena, dir, &settings, err);
    if (code != ERR_OK)
        return code;
    if (!path_of(path, dir, "tokenizer.json") || !path_of(text_path, dir, "vocab.txt"))
        return err_set(err, ERR_INVALID, "the path of the model is too long");
    const char *name = path;
    code = load_json(w, path, &settings, err);
    if (code == ERR_NOT_FOUND) {
        name = text_path;
        code = load_text(w, text_path, &settings, err);
        if (code == ERR_NOT_FOUND)
            return err_set(err, code, "%s has neither tokenizer.json nor vocab.txt", dir);
    }
    if (code == ERR_OK)
        code = wordpiece__settle(w, name, &settings, err);
    *out = w;
    return code;
}

enum err_code wordpiece_open(const char *dir, struct wordpiece **out, struct err *err)
{
    struct arena *arena = arena_new(ARENA_BYTES);
    *out = NULL;
    if (arena == NULL)
        return err_set(err, ERR_EXHAUSTED, "no memory for a tokenizer");
    enum err_code code = wordpiece__load(arena, dir, out, err);
    if (code != ERR_OK) {
        *out = NULL;
        arena_free(arena);
    }
    return code;
}

void wordpiece_free(struct wordpiece *wordpiece)
{
    if (wordpiece != NULL)
        arena_free(wordpiece->arena);
}
