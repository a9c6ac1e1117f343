#include <math.h>

#include "core/base/limits.h"
#include "core/ingest/boundary_cues.h"
#include "core/ingest/boundary_rule.h"

enum {
    STATE_VERSION = 2,
    STATE_REPLACED = 1, /* of an earlier rule: made again from the turns */
    TERM_BYTES = 5,
    EPISODE_TURNS = 3, /* turns that an episode has before anything but its size ends it */
    TAIL_TURNS = 2,    /* and what is cut off of a closing buffer */
    RIVALS = 3,        /* the gaps behind that must not be better and must not open */
    PRIOR_TURNS = 4,
    PRIOR_WORDS = 15,
    USUAL_TURNS = 5, /* an episode of so many turns is neither short nor long */
};
#define USUAL_COHESION 0.12
#define LONG_URGE 2.0
#define LONG_MOST 1.5
#define CHANGE_URGE 0.7
#define ASKS_URGE 1.0
#define ASKED_URGE 2.0
#define COHESION_URGE 12.0
#define TURN_URGE 0.1
#define THRESHOLD 1.5
_Static_assert(RIVALS + BOUNDARY_BEHIND - 1 <= BOUNDARY_AHEAD, "no rival is seen in part");

void boundary_start(struct boundary *b)
{
    *b = (struct boundary){.words = PRIOR_TURNS * PRIOR_WORDS, .count = PRIOR_TURNS};
}

void boundary_check(const struct boundary *b, const struct buffer *buffer)
{
    ASSERT(b->n_kept <= BOUNDARY_KEPT && b->n_kept <= buffer->turns);
    ASSERT(buffer->turns == 0 || (b->next >= 1 && b->next <= buffer->turns)); /* I1 */
    uint32_t from = b->next > BOUNDARY_WINDOW ? b->next - BOUNDARY_WINDOW : 0;
    ASSERT(buffer->turns - b->n_kept <= from); /* I1 */
}

/* --- state --- */

static uint64_t unpack_term(struct unpack *u)
{
    uint64_t low = unpack_u32(u);
    return low | (uint64_t)unpack_u8(u) << 32;
}

static void put_term(struct buf *out, uint64_t term)
{
    buf_u32(out, (uint32_t)term);
    buf_u8(out, (uint8_t)(term >> 32));
}

static enum err_code turn_decode_state(struct unpack *u, struct arena *arena,
                                       struct boundary_turn *turn, struct err *err)
{
    turn->n = unpack_u32(u);
    turn->first_doc = unpack_u32(u);
    turn->last_doc = unpack_u32(u);
    turn->tokens = unpack_u32(u);
    turn->words = unpack_u32(u);
    turn->time_ms = (int64_t)unpack_u64(u);
    turn->flags = unpack_u8(u);
    turn->terms.n = unpack_u8(u);
    turn->terms.at = ARENA_ARRAY(arena, struct cohesion_term, turn->terms.n);
    if (turn->terms.at == NULL)
        return err_set(err, ERR_EXHAUSTED, "out of memory for a buffer");
    for (uint32_t i = 0; i < turn->terms.n; i++) {
        turn->terms.at[i].term = unpack_term(u);
        turn->terms.at[i].count = unpack_u8(u);
        u->bad |= i > 0 && turn->terms.at[i].term <= turn->terms.at[i - 1].term;
    }
    return ERR_OK;
}

static bool is_sound(const struct boundary *b, const struct buffer *buffer)
{
    uint32_t from = b->next > BOUNDARY_WINDOW ? b->next - BOUNDARY_WINDOW : 0;
    return b->n_kept <= buffer->turns && b->next >= 1 && b->next <= buffer->turns &&
           buffer->turns - b->n_kept <= from && b->count != 0 && b->words != 0 && b->n_kept >= 1 &&
           b->kept[b->n_kept - 1].n == buffer->last_n;
}

