#include "api/turns_json.h"

#include <stdio.h>

#include "api/body_json.h"
#include "core/base/civil.h"
#include "core/base/limits.h"
#include "core/text/utf8.h"

enum { PARAM_NAME = 96 };

/* Where a value stands, for errors: "turns[3]" and the member. */
struct place {
    const char *noun;
    uint32_t index;
};

struct reader {
    struct arena *arena;
    struct place place;
    struct err *err;
};

static void place_name(struct place place, const char *member, char out[PARAM_NAME])
{
    struct str shown = body_json_name(str_of(member));
    (void)snprintf(out, PARAM_NAME, "%s[%u]%s%.*s", place.noun, place.index,
                   shown.len != 0 ? "." : "", STR_FMT(shown));
}

static enum err_code refuse(const struct reader *r, const char *member, const char *message)
{
    char param[PARAM_NAME];
    place_name(r->place, member, param);
    return err_set_param(r->err, ERR_INVALID, param, "%s", message);
}

static enum err_code no_memory(const struct reader *r)
{
    return err_set(r->err, ERR_EXHAUSTED, "no memory for the body");
}

/* --- one turn --- */

typedef enum err_code member_fn(const struct reader *r, const char *name, const json_t *value,
                                struct turn_input *turn);

static enum err_code take_text(const struct reader *r, const char *name, const json_t *value,
                               struct str *out)
{
    if (!json_is_string(value))
        return refuse(r, name, "must be a string");
    return body_json_text(value, r->arena, name, out, r->err);
}

static enum err_code take_id(const struct reader *r, const char *name, const json_t *value,
                             struct turn_input *turn)
{
    enum err_code code = take_text(r, name, value, &turn->id);
    /* To accept.h an empty id is none; a client that sends one has a bug it wants to hear of. */
    return code == ERR_OK && turn->id.len == 0 ? refuse(r, name, "an id has 1 to 128 bytes") : code;
}

static enum err_code take_session(const struct reader *r, const char *name, const json_t *value,
                                  struct turn_input *turn)
{
    return take_text(r, name, value, &turn->session);
}

static enum err_code take_speaker(const struct reader *r, const char *name, const json_t *value,
                                  struct turn_input *turn)
{
    return take_text(r, name, value, &turn->speaker);
}

static enum err_code take_role(const struct reader *r, const char *name, const json_t *value,
                               struct turn_input *turn)
{
    return take_text(r, name, value, &turn->role);
}

static enum err_code take_words(const struct reader *r, const char *name, const json_t *value,
                                struct turn_input *turn)
{
    return take_text(r, name, value, &turn->text);
}

static enum err_code take_time(const struct reader *r, const char *name, const json_t *value,
                               struct turn_input *turn)
{
    struct str text = STR_NONE;
    enum err_code code = take_text(r, name, value, &text);
    if (code != ERR_OK)
        return code;
    turn->has_time = rfc3339_parse(text, &turn->time_ms, &turn->offset_min);
    return turn->has_time ? ERR_OK
                          : refuse(r, name,
                                   "want an RFC 3339 time with its offset, such as "
                                   "2023-05-08T13:56:00+02:00");
}

static enum err_code take_metadata(const struct reader *r, const char *name, const json_t *value,
                                   struct turn_input *turn)
{
    struct buf text;
    buf_init(&text, r->arena, LIMIT_BODY_BYTES);
    if (!json_is_object(value))
        return refuse(r, name, "metadata must be an object");
    if (!body_json_compact(value, &text))
        return no_memory(r);
    if (text.len > LIMIT_METADATA_BYTES)
        return refuse(r, name, "metadata is longer than 4096 bytes as compact JSON");
    turn->metadata = buf_str(&text);
    return ERR_OK;
}

struct member_row {
    const char *name;
    member_fn *take;
};

static const struct member_row turn_members[] = {
    {"id", take_id},
    {"session", take_session},
    {"speaker", take_speaker},
    {"role", take_role},
    {"text", take_words},
    {"timestamp", take_time},
    {"metadata", take_metadata},
};

static enum err_code read_member(const struct reader *r, const char *name, const json_t *value,
                                 struct turn_input *turn)
{
    for (size_t i = 0; i < sizeof turn_members / sizeof turn_members[0]; i++) {
        if (strcmp(name, turn_members[i].name) != 0)
            continue;
        if (json_is_null(value) && turn_members[i].take != take_words)
            return ERR_OK;
        return turn_members[i].take(r, name, value, turn);
    }
    return refuse(r, name, "a turn has no such member; metadata is for anything else");
}

static enum err_code read_turn(const struct reader *r, json_t *value, struct turn_input *turn)
{
    const char *name;
    json_t *member;
    *turn = (struct turn_input){.text = STR_NONE};
    if (!json_is_object(value))
        return refuse(r, "", "a turn must be an object");
    json_object_foreach(value, name, member)
    {
        enum err_code code = read_member(r, name, member, turn);
        if (code != ERR_OK)
            return code;
    }
    return turn->text.at != NULL ? ERR_OK : refuse(r, "text", "text is missing");
}

