#include <jansson.h>

#include "core/model/ask_describe.h"
#include "core/model/ask_int.h"
#include "core/model/prompts/describe.h"
#include "core/text/utf8.h"

#define PAUSE_MS INT64_C(3600000)

static bool write_ask(void *arg, unsigned halvings, struct buf *out)
{
    struct ask_describe *ask = arg;
    struct ask_key key = ask__key(ask->seed);
    if (!ask__fit(&ask->dialogue, ASK_KEEP_ENDS, halvings))
        return false;
    ask__open(out, &key);
    ask__put_dialogue(out, &ask->dialogue, PAUSE_MS, &key);
    ask__close(out, &key);
    return true;
}

static bool is_in_language(const struct ask_describe *ask)
{
    struct ask_scripts said = {.all = 0}, reply = {.all = 0};
    ask__count_dialogue(&said, &ask->dialogue);
    ask__count_scripts(&reply, ask->title);
    ask__count_scripts(&reply, ask->summary);
    return ask__scripts_fit(&said, &reply);
}

static enum err_code read_reply(void *arg, const json_t *reply, struct buf *wrong, struct err *err)
{
    struct ask_describe *ask = arg;
    const struct ask_reader r = {ask->arena, ask__key(ask->seed), wrong, err};
    ask->title = ask__line(&r, json_object_get(reply, "title"), ASK_TITLE_BYTES);
    ask->summary = ask__line(&r, json_object_get(reply, "summary"), ASK_SUMMARY_BYTES);
    if (ask->title.at == NULL || ask->summary.at == NULL)
        return ask__memory(err);
    if (utf8_is_blank(ask->title) || utf8_is_blank(ask->summary))
        return ask__wrong(&r, "The reply must be an object with the strings title and summary, "
                              "neither empty.");
    if (!is_in_language(ask))
        return ask__wrong(&r, "Write title and summary in the language of the dialogue.");
    return ERR_OK;
}

void ask_describe(struct model_call *call, struct ask_describe *ask)
{
    ASSERT(call->purpose == PURPOSE_DESCRIBE && ask->dialogue.n >= 1);
    ask->arena = call->arena;
    call->chat = (struct chat_ask){
        .prompt = &prompt_describe, .write = write_ask, .read = read_reply, .arg = ask};
}