enum err_code boundary_decode(const struct buffer *buffer, struct arena *arena, struct boundary *b,
                              bool *known, struct err *err)
{
    *b = (struct boundary){0};
    struct unpack u = unpack_of(buffer->state);
    unsigned version = buffer->state.len != 0 ? unpack_u8(&u) : STATE_REPLACED;
    *known = version != STATE_REPLACED;
    if (!*known)
        return ERR_OK;
    u.bad |= version != STATE_VERSION;
    b->n_names = unpack_u8(&u);
    b->n_kept = unpack_u8(&u);
    b->next = unpack_u16(&u);
    b->words = unpack_u64(&u);
    b->count = unpack_u32(&u);
    u.bad |= b->n_names > BOUNDARY_NAMES || b->n_kept > BOUNDARY_KEPT;
    for (uint32_t i = 0; !u.bad && i < b->n_names; i++)
        b->names[i] = unpack_term(&u);
    for (uint32_t i = 0; !u.bad && i < b->n_kept; i++) {
        enum err_code rc = turn_decode_state(&u, arena, &b->kept[i], err);
        if (rc != ERR_OK)
            return rc;
    }
    if (!unpack_done(&u) || !is_sound(b, buffer))
        return err_set(err, ERR_INTERNAL, "the state of session %u is damaged", buffer->session_no);
    return ERR_OK;
}

static void turn_encode_state(const struct boundary_turn *turn, struct buf *out)
{
    _Static_assert(COHESION_TERMS <= UINT8_MAX, "one byte counts them");
    buf_u32(out, turn->n);
    buf_u32(out, turn->first_doc);
    buf_u32(out, turn->last_doc);
    buf_u32(out, turn->tokens);
    buf_u32(out, turn->words);
    buf_u64(out, (uint64_t)turn->time_ms);
    buf_u8(out, turn->flags);
    buf_u8(out, (uint8_t)turn->terms.n);
    for (uint32_t i = 0; i < turn->terms.n; i++) {
        put_term(out, turn->terms.at[i].term);
        buf_u8(out, turn->terms.at[i].count);
    }
}

_Static_assert(17 + BOUNDARY_NAMES * TERM_BYTES +
                       BOUNDARY_KEPT * (30 + COHESION_TERMS * (TERM_BYTES + 1)) <=
                   BUFFER_STATE_MAX,
               "the state fits");

enum err_code boundary_encode(const struct boundary *b, struct arena *arena, struct buffer *buffer,
                              struct err *err)
{
    boundary_check(b, buffer);
    struct buf out;
    buf_init(&out, arena, BUFFER_STATE_MAX);
    buf_u8(&out, STATE_VERSION);
    buf_u8(&out, (uint8_t)b->n_names);
    buf_u8(&out, (uint8_t)b->n_kept);
    buf_u16(&out, (uint16_t)b->next);
    buf_u64(&out, b->words);
    buf_u32(&out, b->count);
    for (uint32_t i = 0; i < b->n_names; i++)
        put_term(&out, b->names[i]);
    for (uint32_t i = 0; i < b->n_kept; i++)
        turn_encode_state(&b->kept[i], &out);
    if (!buf_ok(&out))
        return err_set(err, ERR_EXHAUSTED, "out of memory for a buffer");
    buffer->state = buf_str(&out);
    return ERR_OK;
}

/* --- turns in and out --- */

void boundary_add_name(struct boundary *b, uint64_t term)
{
    for (uint32_t i = 0; i < b->n_names; i++) {
        if (b->names[i] == term)
            return;
    }
    if (b->n_names < BOUNDARY_NAMES)
        b->names[b->n_names++] = term;
}

/* What no later decision looks at goes. */
static void trim(struct boundary *b, uint32_t turns)
{
    uint32_t from = b->next > BOUNDARY_WINDOW ? b->next - BOUNDARY_WINDOW : 0;
    uint32_t first = turns - b->n_kept;
    if (from <= first)
        return;
    uint32_t gone = from - first;
    memmove(b->kept, b->kept + gone, (b->n_kept - gone) * sizeof b->kept[0]);
    b->n_kept -= gone;
}

