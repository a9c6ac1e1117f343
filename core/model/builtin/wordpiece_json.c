#include <jansson.h>

#include "core/model/builtin/wordpiece_int.h"

/* A file that is being read. */
struct source {
    const char *name;
    struct arena *arena;
    struct err *err;
};

static enum err_code wrong(const struct source *s, const char *what)
{
    return err_set(s->err, ERR_INVALID, "%s: %s", s->name, what);
}

static enum err_code no_memory(const struct source *s)
{
    return err_set(s->err, ERR_EXHAUSTED, "no memory for %s", s->name);
}

static enum err_code load(const struct source *s, struct str json, json_t **out)
{
    json_error_t fault;
    *out = json_loadb(json.at, json.len, JSON_ALLOW_NUL, &fault);
    /* Some of its allocations fail without a word. */
    if (*out == NULL &&
        (json_error_code(&fault) == json_error_out_of_memory || fault.text[0] == '\0'))
        return no_memory(s);
    if (*out == NULL)
        return err_set(s->err, ERR_INVALID, "%s: line %d: %s", s->name, fault.line, fault.text);
    return json_is_object(*out) ? ERR_OK : wrong(s, "not a JSON object");
}

static bool is_absent(const json_t *value)
{
    return value == NULL || json_is_null(value);
}

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

static enum err_code copy_text(const struct source *s, const json_t *value, struct str *out)
{
    *out = str_copy(s->arena, (struct str){json_string_value(value), json_string_length(value)});
    return out->at != NULL ? ERR_OK : no_memory(s);
}

/* A yes or no that may be absent. What is said already stays. */
static enum err_code take_flag(const struct source *s, const json_t *object, const char *key,
                               int *out)
{
    const json_t *value = json_object_get(object, key);
    if (is_absent(value))
        return ERR_OK;
    if (!json_is_boolean(value))
        return err_set(s->err, ERR_INVALID, "%s: %s is neither true nor false", s->name, key);
    if (*out == WORDPIECE_UNSAID)
        *out = json_is_true(value);
    return ERR_OK;
}

/* null is said, too: as lower case is. */
static enum err_code take_strip(const struct source *s, const json_t *object, int *out)
{
    const json_t *value = json_object_get(object, "strip_accents");
    if (value != NULL && json_is_null(value) && *out == WORDPIECE_UNSAID)
        *out = WORDPIECE_AS_LOWER;
    return take_flag(s, object, "strip_accents", out);
}

static enum err_code take_most(const struct source *s, const json_t *object, int64_t *out)
{
    const json_t *value = json_object_get(object, "max_input_chars_per_word");
    if (is_absent(value))
        return ERR_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 1)
        return wrong(s, "max_input_chars_per_word is no positive number");
    if (*out < 0)
        *out = json_integer_value(value);
    return ERR_OK;
}

/* --- tokenizer_config.json --- */

/* "[CLS]", or {"content": "[CLS]", …}. */
static enum err_code take_role(const struct source *s, const json_t *root, const char *key,
                               struct str *out)
{
    const json_t *value = json_object_get(root, key);
    if (json_is_object(value))
        value = json_object_get(value, "content");
    if (is_absent(value))
        return ERR_OK;
    if (!json_is_string(value) || json_string_length(value) == 0)
        return err_set(s->err, ERR_INVALID, "%s: %s is no token", s->name, key);
    return copy_text(s, value, out);
}

static enum err_code take_config(const struct source *s, const json_t *root,
                                 struct wordpiece_settings *settings)
{
    static const char *const keys[WORDPIECE_ROLES] = {"pad_token", "unk_token", "cls_token",
                                                      "sep_token", "mask_token"};
    enum err_code code = take_flag(s, root, "do_lower_case", &settings->lower);
    if (code == ERR_OK)
        code = take_flag(s, root, "tokenize_chinese_chars", &settings->han);
    if (code == ERR_OK)
        code = take_strip(s, root, &settings->strip);
    if (code == ERR_OK)
        code = take_most(s, root, &settings->most_chars);
    for (unsigned role = 0; code == ERR_OK && role < WORDPIECE_ROLES; role++)
        code = take_role(s, root, keys[role], &settings->roles[role]);
    const json_t *class = json_object_get(root, "tokenizer_class");
    if (code == ERR_OK && json_is_string(class))
        code = copy_text(s, class, &settings->class);
    return code;
}

enum err_code wordpiece__read_config(struct arena *arena, const char *name, struct str json,
                                     struct wordpiece_settings *settings, struct err *err)
{
    const struct source s = {name, arena, err};
    json_t *root = NULL;
    enum err_code code = load(&s, json, &root);
    if (code == ERR_OK)
        code = take_config(&s, root, settings);
    json_decref(root);
    return code;
}

/* --- tokenizer.json --- */

static enum err_code take_normalizer(const struct source *s, const json_t *root,
                                     struct wordpiece_settings *settings)
{
    const json_t *normalizer = json_object_get(root, "normalizer");
    if (!json_is_object(normalizer) ||
        !is_text(json_object_get(normalizer, "type"), "BertNormalizer"))
        return wrong(s, "its normalizer is not a BertNormalizer");
    enum err_code code = take_flag(s, normalizer, "clean_text", &settings->clean);
    if (code == ERR_OK)
        code = take_flag(s, normalizer, "handle_chinese_chars", &settings->han);
    if (code == ERR_OK)
        code = take_flag(s, normalizer, "lowercase", &settings->lower);
    if (code == ERR_OK)
        code = take_strip(s, normalizer, &settings->strip);
    return code;
}

