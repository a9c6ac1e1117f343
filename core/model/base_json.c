#include "core/model/base_json.h"

#include <ctype.h>
#include <jansson.h>

#include "core/text/utf8.h"

enum { WORDS_MAX = 4096, DETAILS_MAX = 8, RAW_MAX = 2048, REAL_DIGITS = 15 /* 0.3 as 0.3 */ };

json_t *base_json_load(struct str text)
{
    return text.len != 0 ? json_loadb(text.at, text.len, JSON_ALLOW_NUL, NULL) : NULL;
}

void base_json_free(json_t *root)
{
    json_decref(root);
}

bool base_json_is_object(struct str text)
{
    json_t *root = base_json_load(text);
    bool is_object = json_is_object(root);
    json_decref(root);
    return is_object;
}

struct str base_json_text(struct arena *arena, const json_t *value)
{
    if (!json_is_string(value))
        return STR_NONE;
    return str_copy(arena, (struct str){json_string_value(value), json_string_length(value)});
}

uint64_t base_json_count(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    double number = json_number_value(value);
    return number > 0 && number < 1e15 ? (uint64_t)number : 0;
}

/* --- requests --- */

static bool put_extra(json_t *root, struct str extra)
{
    const char *name;
    json_t *value;
    if (extra.len == 0)
        return true;
    json_t *members = base_json_load(extra);
    bool fine = members != NULL;
    json_object_foreach(members, name, value)
    {
        if (json_is_null(value))
            (void)json_object_del(root, name);
        else
            fine = fine && json_object_set(root, name, value) == 0;
    }
    json_decref(members);
    return fine;
}

static int on_text(const char *text, size_t len, void *arg)
{
    struct buf *out = arg;
    buf_put(out, text, len);
    return buf_ok(out) ? 0 : -1;
}

bool base_json_write(json_t *root, struct str extra, struct buf *out)
{
    bool fine = root != NULL && put_extra(root, extra) &&
                json_dump_callback(root, on_text, out,
                                   JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS)) == 0;
    json_decref(root);
    return fine && buf_ok(out);
}

/* --- errors --- */

struct telling {
    struct buf words;
    struct str message; /* the first; borrows from the document */
};

static void tell(struct telling *t, const json_t *value, bool is_message)
{
    const char *text = json_string_value(value);
    size_t len = json_string_length(value);
    if (text == NULL || len == 0 || t->words.len + len + 1 > WORDS_MAX)
        return;
    for (size_t i = 0; i < len; i++)
        buf_char(&t->words, (char)tolower((unsigned char)text[i]));
    buf_char(&t->words, '\n');
    if (is_message && t->message.len == 0)
        t->message = (struct str){text, len};
}

static const char *const message_names[] = {"message", "error", "detail", "msg", "errmsg", "title"};

static void tell_members(struct telling *t, const json_t *object)
{
    static const char *const names[] = {"code",       "type",   "param", "error_type",
                                        "error_code", "status", "reason"};
    for (size_t i = 0; i < sizeof message_names / sizeof message_names[0]; i++)
        tell(t, json_object_get(object, message_names[i]), true);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tell(t, json_object_get(object, names[i]), false);
    tell(t, json_object_get(json_object_get(object, "metadata"), "raw"), false);
    const char *delay = json_string_value(json_object_get(object, "retryDelay"));
    if (delay != NULL && strlen(delay) < 32)
        buf_printf(&t->words, "retry in %s\n", delay);
}

/* {detail:[{loc:["body","temperature"],msg:"…"}]}, {errors:[…]}, {details:[{retryDelay}]} */
static void tell_list(struct telling *t, const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        const json_t *loc = json_object_get(item, "loc");
        if (i == DETAILS_MAX)
            break;
        tell(t, item, true);
        tell_members(t, item);
        for (size_t k = 0; k < json_array_size(loc) && k < DETAILS_MAX; k++)
            tell(t, json_array_get(loc, k), false);
    }
}

static const json_t *error_of(const json_t *root)
{
    if (json_is_array(root))
        root = json_array_get(root, 0);
    const json_t *error = json_object_get(root, "error");
    return json_is_object(error) ? error : root;
}

static int status_of(const json_t *error)
{
    static const char *const names[] = {"code", "status", "status_code"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const json_t *value = json_object_get(error, names[i]);
        uint64_t number = 0;
        if (json_is_integer(value))
            number = (uint64_t)json_integer_value(value);
        else if (json_is_string(value))
            (void)str_u64(str_of(json_string_value(value)), 999, &number);
        if (number >= 400 && number <= 599)
            return (int)number;
    }
    return 0;
}

/* One line without control characters. */
static struct str shown(struct arena *arena, struct str text)
{
    char *at = arena_alloc(arena, MODEL_MESSAGE_MAX + 1);
    if (at == NULL)
        return STR_NONE;
    struct str part = utf8_cut(str_part(text, 0, utf8_valid_len(text)), MODEL_MESSAGE_MAX);
    for (size_t i = 0; i < part.len; i++)
        at[i] = iscntrl((unsigned char)part.at[i]) ? ' ' : part.at[i];
    return str_trim((struct str){at, part.len});
}

static bool end_telling(struct arena *arena, const struct telling *t, struct model_fault *out)
{
    out->words = buf_str(&t->words);
    out->message = shown(arena, t->message);
    return buf_ok(&t->words) && out->message.at != NULL;
}

bool base_json_fault_of(struct arena *arena, const json_t *root, struct model_fault *out)
{
    struct telling t = {.message = STR("")};
    const json_t *error = error_of(root);
    *out = (struct model_fault){.status = status_of(error)};
    buf_init(&t.words, arena, WORDS_MAX * 2);
    tell_members(&t, error);
    tell_list(&t, json_object_get(error, "detail"));
    tell_list(&t, json_object_get(error, "details"));
    tell_list(&t, json_object_get(error, "errors"));
    if (error != root)
        tell_members(&t, root);
    return end_telling(arena, &t, out);
}

static bool fault_of_text(struct arena *arena, struct str body, struct model_fault *out)
{
    struct telling t = {.message = STR("")};
    *out = (struct model_fault){.status = 0};
    buf_init(&t.words, arena, WORDS_MAX);
    struct str text = str_trim(str_part(body, 0, RAW_MAX));
    for (size_t i = 0; i < text.len; i++)
        buf_char(&t.words, (char)tolower((unsigned char)text.at[i]));
    if (text.len != 0 && text.at[0] != '<')
        t.message = text;
    return end_telling(arena, &t, out);
}

bool base_json_fault(struct arena *arena, struct str body, struct model_fault *out)
{
    json_t *root = base_json_load(str_part(body, 0, MODEL_BODY_MAX));
    bool fine =
        root != NULL ? base_json_fault_of(arena, root, out) : fault_of_text(arena, body, out);
    json_decref(root);
    return fine;
}

bool base_json_is_fault(const json_t *root)
{
    if (json_is_array(root))
        root = json_array_get(root, 0);
    const json_t *error = json_object_get(root, "error");
    const char *object = json_string_value(json_object_get(root, "object"));
    return (error != NULL && !json_is_null(error) && !json_is_false(error)) ||
           (object != NULL && strcmp(object, "error") == 0);
}
