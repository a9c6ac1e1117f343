#include "api/routes.h"

#include <stdio.h>

#include "api/handlers.h"

#define SPACE "/v1/spaces/{space}"
#define ROWS(table, n) .params = (table), .n_params = (n)

static const struct route table[] = {
    {"PUT", SPACE, .step = spaces_put, .flags = ROUTE_BODY,
     .doc = "Creates a space or merges its settings"},
    {"GET", SPACE, .read = spaces_get, .doc = "Settings, sequence numbers, counts"},
    {"GET", "/v1/spaces", .read = spaces_list, ROWS(spaces_list_params, SPACES_LIST_PARAMS),
     .doc = "Lists spaces by name"},
    {"DELETE", SPACE, .step = spaces_delete, ROWS(spaces_delete_params, SPACES_DELETE_PARAMS),
     .doc = "Deletes a space and all that is in it"},

    {"POST", SPACE "/turns", .step = turns_post,
     .flags = ROUTE_BODY | ROUTE_NDJSON | ROUTE_IDEMPOTENT,
     ROWS(turns_post_params, TURNS_POST_PARAMS), .doc = "Stores turns"},
    {"GET", SPACE "/turns", .read = turns_list, ROWS(turns_list_params, TURNS_LIST_PARAMS),
     .doc = "Lists turns in order of arrival"},
    {"GET", SPACE "/turns/{turn}", .read = turns_get, .doc = "One turn"},
    {"PATCH", SPACE "/turns/{turn}", .flags = ROUTE_BODY | ROUTE_UNBUILT, .doc = "Changes a turn"},
    {"DELETE", SPACE "/turns/{turn}", .step = turns_delete,
     .doc = "Deletes a turn and what rests on it alone"},

    {"POST", SPACE "/flush", .step = flush_post, .flags = ROUTE_BODY | ROUTE_IDEMPOTENT,
     ROWS(turns_post_params, TURNS_POST_PARAMS), .doc = "Closes open episodes"},

    {"GET", SPACE "/query", .step = query_any, ROWS(query_params, QUERY_PARAMS),
     .doc = "Finds the memory that matters"},
    {"POST", SPACE "/query", .step = query_any, .flags = ROUTE_BODY,
     ROWS(query_params, QUERY_PARAMS), .doc = "The same with its parameters as JSON"},

    {"POST", SPACE "/answer", .step = answer_post, .flags = ROUTE_BODY,
     ROWS(answer_params, ANSWER_PARAMS), .doc = "Answers a question from what memory holds"},

    {"GET", SPACE "/episodes", .read = episodes_list,
     ROWS(episodes_list_params, EPISODES_LIST_PARAMS), .doc = "Lists episodes"},
    {"GET", SPACE "/episodes/{episode}", .read = episodes_get, .doc = "One episode"},
    {"PATCH", SPACE "/episodes/{episode}", .flags = ROUTE_BODY | ROUTE_UNBUILT,
     .doc = "Changes an episode"},
    {"DELETE", SPACE "/episodes/{episode}", .step = episodes_delete,
     .doc = "Deletes an episode and its turns"},

    {"GET", SPACE "/topics", .read = topics_list, ROWS(topics_list_params, TOPICS_LIST_PARAMS),
     .doc = "Lists topics"},
    {"GET", SPACE "/topics/{topic}", .read = topics_get, .doc = "One topic"},
    {"PATCH", SPACE "/topics/{topic}", .flags = ROUTE_BODY | ROUTE_UNBUILT,
     .doc = "Changes a topic"},
    {"DELETE", SPACE "/topics/{topic}", .step = topics_delete,
     ROWS(topics_delete_params, TOPICS_DELETE_PARAMS),
     .doc = "Deletes a topic and the episodes that are in no other"},

    {"GET", SPACE "/facts", .read = facts_list, ROWS(facts_list_params, FACTS_LIST_PARAMS),
     .doc = "Lists facts"},
    {"GET", SPACE "/facts/{fact}", .read = facts_get, .doc = "One fact"},
    {"PATCH", SPACE "/facts/{fact}", .flags = ROUTE_BODY | ROUTE_UNBUILT, .doc = "Changes a fact"},
    {"DELETE", SPACE "/facts/{fact}", .step = facts_delete, .doc = "Deletes one fact"},

    {"GET", SPACE "/jobs", .read = jobs_list, ROWS(jobs_list_params, JOBS_LIST_PARAMS),
     .doc = "Lists the jobs that have a record"},
    {"GET", SPACE "/jobs/{job}", .read = jobs_get, .doc = "One job"},
    {"POST", SPACE "/jobs/{job}/retry", .step = jobs_retry, .flags = ROUTE_BODY,
     .doc = "Runs a failed job again"},
    {"POST", SPACE "/jobs/{job}/cancel", .step = jobs_cancel, .flags = ROUTE_BODY,
     .doc = "Waits for a model no longer: the episode is finished built in"},
    {"POST", SPACE "/redo", .step = spaces_redo, .flags = ROUTE_BODY,
     ROWS(redo_params, REDO_PARAMS), .doc = "Gives episodes that no model told a job each"},

    {"GET", "/health/live", .answer = probes_live, .flags = ROUTE_OPEN,
     .doc = "The process answers"},
    {"GET", "/health/ready", .step = probes_ready, .flags = ROUTE_OPEN,
     .doc = "The store can be used"},
    {"GET", "/healthz", .step = probes_ready, .flags = ROUTE_OPEN, .doc = "The same"},
    {"GET", "/version", .answer = probes_version, .flags = ROUTE_OPEN, .doc = "Version"},
    {"GET", "/metrics", .step = metrics_get, .doc = "Prometheus text"},
};

