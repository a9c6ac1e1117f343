/* Every limit that a client can run into (DESIGN 13), and the caps that follow from them.
 * A limit is refused politely at the edge with the parameter's name, and asserted inside. */
#ifndef HM_CORE_BASE_LIMITS_H
#define HM_CORE_BASE_LIMITS_H

#define LIMIT_BODY_BYTES (4u << 20)      /* 413 */
#define LIMIT_TURN_TEXT_BYTES (1u << 20) /* 400 turns[i].text */
#define LIMIT_TURNS_PER_CALL 256u        /* 400 turns */
#define LIMIT_SPACE_NAME_BYTES 128u      /* 400 space */
#define LIMIT_TURN_ID_BYTES 128u         /* 400 turns[i].id */
#define LIMIT_SESSION_BYTES 128u
#define LIMIT_SPEAKER_BYTES 128u
#define LIMIT_ROLE_BYTES 128u
#define LIMIT_METADATA_BYTES 4096u /* as compact JSON */
#define LIMIT_QUERY_BYTES 4096u
#define LIMIT_QUERY_TERMS 64u /* more are ignored and shown by explain */
#define LIMIT_TOPICS 100u
#define LIMIT_EPISODES 100u
#define LIMIT_FACTS 200u
#define LIMIT_MAX_TOKENS 32000u
#define LIMIT_LIST 1000u
#define LIMIT_WAIT_MS 300000u
#define LIMIT_JSON_DEPTH 64u
#define LIMIT_IDEMPOTENCY_KEY_BYTES 255u
#define LIMIT_TERM_BYTES 64u         /* terms are cut before hashing */
#define LIMIT_PART_BYTES (16u << 10) /* stored text part */
#define LIMIT_DOC_BYTES 4096u        /* indexed part of a turn, sentence-aligned */
#define LIMIT_EPISODE_TURNS 40u      /* hard cut */
#define LIMIT_EPISODE_TOKENS 4000u   /* hard cut, 4 characters a token */
#define LIMIT_TOPIC_EPISODES 16u     /* then a successor topic */
#define LIMIT_TOPICS_PER_EPISODE 2u
#define LIMIT_TOPIC_KEYWORDS 32u
#define LIMIT_FACTS_PER_TURN 8u /* more above 2,000 characters */

#define GAP_MS (6 * 3600 * 1000)         /* event-time gap that closes an episode */
#define FUTURE_MS (5 * 60 * 1000)        /* later than now by more: time_source "future" */
#define JOB_KEEP_MS (24 * 3600 * 1000LL) /* finished jobs and idempotency rows */

#define ARENA_REQUEST_BYTES (256u << 20)
#define ARENA_STAGE_BYTES (512u << 20)

#endif
