/* What the files of ask_facts share.
 *
 *   ask_facts_json.c      the question, the reply's members, repeats inside a reply
 *   ask_facts_support.c   whether a fact has words of its turns
 *   ask_facts_time.c      when it is about */
#ifndef HM_CORE_MODEL_ASK_FACTS_INT_H
#define HM_CORE_MODEL_ASK_FACTS_INT_H

#include "core/model/ask_facts.h"
#include "core/model/ask_int.h"

/* --- ask_facts_support.c --- */

/* The words of the dialogue as it was shown, cut up when first needed. */
struct ask_support {
    const struct ask_reader *r;
    const struct ask_dialogue *dialogue;
    struct tokenizer *tokenizer;
    struct token_list *words; /* by turn; .at NULL: not yet */
    struct token_list names;  /* of all speakers */
    struct ask_scripts scripts;
};
enum err_code ask__support_of(const struct ask_reader *r, const struct ask_facts *ask,
                              struct ask_support *out) MUST_USE;
enum err_code ask__is_supported(struct ask_support *s, const struct ask_fact *fact,
                                bool *yes) MUST_USE;

/* --- ask_facts_time.c --- */

/* Sets has_time, from, to and grain; fact->time_text is set. */
void ask__fact_time(struct ask_fact *fact, struct str from, struct str to,
                    const struct ask_turn *turn);

#endif
