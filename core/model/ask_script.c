#include "core/model/ask_int.h"

/* Of what was said, so much in a script makes it one of the dialogue's; fewer letters in a reply
 * say nothing. */
enum { SHARE_LEAST = 10, LETTERS_LEAST = 8 };

void ask__count_scripts(struct ask_scripts *scripts, struct str text)
{
    for (size_t i = 0; i < text.len;) {
        struct rune rune = rune_at(text, i);
        enum rune_class class = rune_class(rune.cp);
        i += rune.len == 0 ? 1 : rune.len;
        if (rune.len == 0 || (class != RUNE_LETTER && class != RUNE_BIGRAM))
            continue;
        scripts->letters[rune_script(rune.cp)]++;
        scripts->all++;
    }
}

void ask__count_dialogue(struct ask_scripts *scripts, const struct ask_dialogue *dialogue)
{
    for (uint32_t i = 0; i < dialogue->n; i++) {
        if (ask__is_sent(dialogue, i))
            ask__count_scripts(scripts,
                               str_part(dialogue->turns[i].text, 0, dialogue->sent.text_max));
    }
}

bool ask__scripts_fit(const struct ask_scripts *said, const struct ask_scripts *reply)
{
    unsigned main_one = 0;
    for (unsigned i = 1; i < SCRIPT_COUNT; i++) {
        if (reply->letters[i] > reply->letters[main_one])
            main_one = i;
    }
    return reply->all < LETTERS_LEAST ||
           (uint64_t)said->letters[main_one] * SHARE_LEAST >= said->all;
}