static void keep(struct boundary *b, uint32_t turns, const struct boundary_turn *turn)
{
    ASSERT(b->n_kept < BOUNDARY_KEPT); /* I2 */
    b->kept[b->n_kept++] = *turn;
    if (b->next == 0)
        b->next = 1;
    trim(b, turns);
}

static void bring_in(struct boundary *b, struct buffer *buffer, const struct boundary_turn *turn)
{
    buffer_append(buffer, &(struct buffer_turn){turn->n, turn->first_doc, turn->last_doc,
                                                turn->tokens, turn->time_ms});
    keep(b, buffer->turns, turn);
}

/* A turn is counted when it comes, which is when the first gap that it helps to decide is decided:
 * no more than BOUNDARY_AHEAD turns lie behind that (I2). */
void boundary_append(struct boundary *b, struct buffer *buffer, const struct boundary_turn *turn)
{
    bring_in(b, buffer, turn);
    if ((turn->flags & BOUNDARY_MACHINE) != 0)
        return;
    b->words += turn->words;
    b->count++;
}

/* --- deciding --- */

static const struct boundary_turn *turn_at(const struct boundary *b, const struct buffer *buffer,
                                           uint32_t index)
{
    uint32_t first = buffer->turns - b->n_kept;
    ASSERT(index >= first && index < buffer->turns); /* I1 */
    return &b->kept[index - first];
}

static bool opens(const struct boundary *b, const struct buffer *buffer, uint32_t g)
{
    unsigned flags = turn_at(b, buffer, g)->flags;
    unsigned before = turn_at(b, buffer, g - 1)->flags;
    if ((flags & BOUNDARY_MACHINE) != 0)
        return false;
    bool since = (flags & CUE_SINCE) != 0;
    bool greets = (flags & CUE_GREETING) != 0;
    return (greets && ((before & CUE_QUESTION) == 0 || since)) ||
           (since && (before & CUE_FAREWELL) != 0);
}

static double cohesion_at(const struct boundary *b, const struct buffer *buffer, uint32_t g)
{
    const struct cohesion_turn *turns[BOUNDARY_WINDOW + BOUNDARY_BEHIND];
    uint32_t left = g < BOUNDARY_WINDOW ? g : BOUNDARY_WINDOW;
    uint32_t there = buffer->turns - g;
    uint32_t right = there < BOUNDARY_BEHIND ? there : BOUNDARY_BEHIND;
    for (uint32_t i = 0; i < left + right; i++)
        turns[i] = &turn_at(b, buffer, g - left + i)->terms;
    const struct cohesion_gap gap = {turns, left, right, {b->names, b->n_names}};
    return cohesion(&gap, USUAL_COHESION);
}

static bool is_full(const struct boundary *b, const struct buffer *buffer, uint32_t g)
{
    if (g >= LIMIT_EPISODE_TURNS)
        return true;
    uint32_t tokens = buffer->tokens;
    for (uint32_t i = g + 1; i < buffer->turns; i++)
        tokens -= turn_at(b, buffer, i)->tokens;
    return tokens > LIMIT_EPISODE_TOKENS;
}

enum verdict { VERDICT_GO_ON, VERDICT_CUT, VERDICT_WAIT };

/* u(j) of the header. */
static double urge(const struct boundary *b, const struct buffer *buffer, uint32_t j)
{
    const struct boundary_turn *turn = turn_at(b, buffer, j);
    if ((turn->flags & BOUNDARY_MACHINE) != 0)
        return -HUGE_VAL;
    double length = turn->words * (double)b->count / (double)b->words;
    double u = LONG_URGE * (length < LONG_MOST ? length : LONG_MOST) - THRESHOLD;
    if ((turn->flags & CUE_CHANGE) != 0)
        u += CHANGE_URGE;
    if ((turn->flags & CUE_ASKS) != 0)
        u += ASKS_URGE;
    if ((turn_at(b, buffer, j - 1)->flags & CUE_ASKS) != 0)
        u -= ASKED_URGE;
    u += TURN_URGE * ((double)j - USUAL_TURNS);
    return u - COHESION_URGE * cohesion_at(b, buffer, j);
}

