#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "core/model/ask_boundary.h"
#include "core/model/ask_int.h"
#include "core/model/prompts/boundary.h"

/* Shorter pauses say something about where one event ends, too. */
#define PAUSE_MS INT64_C(600000)

static bool write_ask(void *arg, unsigned halvings, struct buf *out)
{
    struct ask_boundary *ask = arg;
    struct ask_key key = ask__key(ask->seed);
    if (!ask__fit(&ask->dialogue, ASK_KEEP_LAST, halvings))
        return false;
    ask__open(out, &key);
    ask__put_dialogue(out, &ask->dialogue, PAUSE_MS, &key);
    ask__close(out, &key);
    return true;
}

static int by_number(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static uint32_t without_repeats(uint32_t *at, uint32_t n)
{
    uint32_t kept = 0;
    qsort(at, n, sizeof *at, by_number);
    for (uint32_t i = 0; i < n; i++) {
        if (kept == 0 || at[kept - 1] != at[i])
            at[kept++] = at[i];
    }
    return kept;
}

/* Cuts but the one behind the last turn, which should_end decides. */
static enum err_code read_cuts(const struct ask_reader *r, struct ask_boundary *ask,
                               const json_t *cuts)
{
    const struct ask_dialogue *d = &ask->dialogue;
    uint32_t last = d->turns[d->n - 1].number;
    uint32_t sent = d->sent.head + d->sent.tail;
    size_t n = json_array_size(cuts);
    ask->ends = ARENA_ARRAY(r->arena, uint32_t, (size_t)sent + 1);
    if (ask->ends == NULL)
        return ask__memory(r->err);
    for (size_t i = 0; i < n && i < sent; i++) {
        uint32_t number;
        if (!ask__whole(json_array_get(cuts, i), &number) || !ask__has_turn(d, number))
            return ask__wrong(r,
                              "cuts must hold numbers of turns that are shown, %" PRIu32
                              " to %" PRIu32 "; item %zu is none.",
                              d->turns[d->n - sent].number, last, i + 1);
        if (number != last)
            ask->ends[ask->n_ends++] = number;
    }
    ask->n_ends = without_repeats(ask->ends, ask->n_ends);
    if (n > sent || ask->n_ends > sent / 2)
        return ask__wrong(r,
                          "cuts has %zu items for %" PRIu32 " turns; name only the ends of "
                          "whole episodes.",
                          n, sent);
    return ERR_OK;
}

static enum err_code read_reply(void *arg, const json_t *reply, struct buf *wrong, struct err *err)
{
    struct ask_boundary *ask = arg;
    const struct ask_reader r = {ask->arena, ask__key(ask->seed), wrong, err};
    const json_t *cuts = json_object_get(reply, "cuts");
    ask->n_ends = 0;
    if (!json_is_array(cuts))
        return ask__wrong(&r, "The reply must be an object with the array cuts.");
    if (!ask__truth(json_object_get(reply, "should_end"), &ask->should_end) ||
        !ask__truth(json_object_get(reply, "should_wait"), &ask->should_wait))
        return ask__wrong(&r, "should_end and should_wait must be true or false.");
    enum err_code code = read_cuts(&r, ask, cuts);
    if (code != ERR_OK)
        return code;
    ask->should_end = ask->should_end && !ask->should_wait;
    if (ask->should_end)
        ask->ends[ask->n_ends++] = ask->dialogue.turns[ask->dialogue.n - 1].number;
    return ERR_OK;
}

void ask_boundary(struct model_call *call, struct ask_boundary *ask)
{
    ASSERT(call->purpose == PURPOSE_BOUNDARY && ask->dialogue.n >= 1);
    ask->arena = call->arena;
    call->chat = (struct chat_ask){
        .prompt = &prompt_boundary, .write = write_ask, .read = read_reply, .arg = ask};
}
