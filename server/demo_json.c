#include "server/demo_json.h"

#include <jansson.h>
#include <stdlib.h>

#include "core/base/civil.h"

enum { TURN_STEP_MS = 30000, ASK_DEFAULT = 3, ERROR_SHOWN = 200 };

static struct str text_of(struct arena *arena, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return STR_NONE;
    return str_copy(arena, (struct str){json_string_value(value), json_string_length(value)});
}

static uint64_t number_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

/* --- the file --- */

/* The session's time plus `ms`, in its own offset: what is said "yesterday" hangs on it. */
static struct str time_after(struct arena *arena, struct str start, int64_t ms)
{
    int64_t utc_ms = 0;
    int offset_min = 0;
    char date[CIVIL_DATE_MAX];
    if (start.at == NULL || !rfc3339_parse(start, &utc_ms, &offset_min))
        return start;
    utc_ms += ms;
    struct civil day = civil_of_moment(utc_ms, offset_min);
    int64_t seconds = (utc_ms / 1000 + (int64_t)offset_min * 60) - civil_to_days(day) * 86400;
    size_t len = civil_format(day, date);
    int offset = abs(offset_min);
    return str_printf(arena, "%.*sT%02d:%02d:%02d%c%02d:%02d", (int)len, date,
                      (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60),
                      offset_min < 0 ? '-' : '+', offset / 60, offset % 60);
}

static void take_session(struct arena *arena, const json_t *session, struct demo_file *file)
{
    struct str start = text_of(arena, session, "time");
    struct str id = text_of(arena, session, "id");
    const json_t *turns = json_object_get(session, "turns");
    for (size_t i = 0; i < json_array_size(turns); i++) {
        const json_t *turn = json_array_get(turns, i);
        file->turns[file->n_turns++] = (struct demo_turn){
            .id = text_of(arena, turn, "id"),
            .session = id,
            .speaker = text_of(arena, turn, "speaker"),
            .role = text_of(arena, turn, "role"),
            .text = text_of(arena, turn, "text"),
            .timestamp = time_after(arena, start, (int64_t)i * TURN_STEP_MS),
        };
    }
}

static bool take_sessions(struct arena *arena, const json_t *sessions, struct demo_file *file)
{
    size_t n = 0;
    file->n_sessions = json_array_size(sessions);
    for (size_t i = 0; i < file->n_sessions; i++)
        n += json_array_size(json_object_get(json_array_get(sessions, i), "turns"));
    file->turns = ARENA_ARRAY(arena, struct demo_turn, n);
    if (file->turns == NULL)
        return false;
    for (size_t i = 0; i < file->n_sessions; i++)
        take_session(arena, json_array_get(sessions, i), file);
    return true;
}

static const json_t *question_find(const json_t *questions, const char *id)
{
    for (size_t i = 0; i < json_array_size(questions); i++) {
        const json_t *question = json_array_get(questions, i);
        const char *its = json_string_value(json_object_get(question, "id"));
        if (its != NULL && id != NULL && strcmp(its, id) == 0)
            return question;
    }
    return NULL;
}

static bool take_questions(struct arena *arena, const json_t *conversation, struct demo_file *file)
{
    const json_t *questions = json_object_get(conversation, "questions");
    const json_t *ask = json_object_get(conversation, "ask");
    size_t n = json_array_size(ask);
    if (n == 0)
        n = json_array_size(questions) < ASK_DEFAULT ? json_array_size(questions) : ASK_DEFAULT;
    file->ask = ARENA_ARRAY(arena, struct demo_question, n);
    if (file->ask == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_array_get(ask, i);
        const json_t *question = id != NULL ? question_find(questions, json_string_value(id))
                                            : json_array_get(questions, i);
        if (question != NULL)
            file->ask[file->n_ask++] =
                (struct demo_question){.id = text_of(arena, question, "id"),
                                       .text = text_of(arena, question, "question"),
                                       .answer = text_of(arena, question, "answer")};
    }
    return true;
}

enum err_code demo_file_read(struct arena *arena, const char *path, struct demo_file *file,
                             struct err *err)
{
    json_error_t why;
    *file = (struct demo_file){.n_turns = 0};
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (root == NULL)
        return err_set(err, ERR_INVALID, "%.100s: %.120s (line %d)", path, why.text, why.line);
    const json_t *conversation = json_array_get(json_object_get(root, "conversations"), 0);
    bool fits = take_sessions(arena, json_object_get(conversation, "sessions"), file) &&
                take_questions(arena, conversation, file);
    file->name = text_of(arena, conversation, "id");
    json_decref(root);
    if (!fits)
        return err_set(err, ERR_EXHAUSTED, "%.100s: out of memory", path);
    if (file->n_turns == 0)
        return err_set(err, ERR_INVALID, "%.100s: no conversations[0].sessions[].turns[]", path);
    return ERR_OK;
}

/* --- requests --- */

static bool put_text(json_t *object, const char *key, struct str value)
{
    return value.at == NULL ||
           json_object_set_new(object, key, json_stringn(value.at, value.len)) == 0;
}

static json_t *turn_json(const struct demo_turn *turn)
{
    json_t *object = json_object();
    if (put_text(object, "id", turn->id) && put_text(object, "session", turn->session) &&
        put_text(object, "speaker", turn->speaker) && put_text(object, "role", turn->role) &&
        put_text(object, "text", turn->text) && put_text(object, "timestamp", turn->timestamp))
        return object;
    json_decref(object);
    return NULL;
}

