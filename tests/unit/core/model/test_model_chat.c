/* Chat calls against scripted replies: what is asked, what is learned, what a reply is made of. */
#include <check.h>
#include <stdio.h>

#include "core/model/retry.h"
#include "tests/unit/core/model/chat_kit.h"

#define OPEN(c, ...)                                                                               \
    static const struct script_reply script_[] = {__VA_ARGS__};                                    \
    chat_open(&(c), script_, sizeof script_ / sizeof script_[0])
#define MORE(c, ...)                                                                               \
    do {                                                                                           \
        static const struct script_reply more_[] = {__VA_ARGS__};                                  \
        script_add(&(c).script, more_, sizeof more_ / sizeof more_[0]);                            \
    } while (0)

static struct model_learned learned(const struct chat_case *c)
{
    struct model_learned out;
    models_learned(c->models, PURPOSE_FACTS, &out);
    return out;
}

static uint64_t counted(const struct chat_case *c, enum metric_counter id)
{
    return atomic_load(&c->metrics->counter[id]);
}

START_TEST(asked_and_answered)
{
    struct chat_case c;
    OPEN(c, SAYS("{\\\"n\\\":3}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert_int_eq(c.n, 3);
    const struct script_asked *asked = &c.script.asked[0];
    ck_assert(str_eq(asked->url, STR("http://models.test/v1/chat/completions")));
    ck_assert(str_eq(asked->key, STR("Bearer key-of-the-test")));
    ck_assert_int_eq(asked->total_ms, 30000);
    ck_assert_int_eq(asked->idle_ms, 0);
    chat_sent(&c, 0, "\"model\":\"small\"");
    chat_sent(&c, 0, "{\"role\":\"system\",\"content\":\"You count.\"}");
    chat_sent(&c, 0, "how many? part 0");
    chat_sent(&c, 0, "\"response_format\":{\"type\":\"json_schema\"");
    chat_sent(&c, 0, "\"strict\":true");
    chat_sent(&c, 0, "\"max_tokens\":100");
    chat_not_sent(&c, 0, "temperature");
    chat_not_sent(&c, 0, "reasoning_effort");
    chat_not_sent(&c, 0, "stream");
    ck_assert_uint_eq(c.call.usage.calls, 1);
    ck_assert_uint_eq(c.call.usage.tokens_in, 11);
    ck_assert_uint_eq(c.call.usage.tokens_out, 7);
    ck_assert(!c.call.usage.estimated);
    ck_assert_str_eq(learned(&c).structured, "json_schema strict");
    ck_assert_uint_eq(counted(&c, METRIC_LLM_OK_FACTS), 1);
    ck_assert_uint_eq(counted(&c, METRIC_LLM_ERROR_FACTS), 0);
    ck_assert_uint_eq(counted(&c, METRIC_LLM_IN_FACTS), 11);
    ck_assert_uint_eq(counted(&c, METRIC_LLM_OUT_FACTS), 7);
    chat_close(&c);
}
END_TEST

START_TEST(limits_and_extras_are_sent)
{
    struct chat_case c;
    OPEN(c, SAYS("{\\\"n\\\":3}"));
    c.options.chat =
        (struct chat_limits){.max_tokens = 55, .temperature = 0.3F, .reasoning = STR("low")};
    struct model_address *address = &c.options.address[PURPOSE_FACTS];
    address->extra_headers = STR("X-Team: memory\nauthorization: Basic abc");
    address->extra_body = STR("{\"max_tokens\":null,\"seed\":5,\"temperature\":0.9}");
    address->model = STR("");
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 1);
    chat_sent(&c, 0, "\"seed\":5");
    chat_sent(&c, 0, "\"temperature\":0.9");
    chat_sent(&c, 0, "\"reasoning_effort\":\"low\"");
    chat_not_sent(&c, 0, "max_tokens");
    chat_not_sent(&c, 0, "\"model\"");
    ck_assert_uint_eq(c.call.exchange.n_headers, 2);
    ck_assert(str_eq(c.call.exchange.headers[0].value, STR("Basic abc")));
    ck_assert(str_eq(c.call.exchange.headers[1].value, STR("memory")));
    chat_close(&c);
}
END_TEST

START_TEST(ladder_goes_down_and_is_remembered)
{
    struct chat_case c;
    OPEN(c, REFUSES(400, "'strict' is not allowed in response_format"),
         REFUSES(422, "json_schema is not supported"), SAYS("{\\\"n\\\":3}"), SAYS("{\\\"n\\\":4}"),
         REFUSES(400, "response_format is unknown"), SAYS("{\\\"n\\\":5}"));
    c.script.n_replies = 3;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    chat_sent(&c, 0, "\"strict\":true");
    chat_sent(&c, 1, "\"type\":\"json_schema\"");
    chat_not_sent(&c, 1, "strict");
    chat_sent(&c, 2, "\"response_format\":{\"type\":\"json_object\"}");
    chat_sent(&c, 2, "It must follow this JSON schema:");
    ck_assert_str_eq(learned(&c).structured, "json_object");
    c.script.n_replies = 4;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 4);
    chat_sent(&c, 3, "\"response_format\":{\"type\":\"json_object\"}");
    c.script.n_replies = 6;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 6);
    chat_not_sent(&c, 5, "response_format");
    chat_sent(&c, 5, "It must follow this JSON schema:");
    ck_assert_str_eq(learned(&c).structured, "plain");
    chat_close(&c);
}
END_TEST