/* Whether no gap soon behind g is a better place, among the turns that are there. */
static bool is_best(const struct boundary *b, const struct buffer *buffer, uint32_t g)
{
    double u = urge(b, buffer, g);
    bool best = u > 0;
    for (uint32_t j = g + 1; best && j <= g + RIVALS && j < buffer->turns; j++)
        best = u >= urge(b, buffer, j) && !opens(b, buffer, j);
    return best;
}

static bool is_in_sight(const struct buffer *buffer, uint32_t g)
{
    return g + BOUNDARY_AHEAD < buffer->turns;
}

static enum verdict judge(const struct boundary *b, const struct buffer *buffer, uint32_t g,
                          bool closing)
{
    if (is_full(b, buffer, g))
        return VERDICT_CUT;
    if ((turn_at(b, buffer, g)->flags & BOUNDARY_MACHINE) != 0 || g < EPISODE_TURNS)
        return VERDICT_GO_ON;
    if (opens(b, buffer, g))
        return VERDICT_CUT;
    if (!closing && !is_in_sight(buffer, g))
        return VERDICT_WAIT;
    bool tail = buffer->turns - g >= TAIL_TURNS;
    return tail && is_best(b, buffer, g) ? VERDICT_CUT : VERDICT_GO_ON;
}

uint32_t boundary_cut(struct boundary *b, const struct buffer *buffer, bool closing)
{
    boundary_check(b, buffer);
    while (b->next < buffer->turns) {
        enum verdict verdict = judge(b, buffer, b->next, closing);
        if (verdict == VERDICT_CUT)
            return b->next;
        if (verdict == VERDICT_WAIT)
            break;
        b->next++;
    }
    trim(b, buffer->turns);
    /* The gap before whatever comes next is a cut already. */
    bool full = buffer->turns >= LIMIT_EPISODE_TURNS || buffer->tokens >= LIMIT_EPISODE_TOKENS;
    return b->next == buffer->turns && full ? buffer->turns : 0;
}

bool boundary_has_cut(const struct boundary *b, const struct buffer *buffer)
{
    struct boundary copy = *b;
    return buffer->turns != 0 && boundary_cut(&copy, buffer, false) != 0;
}

void boundary_replay(struct boundary *b, struct buffer *buffer, const struct boundary_turn *turn)
{
    boundary_append(b, buffer, turn);
    while (b->next < buffer->turns) {
        bool machine = (turn_at(b, buffer, b->next)->flags & BOUNDARY_MACHINE) != 0;
        if (!machine && b->next >= EPISODE_TURNS && !is_in_sight(buffer, b->next))
            break;
        b->next++;
    }
    trim(b, buffer->turns);
}

void boundary_take(struct boundary *b, struct buffer *buffer, uint32_t turns, struct buffer *closed)
{
    ASSERT(turns >= 1 && turns <= buffer->turns);
    *closed = *buffer;
    closed->state = STR("");
    if (turns == buffer->turns) {
        buffer->turns = 0;
        boundary_start(b);
        return;
    }
    const struct boundary_turn *last = turn_at(b, buffer, turns - 1);
    closed->turns = turns;
    closed->last_n = last->n;
    closed->last_doc = last->last_doc;
    closed->last_ms = last->time_ms;
    /* The rest is kept whole (I2), so the buffer is counted again from it. */
    struct boundary rest = *b;
    uint32_t left = buffer->turns - turns;
    b->n_kept = 0;
    b->next = 0;
    buffer->turns = 0;
    for (uint32_t i = rest.n_kept - left; i < rest.n_kept; i++)
        bring_in(b, buffer, &rest.kept[i]);
}