enum { ROUTES = sizeof table / sizeof table[0] };

unsigned routes_count(void)
{
    return ROUTES;
}

const struct route *routes_at(unsigned index)
{
    ASSERT(index < ROUTES);
    return &table[index];
}

static bool matches(const char *template_, const struct path *path, struct route_vars *vars)
{
    struct str rest = str_of(template_ + 1);
    *vars = (struct route_vars){STR_NONE, STR_NONE};
    for (unsigned i = 0; i < path->n; i++) {
        if (rest.at == NULL)
            return false;
        size_t end = str_index(rest, '/');
        struct str part = str_part(rest, 0, end);
        rest = end < rest.len ? str_part(rest, end + 1, rest.len) : STR_NONE;
        if (part.len == 0 || part.at[0] != '{') {
            if (!str_eq(part, path->segment[i]))
                return false;
        } else if (str_eq(part, STR("{space}"))) {
            vars->space = path->segment[i];
        } else {
            vars->id = path->segment[i];
        }
    }
    return rest.at == NULL;
}

static void add_method(char allow[ROUTE_ALLOW_MAX], const char *method)
{
    size_t n = strlen(allow);
    (void)snprintf(allow + n, ROUTE_ALLOW_MAX - n, "%s%s", n == 0 ? "" : ", ", method);
}

const struct route *routes_find(const struct path *path, struct str method, struct route_vars *vars,
                                char allow[ROUTE_ALLOW_MAX])
{
    struct route_vars seen = {STR_NONE, STR_NONE};
    bool get = false;
    if (str_eq(method, STR("HEAD")))
        method = STR("GET");
    allow[0] = '\0';
    for (unsigned i = 0; i < ROUTES; i++) {
        if (!matches(table[i].path, path, &seen))
            continue;
        *vars = seen;
        if (str_eq(method, str_of(table[i].method)))
            return &table[i];
        get = get || strcmp(table[i].method, "GET") == 0;
        add_method(allow, table[i].method);
    }
    if (get)
        add_method(allow, "HEAD");
    if (allow[0] != '\0')
        add_method(allow, "OPTIONS");
    return NULL;
}
