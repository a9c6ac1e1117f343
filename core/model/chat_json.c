#include "core/model/chat_json.h"

#include <jansson.h>

#include "core/model/repair.h"
#include "core/text/utf8.h"

enum { REPLY_SHOWN = 8000 }; /* bytes of a wrong reply that the model is shown again */

/* --- requests --- */

/* A part of `root` that is NULL when memory is short makes the whole NULL in the end. */
static void set(json_t **root, const char *name, json_t *value)
{
    if (json_object_set_new(*root, name, value) == 0)
        return;
    json_decref(*root);
    *root = NULL;
}

static json_t *text_of(struct str text)
{
    return json_stringn(text.at != NULL ? text.at : "", text.len);
}

static json_t *message_of(const char *role, struct str content)
{
    json_t *message = json_object();
    set(&message, "role", json_string(role));
    set(&message, "content", text_of(content));
    return message;
}

static bool puts_schema_in_text(const struct chat_request *r)
{
    return r->schema != NULL && r->way.rung >= RUNG_OBJECT;
}

static json_t *system_message(const struct chat_request *r)
{
    struct buf text;
    buf_init(&text, NULL, MODEL_BODY_MAX);
    buf_str_put(&text, str_of(r->system));
    if (puts_schema_in_text(r))
        buf_printf(&text, "\n\nReply with one JSON object and nothing else: no code fence, no "
                          "comment, no text around it. It must follow this JSON schema:\n");
    if (puts_schema_in_text(r))
        buf_str_put(&text, str_of(r->schema));
    json_t *message = buf_ok(&text) ? message_of("system", buf_str(&text)) : NULL;
    buf_fini(&text);
    return message;
}

static json_t *correction(const struct chat_request *r)
{
    struct buf text;
    buf_init(&text, NULL, MODEL_BODY_MAX);
    buf_printf(&text, "This reply can't be used: ");
    buf_str_put(&text, r->wrong);
    buf_printf(&text, "\nSend the whole JSON object again, corrected, and nothing else. It must "
                      "follow this JSON schema:\n");
    buf_str_put(&text, str_of(r->schema));
    json_t *message = buf_ok(&text) ? message_of("user", buf_str(&text)) : NULL;
    buf_fini(&text);
    return message;
}

static bool append(json_t *list, json_t *value)
{
    return json_array_append_new(list, value) == 0;
}

