#include "core/ingest/index_text.h"

#include "core/text/date_terms.h"

enum { DATE_WORDS_MAX = 4096, TOPIC_TEXT_MAX = 16 * 1024 };

static enum err_code memory(struct err *err)
{
    return err_set(err, ERR_EXHAUSTED, "out of memory while indexing");
}

static enum err_code add_text(const struct said_reader *r, struct str text, uint32_t weight,
                              struct term_bag *bag, struct err *err)
{
    struct token_list tokens;
    struct term_bag more = {0};
    struct term_bag sum;
    if (text.len == 0)
        return ERR_OK;
    enum err_code rc = tokenizer_run(r->tokenizer, r->arena, text, TOKEN_INDEX, &tokens, err);
    if (rc == ERR_OK)
        rc = term_bag_of(r->arena, &tokens, weight, &more, err);
    if (rc == ERR_OK)
        rc = term_bag_add(r->arena, bag, &more, &sum, err);
    if (rc == ERR_OK)
        *bag = sum;
    return rc;
}

/* What stands in the brackets of the resolved sentence. */
static enum err_code add_date_words(const struct said_reader *r,
                                    const struct date_mention *mentions, uint32_t n,
                                    struct term_bag *bag, struct err *err)
{
    struct buf words;
    buf_init(&words, r->arena, DATE_WORDS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (!mentions[i].relative)
            continue;
        dates_write(&words, &mentions[i]);
        buf_char(&words, '\n');
    }
    if (!buf_ok(&words))
        return memory(err);
    return add_text(r, buf_str(&words), 1, bag, err);
}

enum err_code index_fact(const struct said_reader *r, const struct said *said,
                         const struct said_sentence *sentence, struct str context,
                         struct term_bag *bag, struct err *err)
{
    const struct said_doc *doc = &said->docs[sentence->doc];
    struct token_list tokens = {doc->tokens.at + sentence->token, sentence->n_tokens};
    const struct date_mention *mentions = said_mentions(said, sentence);
    uint32_t n = sentence->n_mentions;
    enum err_code rc = term_bag_of(r->arena, &tokens, 1, bag, err);
    if (rc == ERR_OK)
        rc = add_text(r, context, 1, bag, err);
    if (rc != ERR_OK || n == 0)
        return rc;
    rc = add_date_words(r, mentions, n, bag, err);
    if (rc == ERR_OK)
        rc = date_terms_add(r->arena, &(struct dated_text){doc->text, mentions, n, NULL}, bag, err);
    return rc;
}

enum err_code index_episode(const struct said_reader *r, const struct dialogue *d,
                            struct term_bag *bag, struct err *err)
{
    *bag = (struct term_bag){.n = d->n_terms};
    bag->at = ARENA_ARRAY(r->arena, struct term_count, d->n_terms);
    if (bag->at == NULL)
        return memory(err);
    for (uint32_t i = 0; i < d->n_terms; i++) {
        bag->at[i] = (struct term_count){d->terms[i].term, d->terms[i].count, d->terms[i].text};
        bag->length += d->terms[i].count;
    }
    enum err_code rc = ERR_OK;
    for (uint32_t t = 0; t < d->n_turns; t++) {
        for (uint32_t i = 0; rc == ERR_OK && i < d->turns[t]->n_docs; i++) {
            const struct said_doc *doc = &d->turns[t]->docs[i];
            rc = date_terms_add(
                r->arena, &(struct dated_text){doc->text, doc->mentions, doc->n_mentions, NULL},
                bag, err);
        }
    }
    return rc;
}

enum err_code index_told_episode(const struct said_reader *r, const struct dialogue *d,
                                 const struct episode *episode, struct term_bag *bag,
                                 struct err *err)
{
    enum err_code rc = index_episode(r, d, bag, err);
    if (rc != ERR_OK || (episode->flags & EPISODE_TOLD) == 0)
        return rc;
    rc = add_text(r, episode->title, 1, bag, err);
    return rc == ERR_OK ? add_text(r, episode->summary, 1, bag, err) : rc;
}

/* Its days stand in the text as the model wrote them, and are terms of their own besides. */
enum err_code index_told_fact(const struct said_reader *r, const struct fact *fact,
                              struct term_bag *bag, struct err *err)
{
    *bag = (struct term_bag){0};
    enum err_code rc = add_text(r, fact->content, 2, bag, err);
    if (rc == ERR_OK)
        rc = add_text(r, fact->potential, 1, bag, err);
    if (rc == ERR_OK)
        rc = add_text(r, fact->keywords, 1, bag, err);
    if (rc != ERR_OK || !fact->has_time)
        return rc;
    const struct date_mention when = {.from = fact->from,
                                      .to = fact->to,
                                      .grain = (enum date_grain)fact->grain,
                                      .relative = true};
    rc = add_date_words(r, &when, 1, bag, err);
    if (rc == ERR_OK)
        rc = date_terms_add(r->arena, &(struct dated_text){STR(""), &when, 1, NULL}, bag, err);
    return rc;
}

enum err_code index_topic(const struct said_reader *r, const struct topic *topic,
                          struct term_bag *bag, struct err *err)
{
    struct buf words;
    *bag = (struct term_bag){0};
    buf_init(&words, r->arena, TOPIC_TEXT_MAX);
    for (uint16_t i = 0; i < topic->n_keywords; i++) {
        buf_str_put(&words, topic->keywords[i].text);
        buf_char(&words, '\n');
    }
    if (!buf_ok(&words))
        return memory(err);
    enum err_code rc = add_text(r, buf_str(&words), 2, bag, err);
    if (rc == ERR_OK)
        rc = add_text(r, topic->title, 1, bag, err);
    return rc == ERR_OK ? add_text(r, topic->summary, 1, bag, err) : rc;
}
