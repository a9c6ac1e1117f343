#include <inttypes.h>
#include <jansson.h>

#include "core/model/ask_int.h"
#include "core/model/ask_topic.h"
#include "core/model/prompts/topic.h"
#include "core/text/utf8.h"

enum {
    TEXT_LEAST = 200,
    ITEMS_READ = 16, /* a reply that goes on and on is not read to its end */
};

/* --- the question --- */

struct topic_writer {
    struct buf *out;
    struct ask_key key;
    size_t text_max;
};

/* "title\n", then what is there of summary and keywords, a line each. */
static void put_texts(const struct topic_writer *w, struct str title, struct str summary,
                      struct str keywords)
{
    ask__put(w->out, ask__clip(title, w->text_max), &w->key, ASK_ONE_LINE);
    buf_char(w->out, '\n');
    size_t start = w->out->len;
    ask__put(w->out, ask__clip(summary, w->text_max), &w->key, ASK_ONE_LINE);
    if (w->out->len != start)
        buf_char(w->out, '\n');
    if (keywords.len == 0)
        return;
    buf_str_put(w->out, STR("Keywords: "));
    for (size_t at = 0, n = 0; at < keywords.len && n < ASK_TOPIC_KEYWORDS; n++) {
        struct str rest = str_part(keywords, at, keywords.len);
        size_t end = str_index(rest, '\n');
        if (at != 0)
            buf_str_put(w->out, STR(", "));
        ask__put(w->out, str_part(rest, 0, end), &w->key, ASK_ONE_LINE);
        at += end + 1;
    }
    buf_char(w->out, '\n');
}

/* Half of the candidates each time; when one is left, half of the texts. */
static bool fit(struct ask_topic *ask, unsigned halvings, size_t *text_max)
{
    ask->sent = ask->n_candidates;
    *text_max = ASK_TOPIC_SUMMARY_BYTES;
    for (unsigned i = 0; i < halvings; i++) {
        if (ask->sent > 1)
            ask->sent /= 2;
        else
            *text_max /= 2;
    }
    return *text_max >= TEXT_LEAST;
}

static bool write_ask(void *arg, unsigned halvings, struct buf *out)
{
    struct ask_topic *ask = arg;
    struct topic_writer w = {.out = out, .key = ask__key(ask->seed)};
    if (!fit(ask, halvings, &w.text_max))
        return false;
    ask__open(out, &w.key);
    buf_str_put(out, STR("Episode of "));
    ask__put_date(out, ask->start_ms, ask->offset_min);
    buf_str_put(out, STR(": "));
    put_texts(&w, ask->title, ask->summary, ask->keywords);
    for (uint32_t i = 0; i < ask->sent; i++) {
        const struct ask_candidate *c = &ask->candidates[i];
        buf_printf(out, "Topic %" PRIu32 ", last on ", c->number);
        ask__put_date(out, c->last_ms, ask->offset_min);
        buf_str_put(out, STR(": "));
        put_texts(&w, c->title, c->summary, c->keywords);
    }
    if (ask->sent == 0)
        buf_str_put(out, STR("No topics yet\n"));
    ask__close(out, &w.key);
    return true;
}

/* --- the reply --- */

static bool is_candidate(const struct ask_topic *ask, uint32_t number)
{
    for (uint32_t i = 0; i < ask->sent; i++) {
        if (ask->candidates[i].number == number)
            return true;
    }
    return false;
}

static bool is_there(const struct ask_topic *ask, uint32_t number)
{
    for (uint32_t i = 0; i < ask->n_topics; i++) {
        if (ask->topics[i].number == number)
            return true;
    }
    return false;
}

/* Keeps the heaviest, in order of weight; of two alike the earlier. */
static void keep(struct ask_topic *ask, const struct ask_topic_text *topic)
{
    uint32_t at = ask->n_topics;
    while (at > 0 && topic->weight > ask->topics[at - 1].weight)
        at--;
    if (at == LIMIT_TOPICS_PER_EPISODE)
        return;
    if (ask->n_topics < LIMIT_TOPICS_PER_EPISODE)
        ask->n_topics++;
    for (uint32_t i = ask->n_topics - 1; i > at; i--)
        ask->topics[i] = ask->topics[i - 1];
    ask->topics[at] = *topic;
}