static json_t *messages_of(const struct chat_request *r)
{
    json_t *list = json_array();
    bool fine = append(list, system_message(r)) && append(list, message_of("user", r->user));
    if (fine && r->reply.at != NULL)
        fine = append(list, message_of("assistant", utf8_cut(r->reply, REPLY_SHOWN))) &&
               append(list, correction(r));
    if (fine)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *format_of(const struct chat_request *r)
{
    json_t *format = json_object();
    if (r->way.rung == RUNG_OBJECT) {
        set(&format, "type", json_string("json_object"));
        return format;
    }
    json_t *schema = json_object();
    set(&schema, "name", json_string(r->name));
    if (r->way.rung == RUNG_STRICT)
        set(&schema, "strict", json_true());
    set(&schema, "schema", base_json_load(str_of(r->schema)));
    set(&format, "type", json_string("json_schema"));
    set(&format, "json_schema", schema);
    return format;
}

static bool is_dropped(const struct chat_request *r, enum endpoint_param param)
{
    return (r->way.dropped >> param & 1) != 0;
}

bool chat_json_sends(const struct chat_request *r, enum endpoint_param param)
{
    if (is_dropped(r, param))
        return false;
    switch (param) {
    case PARAM_MAX_TOKENS: return r->max_tokens != 0;
    case PARAM_MAX_COMPLETION_TOKENS: return r->max_tokens != 0 && is_dropped(r, PARAM_MAX_TOKENS);
    case PARAM_TEMPERATURE: return r->temperature >= 0;
    case PARAM_REASONING: return r->reasoning.len != 0;
    case PARAM_STREAM_OPTIONS: return r->stream;
    default: return false;
    }
}

/* 0.7f is 0.69999998 as a double; six digits are what people write. */
static json_t *temperature_of(float value)
{
    double rounded = (double)(int64_t)((double)value * 1e6 + 0.5) / 1e6;
    return json_real(rounded);
}

static json_t *stream_options(void)
{
    json_t *options = json_object();
    set(&options, "include_usage", json_true());
    return options;
}

bool chat_json_write(const struct chat_request *r, struct buf *out)
{
    json_t *root = json_object();
    if (r->model.len != 0)
        set(&root, "model", text_of(r->model));
    set(&root, "messages", messages_of(r));
    if (chat_json_sends(r, PARAM_MAX_TOKENS))
        set(&root, "max_tokens", json_integer(r->max_tokens));
    if (chat_json_sends(r, PARAM_MAX_COMPLETION_TOKENS))
        set(&root, "max_completion_tokens", json_integer(r->max_tokens));
    if (chat_json_sends(r, PARAM_TEMPERATURE))
        set(&root, "temperature", temperature_of(r->temperature));
    if (chat_json_sends(r, PARAM_REASONING))
        set(&root, "reasoning_effort", text_of(r->reasoning));
    if (r->schema != NULL && r->way.rung < RUNG_PLAIN)
        set(&root, "response_format", format_of(r));
    if (r->stream)
        set(&root, "stream", json_true());
    if (chat_json_sends(r, PARAM_STREAM_OPTIONS))
        set(&root, "stream_options", stream_options());
    return base_json_write(root, r->extra, out);
}

/* --- replies --- */

static bool put_part(const json_t *part, struct buf *text)
{
    const json_t *words = json_is_string(part) ? part : json_object_get(part, "text");
    const char *type = json_string_value(json_object_get(part, "type"));
    bool wanted = type == NULL || strcmp(type, "text") == 0 || strcmp(type, "output_text") == 0;
    if (wanted && json_is_string(words))
        buf_put(text, json_string_value(words), json_string_length(words));
    return buf_ok(text);
}

/* Content of a message or delta: text, parts, or what a tool was called with. */
static bool put_content(const json_t *message, struct buf *text)
{
    const json_t *content = json_object_get(message, "content");
    const json_t *call = json_array_get(json_object_get(message, "tool_calls"), 0);
    size_t i;
    json_t *part;
    if (json_is_string(content))
        return put_part(content, text);
    json_array_foreach(content, i, part)
    {
        if (!put_part(part, text))
            return false;
    }
    if (text->len == 0 && call != NULL)
        return put_part(json_object_get(json_object_get(call, "function"), "arguments"), text);
    return buf_ok(text);
}

static enum chat_finish finish_of(const json_t *choice)
{
    static const struct {
        const char *word;
        enum chat_finish finish;
    } words[] = {{"length", FINISH_LENGTH},         {"max_tokens", FINISH_LENGTH},
                 {"model_length", FINISH_LENGTH},   {"content_filter", FINISH_FILTER},
                 {"content-filter", FINISH_FILTER}, {"safety", FINISH_FILTER},
                 {"SAFETY", FINISH_FILTER},         {"MAX_TOKENS", FINISH_LENGTH}};
    const char *told = json_string_value(json_object_get(choice, "finish_reason"));
    for (size_t i = 0; told != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(told, words[i].word) == 0)
            return words[i].finish;
    }
    return FINISH_STOP;
}

static void read_usage(const json_t *root, struct chat_usage *usage)
{
    const json_t *told = json_object_get(root, "usage");
    if (!json_is_object(told))
        return;
    usage->in = base_json_count(told, "prompt_tokens");
    usage->out = base_json_count(told, "completion_tokens");
    usage->known = usage->in != 0 || usage->out != 0;
}

static bool read_choice(struct arena *arena, const json_t *root, const char *member,
                        struct chat_reply *out)
{
    const json_t *choices = json_object_get(root, "choices");
    const json_t *choice = json_array_get(choices, 0);
    const json_t *message = json_object_get(choice, member);
    struct buf text;
    buf_init(&text, arena, MODEL_BODY_MAX);
    out->finish = finish_of(choice);
    out->shape = json_is_array(choices) ? CHAT_EMPTY : CHAT_BROKEN;
    bool fine = put_content(message != NULL ? message : json_object_get(choice, "message"), &text);
    if (fine && text.len == 0)
        fine = put_part(choice, &text); /* the older form: choices[].text */
    if (text.len != 0)
        out->shape = CHAT_SAID;
    out->text = buf_str(&text);
    return fine;
}

static bool read_root(struct arena *arena, const json_t *root, const char *member,
                      struct chat_reply *out)
{
    read_usage(root, &out->usage);
    if (!base_json_is_fault(root))
        return read_choice(arena, root, member, out);
    out->shape = CHAT_FAULT;
    return base_json_fault_of(arena, root, &out->fault);
}

bool chat_json_read(struct arena *arena, struct str body, struct chat_reply *out)
{
    *out = (struct chat_reply){.shape = CHAT_BROKEN, .text = STR("")};
    json_t *root = base_json_load(body);
    bool fine = root == NULL || read_root(arena, root, "message", out);
    json_decref(root);
    return fine;
}

