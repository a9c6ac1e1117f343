/* Sentences, parts and small talk: how a turn's text is cut for facts, summaries and the index.
 *
 * A sentence ends at . ! ? … 。 ！ ？ । ؟ ۔ followed by space, quote, bracket or the end, and at line
 * feeds; not after an abbreviation (Mr. Dr. e.g. U.S. …), an initial, or inside a number, URL or
 * e-mail address. List items ("- …", "1. …") are sentences. Thai and Lao have no stops: runs are
 * cut at spaces when a piece is longer than 200 bytes. Nothing is lost: the sentences, in order,
 * cover every non-blank byte of the text. */
#ifndef HM_CORE_TEXT_SENTENCE_H
#define HM_CORE_TEXT_SENTENCE_H

#include "core/base/str.h"

/* Takes the next sentence (trimmed) off `*rest`; false at the end. */
bool sentence_next(struct str *rest, struct str *sentence);

/* Takes the next part of at most `max` (>= 4) bytes, ending at a sentence end where there is one,
 * else at a space, else at a character boundary. Parts are contiguous and cover the text. */
bool part_next(struct str *rest, size_t max, struct str *part);

/* True when the sentence is only a greeting, a farewell, thanks, an acknowledgement or filler
 * ("Hey Mel!", "Thanks a lot!", "ok", "lol", "谢谢"): it gives no fact. `names` are the speakers of
 * the session, so that "Hey Caroline" counts as one. A sentence with any other content word is
 * not. */
bool sentence_is_phatic(struct str sentence, const struct str *names, size_t n);
/* True when it opens (hey, hi, good morning, long time no see) or closes (bye, talk soon, take
 * care, see you) a conversation: a cue for boundaries. */
bool sentence_is_greeting(struct str sentence);
bool sentence_is_farewell(struct str sentence);
/* Ends with a question mark of any script. */
bool sentence_is_question(struct str sentence);
/* True for the letters before a point that ends no sentence: Mr, Dr, St, and initials but I. */
bool sentence_is_abbreviation(struct str word);

#endif