START_TEST(a_refusal_without_a_reason_tries_the_ladder_once)
{
    struct chat_case c;
    OPEN(c, REFUSES(400, "Bad request"), SAYS("{\\\"n\\\":3}"), REFUSES(400, "Bad request"));
    c.script.n_replies = 2;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 2);
    ck_assert_str_eq(learned(&c).structured, "json_schema");
    /* The rung has worked: now the same refusal means something else. */
    c.script.n_replies = 3;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_REQUEST, 3);
    chat_close(&c);
}
END_TEST

START_TEST(what_never_worked_is_not_learned)
{
    struct chat_case c;
    OPEN(c, REFUSES(400, "no"), REFUSES(400, "no"), REFUSES(400, "no"), REFUSES(400, "no"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_REQUEST, 4);
    ck_assert_ptr_null(learned(&c).structured);
    MORE(c, SAYS("{\\\"n\\\":3}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 5);
    ck_assert_str_eq(learned(&c).structured, "json_schema strict");
    chat_close(&c);
}
END_TEST

START_TEST(parameters_are_renamed_and_dropped_once)
{
    struct chat_case c;
    OPEN(c,
         {.status = 400,
          .body = "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported "
                  "with this model. Use 'max_completion_tokens' instead.\",\"type\":"
                  "\"invalid_request_error\",\"param\":\"max_tokens\"}}"},
         REFUSES(400, "Unsupported value: 'temperature' does not support 0.3"),
         {.status = 422,
          .body = "{\"detail\":[{\"loc\":[\"body\",\"reasoning_effort\"],\"msg\":\"Extra inputs "
                  "are not permitted\",\"input\":{\"response_format\":1}}]}"},
         SAYS("{\\\"n\\\":3}"), SAYS("{\\\"n\\\":4}"));
    c.options.chat.temperature = 0.3F;
    c.options.chat.reasoning = STR("low");
    c.script.n_replies = 4;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 4);
    chat_sent(&c, 1, "\"max_completion_tokens\":100");
    chat_sent(&c, 1, "\"temperature\":0.3,");
    chat_not_sent(&c, 2, "temperature");
    chat_not_sent(&c, 3, "reasoning_effort");
    chat_sent(&c, 3, "json_schema");
    struct model_learned got = learned(&c);
    ck_assert_uint_eq(got.n_dropped, 3);
    ck_assert_str_eq(got.dropped[0], "max_tokens");
    ck_assert_str_eq(got.dropped[1], "temperature");
    ck_assert_str_eq(got.dropped[2], "reasoning_effort");
    c.script.n_replies = 5;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 5);
    chat_sent(&c, 4, "max_completion_tokens");
    chat_not_sent(&c, 4, "temperature");
    ck_assert_uint_eq(counted(&c, METRIC_LLM_RETRY_MENDED), 3);
    chat_close(&c);
}
END_TEST

START_TEST(both_names_of_max_tokens_can_go)
{
    struct chat_case c;
    OPEN(c, REFUSES(400, "unknown field max_tokens"),
         REFUSES(400, "unknown field max_completion_tokens"), SAYS("{\\\"n\\\":3}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    chat_not_sent(&c, 2, "tokens");
    chat_close(&c);
}
END_TEST

START_TEST(version_is_added_once)
{
    struct chat_case c;
    OPEN(c, {.status = 404, .body = "404 page not found"}, SAYS("{\\\"n\\\":3}"),
         SAYS("{\\\"n\\\":3}"), {.status = 404, .body = ""});
    for (unsigned p = 0; p < MODEL_PURPOSES; p++)
        c.options.address[p].base_url = STR("http://models.test/");
    c.script.n_replies = 3;
    chat_ask_object(&c);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert(str_eq(c.script.asked[0].url, STR("http://models.test/chat/completions")));
    ck_assert(str_eq(c.script.asked[1].url, STR("http://models.test/v1/chat/completions")));
    ck_assert(str_eq(c.script.asked[2].url, STR("http://models.test/v1/chat/completions")));
    ck_assert(learned(&c).version);
    c.script.n_replies = 4;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_REQUEST, 4);
    chat_close(&c);
}
END_TEST

START_TEST(version_is_not_added)
{
    /* to one that has it, and for a model that is not there */
    struct chat_case c;
    OPEN(c, {.status = 404, .body = "404 page not found"});
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_REQUEST, 1);
    chat_close(&c);
    static const struct script_reply missing[] = {
        {.status = 404,
         .body = "{\"error\":\"model \\\"small\\\" not found, try pulling it first\"}"}};
    chat_open(&c, missing, 1);
    for (unsigned p = 0; p < MODEL_PURPOSES; p++)
        c.options.address[p].base_url = STR("http://models.test");
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_REQUEST, 1);
    ck_assert_ptr_nonnull(strstr(c.call.err.message, "try pulling it"));
    ck_assert(!learned(&c).version);
    chat_close(&c);
}
END_TEST

