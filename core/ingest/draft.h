/* Drafts: episodes that are closed and wait for a model (work.h). What becomes of one, stage by
 * stage, each in the space's lane and one batch.
 *
 *   close      record with a built-in title and summary, its document, turns -> episode; a job
 *   split      a rule closed it before a model had said where its episodes end: what is behind the
 *              first end is a draft of its own
 *   describe   the model's title and summary
 *   topics     memberships with weights and roles, topics' texts; the episode's document again,
 *              with the words of its title and summary
 *   facts      the model's facts, built-in ones for turns that none of them cites, the hyperedge;
 *              from here on the turns are no longer `recent`
 *   built_in   all that is missing, as without a model
 *
 * A draft that is made again (a retry after a dead letter, a redo) has topics and facts already.
 * They serve until the model's answer is there; then `unlink` takes them away in one batch and the
 * next puts the new ones, in the same hold of the lane.
 *
 * I1  an episode without topics is a draft with a WORK row; so is one with turns that are not DONE.
 * I2  each function is given what the model answered about a snapshot that may be old: ids that are
 *     gone are left out, a topic that filled up meanwhile gets a successor. */
#ifndef HM_CORE_INGEST_DRAFT_H
#define HM_CORE_INGEST_DRAFT_H

#include "core/ingest/stage_int.h"
#include "core/model/ask_facts.h"
#include "core/model/ask_topic.h"

/* w->closing becomes a draft with a job of this batch; it is asked about its end first when a model
 * was to be asked about the buffer. */
enum err_code draft_close(struct stage_work *w, struct err *err) MUST_USE;

/* A job of this batch for an episode. `other`: a row that changes beside it; may be NULL. */
struct draft_job {
    uint32_t episode;
    uint64_t first_seq; /* as in work.h */
    uint64_t due_ms;
    enum job_stage stage;
};
enum err_code draft_put_job(struct stage_work *w, const struct draft_job *what,
                            const struct work_row *other, struct err *err) MUST_USE;

/* Where it is split: the episode keeps its turns up to `end`; *rest: the draft of the others, with
 * a job of this batch; 0: there are none, nothing changed. A draft without turns up to `end` stays
 * whole too. */
struct draft_cut {
    uint32_t id;
    uint32_t end;    /* turn number; 0: where the built-in rule cuts first */
    uint64_t due_ms; /* of the rest's job: until then it is left to who cuts it further */
};
enum err_code draft_split(struct stage_work *w, const struct draft_cut *cut,
                          const struct work_row *own, uint32_t *rest, struct err *err) MUST_USE;

enum err_code draft_describe(struct stage_work *w, uint32_t id, struct str title,
                             struct str summary, struct err *err) MUST_USE;
/* Numbers in `answer` are topic ids. */
enum err_code draft_topics(struct stage_work *w, uint32_t id, const struct ask_topic *answer,
                           struct err *err) MUST_USE;
/* Numbers in `answer` are arrival numbers of turns and ids of facts. */
enum err_code draft_facts(struct stage_work *w, uint32_t id, const struct ask_facts *answer,
                          struct err *err) MUST_USE;
/* `degraded`: a configured model failed on it. */
enum err_code draft_built_in(struct stage_work *w, uint32_t id, bool degraded,
                             struct err *err) MUST_USE;

/* Its topics or its facts (stage: what is to be made again); *batch NULL: there are none. */
enum err_code draft_unlink(const struct stage_base *base, uint32_t id, enum job_stage stage,
                           struct batch **batch, struct err *err) MUST_USE;

#endif
