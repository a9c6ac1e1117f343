/* What the built-in stages index of a node: the one place that decides under which words a fact, an
 * episode and a topic are found. (A turn's words are chosen by accept, one document a part.)
 *
 *   fact     its sentence, without the speaker in front, and the days its dates mean, in words;
 *            one of a model: content, potential, keywords, and its days
 *   episode  the words of its dialogue, counted over all its turns: what BM25 of the joined turns
 *            would see. A built-in title and summary are taken from that dialogue and add
 *            nothing; those of a model add their words
 *   topic    title, summary and keywords; a keyword counts twice
 *
 * Date terms (core/text/date_terms.h) are added to facts and episodes; they do not count in the
 * length. Bags are in the arena. */
#ifndef HM_CORE_INGEST_INDEX_TEXT_H
#define HM_CORE_INGEST_INDEX_TEXT_H

#include "core/graph/episode.h"
#include "core/graph/fact.h"
#include "core/graph/topic.h"
#include "core/ingest/stage_dialogue.h"

/* `context` is a text that the fact quotes (the question that it answers), or empty. */
enum err_code index_fact(const struct said_reader *reader, const struct said *said,
                         const struct said_sentence *sentence, struct str context,
                         struct term_bag *bag, struct err *err) MUST_USE;
enum err_code index_episode(const struct said_reader *reader, const struct dialogue *dialogue,
                            struct term_bag *bag, struct err *err) MUST_USE;
/* The same with the words of a title and a summary that a model has written. */
enum err_code index_told_episode(const struct said_reader *reader, const struct dialogue *dialogue,
                                 const struct episode *episode, struct term_bag *bag,
                                 struct err *err) MUST_USE;
/* A fact as a model told it. Its content counts twice, what it could answer and keywords once. */
enum err_code index_told_fact(const struct said_reader *reader, const struct fact *fact,
                              struct term_bag *bag, struct err *err) MUST_USE;
enum err_code index_topic(const struct said_reader *reader, const struct topic *topic,
                          struct term_bag *bag, struct err *err) MUST_USE;

#endif