bool chat_json_chunk(struct arena *arena, struct str data, struct chat_reply *out, bool *finished)
{
    *out = (struct chat_reply){.shape = CHAT_BROKEN, .text = STR("")};
    *finished = false;
    json_t *root = base_json_load(data);
    bool fine = root == NULL || read_root(arena, root, "delta", out);
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    *finished = json_is_string(json_object_get(choice, "finish_reason"));
    json_decref(root);
    return fine;
}

/* --- the object in it --- */

/* The name of the schema's only property of type array; NULL: none, or several. */
static const char *only_list(const json_t *schema)
{
    const char *name;
    json_t *property;
    const char *found = NULL;
    json_object_foreach(json_object_get(schema, "properties"), name, property)
    {
        const char *type = json_string_value(json_object_get(property, "type"));
        if (type == NULL || strcmp(type, "array") != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = name;
    }
    return found;
}

/* jansson's iterators take no const. */
static bool has_any_property(const json_t *schema, json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        if (json_object_get(json_object_get(schema, "properties"), name) != NULL)
            return true;
    }
    return false;
}

static json_t *wrapped(const char *name, json_t *list)
{
    json_t *object = json_object();
    set(&object, name, list);
    return object;
}

static json_t *list_with(json_t *item)
{
    json_t *list = json_array();
    if (json_array_append_new(list, item) == 0)
        return list;
    json_decref(list);
    return NULL;
}

/* [{…}] or one item where {"items": [{…}]} is asked for. Takes `root`. */
static json_t *fit_root(const json_t *schema, json_t *root)
{
    const char *list = only_list(schema);
    if (json_is_array(root)) {
        json_t *first = json_array_get(root, 0);
        bool one = json_array_size(root) == 1 && has_any_property(schema, first);
        if (one) {
            json_incref(first);
            json_decref(root);
            return first;
        }
        return list != NULL ? wrapped(list, root) : root;
    }
    const json_t *item =
        json_object_get(json_object_get(json_object_get(schema, "properties"), list), "items");
    if (list != NULL && !has_any_property(schema, root) && has_any_property(item, root))
        return wrapped(list, list_with(root));
    return root;
}

/* {"items": {…}} where {"items": [{…}]} is asked for; null is an empty list. */
static bool fit_lists(const json_t *schema, json_t *object)
{
    const char *name;
    json_t *property;
    bool fine = true;
    json_object_foreach(json_object_get(schema, "properties"), name, property)
    {
        const char *type = json_string_value(json_object_get(property, "type"));
        json_t *value = json_object_get(object, name);
        if (value == NULL || json_is_array(value) || type == NULL || strcmp(type, "array") != 0)
            continue;
        json_t *list = json_is_null(value) ? json_array() : list_with(json_incref(value));
        fine = fine && json_object_set_new(object, name, list) == 0;
    }
    return fine;
}

static json_t *fit(const char *schema_text, json_t *root)
{
    json_t *schema = base_json_load(str_of(schema_text));
    if (schema == NULL) {
        json_decref(root);
        return NULL;
    }
    root = fit_root(schema, root);
    if (root != NULL && json_is_object(root) && !fit_lists(schema, root)) {
        json_decref(root);
        root = NULL;
    }
    json_decref(schema);
    return root;
}

/* A whole document inside a string: some gateways encode twice. */
static struct str unquoted(struct arena *arena, struct str said)
{
    struct str text = str_trim(said);
    if (text.len < 2 || text.at[0] != '"')
        return said;
    json_t *value = json_loadb(text.at, text.len, JSON_DECODE_ANY, NULL);
    struct str inner = base_json_text(arena, value);
    json_decref(value);
    return inner.at != NULL ? inner : said;
}

enum err_code chat_json_object(struct arena *arena, struct str said, const char *schema,
                               json_t **out, bool *cut)
{
    *out = NULL;
    *cut = false;
    said = unquoted(arena, said);
    json_t *root = json_loadb(said.at, said.len, 0, NULL);
    if (root == NULL) {
        struct repaired mended = {.json = STR_NONE};
        enum err_code code = repair_json(arena, said, &mended);
        if (code != ERR_OK)
            return code;
        *cut = mended.cut;
        root = json_loadb(mended.json.at, mended.json.len, 0, NULL);
    }
    root = root != NULL ? fit(schema, root) : NULL;
    if (root == NULL)
        return ERR_EXHAUSTED; /* what repair gives is valid */
    if (!json_is_object(root)) {
        json_decref(root);
        return ERR_UNPROCESSABLE;
    }
    *out = root;
    return ERR_OK;
}