enum err_code demo_turns_encode(struct arena *arena, const struct demo_turn *turns, size_t n,
                                struct str *body, struct err *err)
{
    json_t *list = json_array();
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = json_array_append_new(list, turn_json(&turns[i]));
    json_t *root = rc == 0 ? json_pack("{s:o}", "turns", list) : NULL;
    char *text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;
    *body = str_copy(arena, str_of(text != NULL ? text : ""));
    bool fine = text != NULL && body->at != NULL;
    free(text);
    json_decref(root != NULL ? root : list);
    return fine ? ERR_OK : err_set(err, ERR_INVALID, "a turn is not valid UTF-8, or out of memory");
}

/* --- replies --- */

static json_t *parse(struct str body, struct err *err)
{
    json_t *root = json_loadb(body.at, body.len, JSON_ALLOW_NUL, NULL);
    if (root == NULL)
        (void)err_set(err, ERR_UPSTREAM, "the reply is not JSON");
    return root;
}

static void decode_vectors(struct arena *arena, const json_t *space, struct demo_counts *counts)
{
    const json_t *vectors = json_object_get(space, "vectors");
    const char *layer = NULL;
    json_t *number = NULL;
    counts->encoder =
        text_of(arena, json_object_get(json_object_get(space, "models"), "embed"), "model");
    counts->has_vectors = str_eq(text_of(arena, vectors, "state"), STR("active"));
    counts->behind = number_of(vectors, "behind");
    json_object_foreach(json_object_get(vectors, "embedded"), layer, number)
    {
        counts->embedded += (uint64_t)json_integer_value(number);
    }
}

enum err_code demo_counts_decode(struct arena *arena, struct str body, struct demo_counts *counts,
                                 struct err *err)
{
    json_t *root = parse(body, err);
    if (root == NULL)
        return ERR_UPSTREAM;
    const json_t *of_space = json_object_get(root, "counts");
    *counts = (struct demo_counts){
        .accepted = number_of(root, "accepted"),
        .duplicates = number_of(root, "duplicates"),
        .pending_turns = number_of(root, "pending_turns"),
        .turns = number_of(of_space, "turns"),
        .episodes = number_of(of_space, "episodes"),
        .topics = number_of(of_space, "topics"),
        .facts = number_of(of_space, "facts"),
    };
    decode_vectors(arena, root, counts);
    json_decref(root);
    return ERR_OK;
}

static struct str join(struct arena *arena, const json_t *names)
{
    struct str all = STR("");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name != NULL)
            all = str_printf(arena, "%.*s%s%s", STR_FMT(all), all.len != 0 ? " " : "", name);
    }
    return all;
}

static struct str day_of(struct arena *arena, const json_t *object, const char *key)
{
    enum { DAY_LEN = 10 };
    struct str time = text_of(arena, object, key);
    return time.at == NULL ? STR_NONE : str_part(time, 0, DAY_LEN);
}

static struct demo_node node_of(struct arena *arena, const json_t *object)
{
    const json_t *score = json_object_get(object, "score");
    const json_t *time = json_object_get(object, "time");
    bool is_fact = json_object_get(object, "content") != NULL;
    return (struct demo_node){
        .score = json_is_number(score) ? json_number_value(score) : -1,
        .title = text_of(arena, object, is_fact ? "content" : "title"),
        .text = text_of(arena, object, "summary"),
        .from = is_fact ? day_of(arena, time, "from") : day_of(arena, object, "start"),
        .to = is_fact ? day_of(arena, time, "to") : day_of(arena, object, "end"),
        .session = text_of(arena, object, "session"),
        .turns = join(arena, json_object_get(object, "turn_ids")),
        .members = is_fact ? 0 : json_array_size(json_object_get(object, "episode_ids")),
    };
}

static struct demo_node *nodes_of(struct arena *arena, const json_t *list, size_t *n)
{
    *n = json_array_size(list);
    struct demo_node *nodes = ARENA_ARRAY(arena, struct demo_node, *n);
    for (size_t i = 0; nodes != NULL && i < *n; i++)
        nodes[i] = node_of(arena, json_array_get(list, i));
    return nodes;
}

enum err_code demo_reply_decode(struct arena *arena, struct str body, struct demo_reply *reply,
                                struct err *err)
{
    json_t *root = parse(body, err);
    if (root == NULL)
        return ERR_UPSTREAM;
    const json_t *context = json_object_get(root, "context");
    *reply = (struct demo_reply){.tokens = number_of(context, "tokens")};
    reply->topics = nodes_of(arena, json_object_get(root, "topics"), &reply->n_topics);
    reply->episodes = nodes_of(arena, json_object_get(root, "episodes"), &reply->n_episodes);
    reply->facts = nodes_of(arena, json_object_get(root, "facts"), &reply->n_facts);
    reply->context = text_of(arena, context, "text");
    json_decref(root);
    if (reply->topics == NULL || reply->episodes == NULL || reply->facts == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory");
    return ERR_OK;
}

struct str demo_error_decode(struct arena *arena, struct str body)
{
    json_t *root = json_loadb(body.at, body.len, JSON_ALLOW_NUL, NULL);
    struct str message = text_of(arena, json_object_get(root, "error"), "message");
    json_decref(root);
    return message.at != NULL ? message : str_part(body, 0, ERROR_SHOWN);
}