START_TEST(replies_of_every_shape)
{
    static const struct {
        const char *body;
        bool works;
    } cases[] = {
        {"{\"choices\":[{\"message\":{\"content\":\"{\\\"n\\\":3}\"}}]}", true},
        {"{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\"\"},"
         "{\"type\":\"reasoning\",\"text\":\"no\"},{\"type\":\"text\",\"text\":\":3}\"}]}}]}",
         true},
        {"{\"choices\":[{\"message\":{\"content\":null,\"tool_calls\":[{\"function\":{\"name\":"
         "\"facts\",\"arguments\":\"{\\\"n\\\":3}\"}}]}}]}",
         true},
        {"{\"choices\":[{\"message\":{\"reasoning_content\":\"{\\\"n\\\":9}\",\"content\":"
         "\"<think>{\\\"n\\\":8}</think>{\\\"n\\\":3}\"},\"finish_reason\":null}]}",
         true},
        {"{\"choices\":[{\"message\":{\"content\":\"Sure:\\n```json\\n{'n': 3,}\\n```\"}}]}", true},
        {"{\"choices\":[{\"text\":\"{\\\"n\\\":3}\"}]}", true},
        {"{\"choices\":[{\"message\":{\"content\":\"[{\\\"n\\\":3}]\"}}]}", true},
        {"{\"choices\":[{\"message\":{\"content\":\"\\\"{\\\\\\\"n\\\\\\\":3}\\\"\"}}]}", true},
        {"{\"error\":null,\"choices\":[{\"message\":{\"content\":\"{\\\"n\\\":3}\"}}]}", true},
        {"{\"choices\":[]}", false},
        {"{\"choices\":[{\"message\":{\"content\":null}}]}", false},
        {"{\"choices\":[{\"message\":{\"content\":\"\"}}]}", false},
        {"{\"choices\":[{\"message\":{\"content\":null,\"reasoning_content\":\"hm\"}}]}", false},
        {"{\"object\":\"chat\"}", false},
        {"[]", false},
        {"", false},
        {"{\"choices\":[{\"message\":{\"cont", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chat_case c;
        struct script_reply reply = {.status = 200, .body = cases[i].body};
        chat_open(&c, &reply, 1);
        c.options.address[PURPOSE_FACTS].attempts = 1;
        chat_ask_object(&c);
        ck_assert_msg((c.call.outcome == ERR_OK) == cases[i].works, "%s: %s", cases[i].body,
                      c.call.err.message);
        ck_assert_msg(!cases[i].works || c.n == 3, "%s", cases[i].body);
        chat_close(&c);
    }
}
END_TEST

START_TEST(empty_replies_are_tried_again)
{
    struct chat_case c;
    OPEN(c, {.status = 200, .body = "{\"choices\":[]}"},
         {.status = 200, .body = "{\"choices\":[{\"message\":{\"content\":null}}]}"},
         SAYS("{\\\"n\\\":3}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert_uint_eq(c.script.n_waited, 2);
    chat_close(&c);
}
END_TEST

START_TEST(a_page_is_no_reply)
{
    struct chat_case c;
    OPEN(c, {.status = 200, .type = "text/html", .body = "<html>hello</html>"},
         {.status = 200, .body = "<!doctype html><p>x"},
         {.status = 502, .type = "text/html", .body = "<html>bad gateway</html>"});
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_SERVER, 3);
    ck_assert_ptr_nonnull(strstr(c.call.err.message, "status 502"));
    chat_close(&c);
    /* The address of a web interface: the API is below /v1. */
    static const struct script_reply page[] = {
        {.status = 200, .type = "text/html", .body = "<html>hello</html>"}, SAYS("{\\\"n\\\":3}")};
    chat_open(&c, page, 2);
    c.options.address[PURPOSE_FACTS].base_url = STR("http://models.test:3000");
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 2);
    ck_assert(learned(&c).version);
    chat_close(&c);
}
END_TEST

START_TEST(error_objects_inside_200)
{
    struct chat_case c;
    OPEN(c, REFUSES(200, "upstream timed out"),
         {.status = 200,
          .body = "{\"error\":{\"code\":429,\"message\":\"slow down, try again in 2s\"}}"},
         SAYS("{\\\"n\\\":3}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    ck_assert_int_ge(c.script.waited_ms[1], 2000);
    ck_assert_uint_eq(counted(&c, METRIC_LLM_RETRY_SERVER), 1);
    ck_assert_uint_eq(counted(&c, METRIC_LLM_RETRY_RATE), 1);
    chat_close(&c);
    static const struct script_reply inside[] = {
        {.status = 200,
         .body = "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"json_schema?\"}}"},
        SAYS("{\\\"n\\\":3}")};
    chat_open(&c, inside, 2);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 2);
    ck_assert_str_eq(learned(&c).structured, "json_schema");
    chat_close(&c);
}
END_TEST

START_TEST(what_is_wrong_is_asked_again)
{
    struct chat_case c;
    OPEN(c, SAYS("{\\\"n\\\":0}"), SAYS("I would say three."), SAYS("{\\\"n\\\":3}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    chat_not_sent(&c, 0, "\"assistant\"");
    chat_sent(&c, 1, "{\"role\":\"assistant\",\"content\":\"{\\\"n\\\":0}\"}");
    chat_sent(&c, 1, "n must be above 0.");
    chat_sent(&c, 2, "I would say three.");
    chat_sent(&c, 2, "there is no JSON object in it.");
    ck_assert_uint_eq(c.script.n_waited, 0);
    ck_assert_uint_eq(counted(&c, METRIC_LLM_RETRY_REPLY), 2);
    chat_close(&c);
}
END_TEST

START_TEST(asking_again_ends)
{
    struct chat_case c;
    OPEN(c, SAYS("{\\\"n\\\":0}"), SAYS("{\\\"n\\\":0}"), SAYS("{\\\"n\\\":0}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_REPLY, 1 + MODEL_REASKS);
    ck_assert_int_eq(c.call.outcome, ERR_UPSTREAM);
    ck_assert_ptr_nonnull(strstr(c.call.err.message, "n must be above 0"));
    chat_close(&c);
}
END_TEST

START_TEST(reading_may_end_the_call)
{
    struct chat_case c;
    OPEN(c, SAYS("{\\\"n\\\":1}"));
    c.refuse = ERR_CONFLICT;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_REPLY, 1);
    ck_assert_int_eq(c.call.outcome, ERR_CONFLICT);
    chat_close(&c);
}
END_TEST

START_TEST(too_long_is_halved)
{
    static const char *const said[] = {"This model's maximum context length is 8192 tokens.",
                                       "the request exceeds the available context size",
                                       "prompt is too long: 210000 tokens > 200000 maximum",
                                       "Please reduce the length of the messages.",
                                       "too many tokens"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        struct chat_case c;
        char body[200];
        (void)snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\"}}", said[i]);
        struct script_reply replies[] = {
            {.status = 400, .body = body}, {.status = 413, .body = ""}, SAYS("{\\\"n\\\":3}")};
        chat_open(&c, replies, 3);
        chat_ask_object(&c);
        chat_expect(&c, MODEL_FAILURE_NONE, 3);
        chat_sent(&c, 0, "part 0");
        chat_sent(&c, 1, "part 1");
        chat_sent(&c, 2, "part 2");
        chat_close(&c);
    }
}
END_TEST

START_TEST(halving_ends)
{
    struct chat_case c;
    OPEN(c, REFUSES(400, "context_length_exceeded"), REFUSES(400, "context_length_exceeded"),
         REFUSES(400, "context_length_exceeded"));
    c.halvings = 2;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_TOO_LONG, 3);
    chat_close(&c);
    static const struct script_reply more[] = {
        REFUSES(400, "too many tokens"), REFUSES(400, "too many tokens"),
        REFUSES(400, "too many tokens"), REFUSES(400, "too many tokens"),
        REFUSES(400, "too many tokens")};
    chat_open(&c, more, 5);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_TOO_LONG, 1 + MODEL_HALVINGS);
    chat_close(&c);
}
END_TEST

START_TEST(a_reply_cut_off_halves_the_question)
{
    struct chat_case c;
    OPEN(c, CUT("{\\\"m\\\":[1,2"), SAYS("{\\\"n\\\":3}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 2);
    chat_sent(&c, 1, "part 1");
    chat_close(&c);
    /* a whole object is one, whatever the finish reason */
    static const struct script_reply whole[] = {CUT("{\\\"n\\\":3}")};
    chat_open(&c, whole, 1);
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 1);
    chat_close(&c);
    /* nothing smaller: what there is is used, if it passes */
    static const struct script_reply salvaged[] = {CUT("{\\\"n\\\":3,\\\"m\\\":[{\\\"a"),
                                                   CUT("{\\\"m\\\":[{\\\"a")};
    chat_open(&c, salvaged, 2);
    c.halvings = 0;
    c.script.n_replies = 1;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert_int_eq(c.n, 3);
    c.script.n_replies = 2;
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_TOO_LONG, 2);
    chat_close(&c);
}
END_TEST

START_TEST(a_budget_eaten_by_thoughts_grows)
{
    struct chat_case c;
    OPEN(c, CUT(""), CUT("<think>hm"), SAYS("{\\\"n\\\":3}"));
    chat_ask_object(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 3);
    chat_sent(&c, 0, "\"max_tokens\":100");
    chat_sent(&c, 1, "\"max_tokens\":200");
    chat_sent(&c, 2, "\"max_tokens\":400");
    chat_sent(&c, 2, "part 0");
    chat_close(&c);
}
END_TEST

START_TEST(texts)
{
    struct chat_case c;
    OPEN(c, SAYS("<think>hm</think> Three. "), CUT("Three, or"));
    c.script.n_replies = 1;
    chat_ask_text(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert(str_eq(c.call.chat.text, STR("Three.")));
    ck_assert(!c.call.chat.cut);
    chat_not_sent(&c, 0, "response_format");
    c.script.n_replies = 2;
    chat_ask_text(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 2);
    ck_assert(str_eq(c.call.chat.text, STR("Three, or")));
    ck_assert(c.call.chat.cut);
    ck_assert(c.call.usage.estimated);
    ck_assert_uint_gt(c.call.usage.tokens_in, 0);
    ck_assert_uint_eq(c.call.usage.tokens_out, 3);
    chat_close(&c);
}
END_TEST

START_TEST(filtered)
{
    struct chat_case c;
    OPEN(c, {.status = 200,
             .body = "{\"choices\":[{\"message\":{\"content\":null},"
                     "\"finish_reason\":\"content_filter\"}]}"});
    chat_ask_text(&c);
    chat_expect(&c, MODEL_FAILURE_REPLY, 1);
    ck_assert_ptr_nonnull(strstr(c.call.err.message, "filter"));
    chat_close(&c);
}
END_TEST

/* --- streams --- */

#define DELTA(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define STREAMS(...)                                                                               \
    {                                                                                              \
        .status = 200, .type = "text/event-stream", .pieces = { __VA_ARGS__ }                      \
    }

START_TEST(streamed)
{
    struct chat_case c;
    OPEN(c, STREAMS(": hello\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\","
                    "\"content\":\"\"}}]}\r\n\r\n",
                    DELTA("The"), "data: {\"choices\":[{\"delta\":{\"conte", "nt\":\" dog\"}}]}\n",
                    "\n" DELTA(" is") DELTA(" Rex."),
                    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
                    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":4}}"
                    "\n\ndata: [DONE]\n\n"));
    chat_ask_stream(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 1);
    chat_sent(&c, 0, "\"stream\":true");
    chat_sent(&c, 0, "\"stream_options\":{\"include_usage\":true}");
    ck_assert_int_eq(c.script.asked[0].idle_ms, 2000);
    ck_assert_str_eq(c.pieces, "The| dog| is| Rex.|");
    ck_assert(str_eq(c.call.chat.text, STR("The dog is Rex.")));
    ck_assert(!c.call.chat.cut);
    ck_assert_uint_eq(c.call.usage.tokens_out, 4);
    chat_close(&c);
}
END_TEST

START_TEST(streamed_thoughts_are_left_out)
{
    static const struct {
        const char *pieces[6];
        const char *given, *text;
    } cases[] = {
        {{DELTA("<th"), DELTA("ink>so {"), DELTA("} </thi"), DELTA("nk>\\n\\nRex"), DELTA("!")},
         "Rex|!|",
         "Rex!"},
        {{DELTA("<think>a</think><think>b</think>Rex")}, "Rex|", "Rex"},
        {{DELTA("<"), DELTA("b>Rex")}, "<b>Rex|", "<b>Rex"},
        {{DELTA("<")}, "<|", "<"},
        {{DELTA(" \\n "), DELTA("Rex")}, "Rex|", "Rex"},
        {{DELTA("Rex <think> is a word")}, "Rex <think> is a word|", "Rex <think> is a word"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct chat_case c;
        struct script_reply reply = {.status = 200, .type = "text/event-stream"};
        memcpy(reply.pieces, cases[i].pieces, sizeof cases[i].pieces);
        chat_open(&c, &reply, 1);
        chat_ask_stream(&c);
        chat_expect(&c, MODEL_FAILURE_NONE, 1);
        ck_assert_str_eq(c.pieces, cases[i].given);
        ck_assert(str_eq(c.call.chat.text, str_of(cases[i].text)));
        chat_close(&c);
    }
}
END_TEST

START_TEST(a_server_that_does_not_stream)
{
    struct chat_case c;
    OPEN(c, {.status = 200,
             .pieces = {"{\"choices\":[{\"message\":{\"content\":\"<think>x</think>Re",
                        "x.\"},\"finish_reason\":\"stop\"}]}"}});
    chat_ask_stream(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 1);
    ck_assert_str_eq(c.pieces, "Rex.|");
    ck_assert(str_eq(c.call.chat.text, STR("Rex.")));
    chat_close(&c);
}
END_TEST

START_TEST(a_stream_that_breaks)
{
    struct chat_case c;
    /* before the first piece it is tried again, after it never */
    OPEN(c, {.status = 200, .pieces = {": wait\n\n"}, .breaks = true},
         {.status = 200, .pieces = {DELTA("Re")}, .breaks = true});
    chat_ask_stream(&c);
    chat_expect(&c, MODEL_FAILURE_CONNECT, 2);
    ck_assert_str_eq(c.pieces, "Re|");
    ck_assert(str_eq(c.call.chat.text, STR("Re")));
    ck_assert(c.call.chat.cut);
    chat_close(&c);
}
END_TEST

START_TEST(an_error_as_an_event)
{
    struct chat_case c;
    OPEN(c, STREAMS("data: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n"),
         STREAMS(DELTA("Rex")),
         STREAMS(DELTA("Re"), "data: {\"error\":{\"message\":\"gone\"}}\n\n"));
    c.script.n_replies = 2;
    chat_ask_stream(&c);
    chat_expect(&c, MODEL_FAILURE_NONE, 2);
    ck_assert(c.call.chat.cut); /* without a finish reason */
    c.script.n_replies = 3;
    chat_ask_stream(&c);
    ck_assert_int_ne(c.call.outcome, ERR_OK);
    ck_assert_uint_eq(c.script.n_asked, 3);
    ck_assert_str_eq(c.pieces, "Re|");
    chat_close(&c);
}
END_TEST

START_TEST(nobody_listens)
{
    struct chat_case c;
    OPEN(c, STREAMS(DELTA("Re"), DELTA("x")));
    c.listens_for = 1;
    chat_ask_stream(&c);
    chat_expect(&c, MODEL_FAILURE_STOPPED, 1);
    ck_assert_str_eq(c.pieces, "Re|");
    chat_close(&c);
}
END_TEST

START_TEST(memory_may_be_short)
{
    static const struct script_reply replies[] = {REFUSES(400, "unknown field max_tokens"),
                                                  SAYS("<think>x</think>{'n':0}"),
                                                  SAYS("<think>x</think>{'n':3}")};
    unsigned failures = 0;
    for (unsigned long n = 1;; n++) {
        struct chat_case c;
        chat_open(&c, replies, 3);
        c.fail_after = n;
        chat_ask_object(&c);
        bool works = c.call.outcome == ERR_OK;
        if (!works) {
            ck_assert_int_eq(c.call.outcome, ERR_EXHAUSTED);
            ck_assert_int_eq(c.call.failure, MODEL_FAILURE_MEMORY);
            failures++;
        }
        chat_close(&c);
        if (works)
            break;
        ck_assert_uint_lt(n, 500);
    }
    ck_assert_uint_gt(failures, 15);
}
END_TEST

START_TEST(memory_may_be_short_in_a_stream)
{
    static const struct script_reply replies[] = {
        STREAMS(DELTA("<think>"), DELTA("x</think>Re"), DELTA("x"))};
    unsigned failures = 0;
    for (unsigned long n = 1;; n++) {
        struct chat_case c;
        chat_open(&c, replies, 1);
        c.fail_after = n;
        chat_ask_stream(&c);
        bool works = c.call.outcome == ERR_OK;
        ck_assert(works || c.call.failure == MODEL_FAILURE_MEMORY);
        failures += !works;
        chat_close(&c);
        if (works)
            break;
        ck_assert_uint_lt(n, 500);
    }
    ck_assert_uint_gt(failures, 8);
}
END_TEST

Suite *suite_model_chat(void)
{
    Suite *suite = suite_create("model_chat");
    TCase *tcase = tcase_create("all");
    tcase_add_test(tcase, asked_and_answered);
    tcase_add_test(tcase, limits_and_extras_are_sent);
    tcase_add_test(tcase, ladder_goes_down_and_is_remembered);
    tcase_add_test(tcase, a_refusal_without_a_reason_tries_the_ladder_once);
    tcase_add_test(tcase, what_never_worked_is_not_learned);
    tcase_add_test(tcase, parameters_are_renamed_and_dropped_once);
    tcase_add_test(tcase, both_names_of_max_tokens_can_go);
    tcase_add_test(tcase, version_is_added_once);
    tcase_add_test(tcase, version_is_not_added);
    tcase_add_test(tcase, replies_of_every_shape);
    tcase_add_test(tcase, empty_replies_are_tried_again);
    tcase_add_test(tcase, a_page_is_no_reply);
    tcase_add_test(tcase, error_objects_inside_200);
    tcase_add_test(tcase, what_is_wrong_is_asked_again);
    tcase_add_test(tcase, asking_again_ends);
    tcase_add_test(tcase, reading_may_end_the_call);
    tcase_add_test(tcase, too_long_is_halved);
    tcase_add_test(tcase, halving_ends);
    tcase_add_test(tcase, a_reply_cut_off_halves_the_question);
    tcase_add_test(tcase, a_budget_eaten_by_thoughts_grows);
    tcase_add_test(tcase, texts);
    tcase_add_test(tcase, filtered);
    tcase_add_test(tcase, streamed);
    tcase_add_test(tcase, streamed_thoughts_are_left_out);
    tcase_add_test(tcase, a_server_that_does_not_stream);
    tcase_add_test(tcase, a_stream_that_breaks);
    tcase_add_test(tcase, an_error_as_an_event);
    tcase_add_test(tcase, nobody_listens);
    tcase_add_test(tcase, memory_may_be_short);
    tcase_add_test(tcase, memory_may_be_short_in_a_stream);
    suite_add_tcase(suite, tcase);
    return suite;
}