/* --- one message --- */

static enum err_code add_part(const struct reader *r, const json_t *part, struct buf *text)
{
    const json_t *type = json_object_get(part, "type");
    const json_t *words = json_object_get(part, "text");
    if (!json_is_object(part) || !json_is_string(type))
        return refuse(r, "content", "a part of content must be an object with a type");
    if (strcmp(json_string_value(type), "text") != 0)
        return ERR_OK; /* images and the like hold no words */
    if (!json_is_string(words))
        return refuse(r, "content", "a part of type text must have a text");
    if (text->len != 0)
        buf_char(text, '\n');
    buf_put(text, json_string_value(words), json_string_length(words));
    return ERR_OK;
}

static enum err_code read_parts(const struct reader *r, const json_t *parts, struct str *out)
{
    struct buf text;
    size_t i;
    json_t *part;
    buf_init(&text, r->arena, LIMIT_BODY_BYTES);
    json_array_foreach(parts, i, part)
    {
        enum err_code code = add_part(r, part, &text);
        if (code != ERR_OK)
            return code;
    }
    *out = buf_str(&text);
    return buf_ok(&text) ? ERR_OK : no_memory(r);
}

/* OpenAI's messages know no time and no id; clients that keep them send them as members of their
 * own, and then they mean what they mean in a turn. Of another type they are ignored, like any
 * member that we do not know. */
static enum err_code read_extras(const struct reader *r, const json_t *value,
                                 struct turn_input *turn)
{
    static const struct member_row extras[] = {
        {"id", take_id},
        {"session", take_session},
        {"timestamp", take_time},
    };
    enum err_code code = ERR_OK;
    for (size_t i = 0; code == ERR_OK && i < sizeof extras / sizeof extras[0]; i++) {
        const json_t *member = json_object_get(value, extras[i].name);
        if (json_is_string(member))
            code = extras[i].take(r, extras[i].name, member, turn);
    }
    const json_t *metadata = json_object_get(value, "metadata");
    if (code == ERR_OK && json_is_object(metadata))
        code = take_metadata(r, "metadata", metadata, turn);
    return code;
}

/* It calls tools, refuses, or its content is parts, which may all be images. */
static bool does_more_than_talk(const json_t *value)
{
    return json_array_size(json_object_get(value, "tool_calls")) != 0 ||
           json_is_object(json_object_get(value, "function_call")) ||
           json_is_string(json_object_get(value, "refusal")) ||
           json_array_size(json_object_get(value, "content")) != 0;
}

static enum err_code read_message(const struct reader *r, json_t *value, struct turn_input *turn)
{
    const json_t *role = json_object_get(value, "role");
    const json_t *name = json_object_get(value, "name");
    const json_t *content = json_object_get(value, "content");
    *turn = (struct turn_input){.text = STR_NONE};
    if (!json_is_object(value))
        return refuse(r, "", "a message must be an object");
    if (role == NULL)
        return refuse(r, "role", "role is missing");
    enum err_code code = take_text(r, "role", role, &turn->role);
    if (code == ERR_OK && name != NULL && !json_is_null(name))
        code = take_text(r, "name", name, &turn->speaker);
    if (code == ERR_OK)
        code = read_extras(r, value, turn);
    if (code != ERR_OK)
        return code;
    if (json_is_array(content))
        return read_parts(r, content, &turn->text);
    if (json_is_string(content))
        return take_text(r, "content", content, &turn->text);
    if (does_more_than_talk(value)) {
        turn->text = STR("");
        return ERR_OK;
    }
    return refuse(r, "content",
                  content == NULL ? "content is missing" : "content must be a string or parts");
}

/* --- bodies --- */

static bool is_wordless(struct str text)
{
    return text.len == 0 || (utf8_is_valid(text) && utf8_is_blank(text));
}

static enum err_code check_count(const struct reader *r, size_t n)
{
    const char *noun = r->place.noun;
    if (n == 0)
        return err_set_param(r->err, ERR_INVALID, noun, "there are none");
    if (n > LIMIT_TURNS_PER_CALL)
        return err_set_param(r->err, ERR_INVALID, noun, "more than %u in one call",
                             LIMIT_TURNS_PER_CALL);
    return ERR_OK;
}