static enum err_code read_topic(const struct ask_reader *r, const json_t *item,
                                struct ask_topic_text *topic)
{
    bool is_new = topic->number == 0;
    topic->title = ask__line(r, ask__member(item, "title"), ASK_TOPIC_TITLE_BYTES);
    topic->summary = ask__line(r, ask__member(item, "summary"), ASK_TOPIC_SUMMARY_BYTES);
    topic->keywords =
        ask__lines(r, ask__member(item, "keywords"), ASK_TOPIC_KEYWORDS, ASK_KEYWORD_BYTES);
    topic->weight = ask__weight(ask__member(item, "weight"));
    topic->role = ask__role(ask__member(item, "role"), ROLE_INITIATING, ROLE_TRANSITION,
                            is_new ? ROLE_INITIATING : ROLE_DEVELOPING);
    if (topic->title.at == NULL || topic->summary.at == NULL || topic->keywords.at == NULL)
        return ask__memory(r->err);
    if (utf8_is_blank(topic->title) || utf8_is_blank(topic->summary))
        return ask__wrong(r, "Each item of topics must have a title and a summary, not empty.");
    return ERR_OK;
}

/* Those that are joined, else the first new one. */
static enum err_code read_topics(const struct ask_reader *r, struct ask_topic *ask,
                                 const struct ask_items *items)
{
    struct ask_topic_text fresh = {.number = UINT32_MAX};
    for (size_t i = 0; i < items->n && i < ITEMS_READ; i++) {
        const json_t *item = ask__item(items, i);
        struct ask_topic_text topic = {.number = 0};
        bool known = ask__whole(ask__member(item, "id"), &topic.number);
        if (ask->sent == 0)
            topic.number = 0;
        else if (!known || (topic.number != 0 && !is_candidate(ask, topic.number)))
            continue;
        if (topic.number == 0 ? fresh.number == 0 : is_there(ask, topic.number))
            continue;
        enum err_code code = read_topic(r, item, &topic);
        if (code != ERR_OK)
            return code;
        if (topic.number == 0)
            fresh = topic;
        else
            keep(ask, &topic);
    }
    if (ask->n_topics == 0 && fresh.number == 0)
        ask->topics[ask->n_topics++] = fresh;
    return ERR_OK;
}

static bool is_in_language(const struct ask_topic *ask)
{
    struct ask_scripts said = {.all = 0}, reply = {.all = 0};
    ask__count_scripts(&said, ask->title);
    ask__count_scripts(&said, ask->summary);
    for (uint32_t i = 0; i < ask->sent; i++)
        ask__count_scripts(&said, ask->candidates[i].summary);
    for (uint32_t i = 0; i < ask->n_topics; i++) {
        ask__count_scripts(&reply, ask->topics[i].title);
        ask__count_scripts(&reply, ask->topics[i].summary);
    }
    return ask__scripts_fit(&said, &reply);
}

static enum err_code read_reply(void *arg, const json_t *reply, struct buf *wrong, struct err *err)
{
    struct ask_topic *ask = arg;
    const struct ask_reader r = {ask->arena, ask__key(ask->seed), wrong, err};
    struct ask_items items;
    ask->n_topics = 0;
    if (!ask__items(reply, "topics", &items) || items.n == 0)
        return ask__wrong(&r, "The reply must be an object with the array topics, not empty.");
    enum err_code code = read_topics(&r, ask, &items);
    if (code != ERR_OK)
        return code;
    if (ask->n_topics == 0)
        return ask__wrong(&r, "Each id must be the number of a topic that is shown, or 0 for a new "
                              "one.");
    if (!is_in_language(ask))
        return ask__wrong(&r, "Write title and summary in the language of the episode.");
    ask->outcome = ask->topics[0].number != 0 ? ASK_TOPIC_FITS
                   : ask->n_candidates == 0   ? ASK_TOPIC_ALONE
                                              : ASK_TOPIC_NEW;
    return ERR_OK;
}

void ask_topic(struct model_call *call, struct ask_topic *ask)
{
    ASSERT(call->purpose == PURPOSE_TOPIC && ask->n_candidates <= ASK_CANDIDATES_MAX);
    ask->arena = call->arena;
    ask->sent = ask->n_candidates;
    call->chat = (struct chat_ask){
        .prompt = &prompt_topic, .write = write_ask, .read = read_reply, .arg = ask};
}