static bool is_id(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) < WORDPIECE_IDS_MAX;
}

static enum err_code take_added_token(const struct source *s, struct wordpiece *w,
                                      const json_t *token)
{
    const json_t *text = json_object_get(token, "content"), *id = json_object_get(token, "id");
    if (!json_is_string(text) || json_string_length(text) == 0 ||
        json_string_length(text) > WORDPIECE_PIECE_MAX || !is_id(id))
        return wrong(s, "an added token has no content or no id");
    if (json_is_true(json_object_get(token, "normalized")) ||
        json_is_true(json_object_get(token, "single_word")))
        return err_set(s->err, ERR_INVALID, "%s: the added token %.64s is normalized or a word",
                       s->name, json_string_value(text));
    struct str copy;
    enum err_code code = copy_text(s, text, &copy);
    if (code != ERR_OK)
        return code;
    if (!wordpiece__add(w, copy, (uint32_t)json_integer_value(id)))
        return wrong(s, "too many added tokens");
    return ERR_OK;
}

static enum err_code take_added(const struct source *s, struct wordpiece *w, const json_t *root)
{
    const json_t *list = json_object_get(root, "added_tokens");
    if (is_absent(list))
        return ERR_OK;
    if (!json_is_array(list))
        return wrong(s, "added_tokens is not an array");
    enum err_code code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < json_array_size(list); i++)
        code = take_added_token(s, w, json_array_get(list, i));
    return code;
}

/* The bytes of all pieces, which are copied as one (jansson takes no NUL in a key); 0 when
 * something is wrong. */
static size_t size_of(json_t *pieces)
{
    const char *key;
    size_t sum = 0;
    json_t *id;
    json_object_foreach(pieces, key, id)
    {
        size_t len = strlen(key);
        if (len > WORDPIECE_PIECE_MAX || !is_id(id))
            return 0;
        sum += len + 1;
    }
    return sum;
}

static enum err_code take_pieces(const struct source *s, struct wordpiece *w, json_t *pieces,
                                 struct str inside)
{
    size_t n = json_object_size(pieces), size = size_of(pieces);
    if (n == 0 || n > WORDPIECE_IDS_MAX)
        return wrong(s, "its vocabulary is empty or too large");
    if (size == 0)
        return wrong(s, "a piece of its vocabulary is too long or has no id");
    char *copy = arena_alloc(s->arena, size);
    if (copy == NULL || !vocab__make(&w->vocab, s->arena, n, inside))
        return no_memory(s);
    const char *key;
    json_t *id;
    json_object_foreach(pieces, key, id)
    {
        struct str piece = str_of(key);
        memcpy(copy, piece.at, piece.len);
        piece.at = copy;
        vocab__put(&w->vocab, piece, (uint32_t)json_integer_value(id));
        copy += piece.len;
    }
    return ERR_OK;
}

static enum err_code take_model(const struct source *s, struct wordpiece *w, const json_t *root,
                                struct wordpiece_settings *settings)
{
    const json_t *model = json_object_get(root, "model");
    const json_t *type = json_object_get(model, "type");
    if (!json_is_object(model) || !(type == NULL || is_text(type, "WordPiece")))
        return wrong(s, "its model is not WordPiece");
    json_t *pieces = json_object_get(model, "vocab");
    if (!json_is_object(pieces))
        return wrong(s, "its model has no vocabulary");
    struct str inside = STR("##");
    const json_t *prefix = json_object_get(model, "continuing_subword_prefix");
    if (!is_absent(prefix) && (!json_is_string(prefix) || json_string_length(prefix) == 0))
        return wrong(s, "continuing_subword_prefix is no text");
    enum err_code code = is_absent(prefix) ? ERR_OK : copy_text(s, prefix, &inside);
    if (code == ERR_OK)
        code = take_most(s, model, &settings->most_chars);
    const json_t *unknown = json_object_get(model, "unk_token");
    if (code == ERR_OK && json_is_string(unknown) && settings->roles[WORDPIECE_UNK].at == NULL)
        code = copy_text(s, unknown, &settings->roles[WORDPIECE_UNK]);
    return code == ERR_OK ? take_pieces(s, w, pieces, inside) : code;
}

enum err_code wordpiece__read_tokenizer(struct wordpiece *w, const char *name, struct str json,
                                        struct wordpiece_settings *settings, struct err *err)
{
    const struct source s = {name, w->arena, err};
    json_t *root = NULL;
    enum err_code code = load(&s, json, &root);
    if (code == ERR_OK)
        code = take_model(&s, w, root, settings);
    if (code == ERR_OK)
        code = take_normalizer(&s, root, settings);
    if (code == ERR_OK && !is_text(json_object_get(json_object_get(root, "pre_tokenizer"), "type"),
                                   "BertPreTokenizer"))
        code = wrong(&s, "its pre_tokenizer is not a BertPreTokenizer");
    if (code == ERR_OK)
        code = take_added(&s, w, root);
    json_decref(root);
    return code;
}