static enum err_code read_array(struct reader *r, const json_t *array, struct turns_body *out)
{
    size_t n = json_array_size(array);
    if (!json_is_array(array))
        return err_set_param(r->err, ERR_INVALID, r->place.noun, "must be an array");
    enum err_code code = check_count(r, n);
    if (code != ERR_OK)
        return code;
    out->turns = ARENA_ARRAY(r->arena, struct turn_input, n);
    uint32_t *places = ARENA_ARRAY(r->arena, uint32_t, n);
    if (out->turns == NULL || places == NULL)
        return no_memory(r);
    for (r->place.index = 0; code == ERR_OK && r->place.index < n; r->place.index++) {
        json_t *value = json_array_get(array, r->place.index);
        struct turn_input *turn = &out->turns[out->n];
        code = out->messages ? read_message(r, value, turn) : read_turn(r, value, turn);
        /* A message that only calls a tool or shows an image says nothing to remember; refusing it
         * would refuse the whole history that it stands in. Blank words are still an error. */
        if (out->messages && code == ERR_OK && is_wordless(turn->text) &&
            does_more_than_talk(value))
            continue;
        places[out->n++] = r->place.index;
    }
    out->places = out->n < n ? places : NULL;
    if (code == ERR_OK && out->n == 0)
        return err_set_param(r->err, ERR_INVALID, r->place.noun, "none of them has words");
    return code;
}

static enum err_code refuse_others(const struct reader *r, json_t *root, const char *a,
                                   const char *b)
{
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value)
    {
        if (strcmp(name, a) == 0 || strcmp(name, b) == 0)
            continue;
        char param[PARAM_NAME];
        (void)snprintf(param, sizeof param, "%.*s", STR_FMT(body_json_name(str_of(name))));
        return err_set_param(r->err, ERR_INVALID, param, "there is no such member beside %s", a);
    }
    return ERR_OK;
}

static enum err_code read_messages(struct reader *r, json_t *root, struct turns_body *out)
{
    const json_t *session = json_object_get(root, "session");
    struct str name = STR_NONE;
    enum err_code code = refuse_others(r, root, "messages", "session");
    if (code == ERR_OK && session != NULL && !json_is_null(session))
        code = body_json_text(session, r->arena, "session", &name, r->err);
    out->messages = true;
    r->place.noun = "messages";
    if (code == ERR_OK)
        code = read_array(r, json_object_get(root, "messages"), out);
    for (uint32_t i = 0; code == ERR_OK && i < out->n; i++)
        if (out->turns[i].session.at == NULL)
            out->turns[i].session = name;
    return code;
}

static enum err_code read_one(const struct reader *r, json_t *root, struct turns_body *out)
{
    out->turns = ARENA_NEW(r->arena, struct turn_input);
    if (out->turns == NULL)
        return no_memory(r);
    out->n = 1;
    return read_turn(r, root, out->turns);
}

static enum err_code read_root(struct reader *r, json_t *root, struct turns_body *out)
{
    const json_t *turns = json_object_get(root, "turns");
    if (!json_is_object(root))
        return err_set_param(r->err, ERR_INVALID, "body",
                             "want an object with turns, with messages, or a turn");
    if (turns != NULL) {
        enum err_code code = refuse_others(r, root, "turns", "turns");
        return code == ERR_OK ? read_array(r, turns, out) : code;
    }
    if (json_object_get(root, "messages") != NULL)
        return read_messages(r, root, out);
    if (json_object_size(root) == 0)
        return err_set_param(r->err, ERR_INVALID, "turns", "want turns, messages, or a turn");
    return read_one(r, root, out);
}

/* The line without its end; empty lines are skipped. */
static bool next_line(struct str *rest, struct str *line)
{
    while (rest->len != 0) {
        size_t end = str_index(*rest, '\n');
        *line = str_trim(str_part(*rest, 0, end));
        *rest = str_part(*rest, end + 1, rest->len);
        if (line->len != 0)
            return true;
    }
    return false;
}

static enum err_code read_line(const struct reader *r, struct str line, struct turn_input *turn)
{
    char param[PARAM_NAME];
    json_t *root = NULL;
    place_name(r->place, "", param);
    enum err_code code = body_json_load(line, param, &root, r->err);
    if (code == ERR_OK)
        code = read_turn(r, root, turn);
    json_decref(root);
    return code;
}

static enum err_code read_lines(struct reader *r, struct str body, struct turns_body *out)
{
    struct str rest = body, line;
    size_t n = 0;
    while (next_line(&rest, &line))
        n++;
    enum err_code code = check_count(r, n);
    if (code != ERR_OK)
        return code;
    out->turns = ARENA_ARRAY(r->arena, struct turn_input, n);
    if (out->turns == NULL)
        return no_memory(r);
    for (rest = body; code == ERR_OK && next_line(&rest, &line); r->place.index++)
        code = read_line(r, line, &out->turns[out->n++]);
    return code;
}

enum err_code turns_json(struct arena *arena, struct str body, bool ndjson, struct turns_body *out,
                         struct err *err)
{
    struct reader r = {.arena = arena, .place = {"turns", 0}, .err = err};
    json_t *root = NULL;
    *out = (struct turns_body){.turns = NULL};
    if (ndjson)
        return read_lines(&r, body, out);
    enum err_code code = body_json_load(body, "body", &root, err);
    if (code == ERR_OK)
        code = read_root(&r, root, out);
    json_decref(root);
    return code;
}
