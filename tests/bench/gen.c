#include "tests/bench/gen.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "core/base/civil.h"

enum { SUBJECTS = 8, SUBJECT_NOUNS = 40, NOUNS = 6000, VERBS = 400, ADJECTIVES = 500 };

/* 2023-01-09T08:00:00Z, a Monday. */
#define FIRST_MS (INT64_C(1673251200) * 1000)
#define HOUR_MS INT64_C(3600000)

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- words --- */

static const char *const nouns[] = {
    "project", "house",   "team",    "meeting",  "trip",   "dog",      "book",   "garden",
    "car",     "job",     "concert", "course",   "doctor", "recipe",   "budget", "kitchen",
    "launch",  "race",    "photo",   "friend",   "office", "flight",   "camera", "guitar",
    "bike",    "museum",  "party",   "contract", "class",  "laptop",   "ticket", "apartment",
    "report",  "plan",    "coach",   "painting", "phone",  "visit",    "market", "river",
    "lesson",  "weekend", "movie",   "letter",   "client", "deadline", "cat",    "storm"};
static const char *const verbs[] = {
    "finished", "started", "bought",  "found",   "missed", "fixed",   "sold",    "booked",
    "loved",    "called",  "changed", "ordered", "wrote",  "painted", "visited", "cancelled",
    "moved",    "planned", "lost",    "won",     "broke",  "cooked",  "read",    "tried"};
static const char *const adjectives[] = {
    "new",   "old",   "small", "expensive", "quiet", "red",   "broken", "local",
    "great", "heavy", "early", "strange",   "cheap", "green", "famous", "second"};
static const char *const people[] = {
    "Nora",  "Idris", "Marta", "Henrik", "Anneke", "Ravi",  "Leila",  "Tomas", "Yuki", "Amara",
    "Pavel", "Grace", "Oscar", "Ines",   "Bruno",  "Salma", "Victor", "Chloe", "Emil", "Dana"};
static const char *const places[] = {"Leipzig",  "Hamburg", "Oslo",  "Lisbon", "Kyoto",  "Toronto",
                                     "Nairobi",  "Bristol", "Porto", "Gdansk", "Austin", "Lyon",
                                     "Valencia", "Boston",  "Cork",  "Turin"};
static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const weekdays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};
static const char *const whens[] = {"yesterday",  "this morning", "two weeks ago", "last week",
                                    "next month", "tomorrow",     "last month",    "tonight"};
static const char *const idle[] = {"Sounds good, thanks!", "Wow, that is great.", "Oh no, really?",
                                   "Haha, of course.",     "Good to hear!",       "Okay, see you."};

/* n noun, v verb, a adjective, N person, P place, T time, Q number, $ amount; the rest stands as it
 * is. Capitals of English words are no slots: only those behind '%'. */
static const char *const sentences[] = {
    "I %v the %a %n in %P %T.",
    "%N %v my %n because the %n was %a.",
    "We need %Q more %n for the %n %T.",
    "My %n is %a, so I %v a %n near %P.",
    "%N told me about the %a %n and the %n.",
    "It cost %$ and the %n %v after %Q weeks.",
    "The %n at the %n in %P was %a, %N said.",
    "Last time we %v the %n, %N had a %a %n.",
    "Did you see the %n that %N %v %T?",
    "I am going to %P with %N to look at the %n %T.",
    "Since the %a %n, I %v about %Q %n a week.",
    "What happened to the %n you %v in %P?",
};

/* --- random numbers --- */

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t gen_hash(uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(mix(a) ^ b) ^ c);
}

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mix(*state) >> 32) * n >> 32);
}

/* Ranks 0 .. n-1 with frequency ~ 1/(rank + 1). */
static uint32_t zipf(uint64_t *state, uint32_t n)
{
    double u = (double)below(state, UINT32_MAX) / (double)UINT32_MAX;
    double rank = exp(u * log((double)n + 1)) - 1;
    return rank >= n ? n - 1 : (uint32_t)rank;
}

/* --- text in the making --- */

struct writer {
    uint64_t state;
    uint64_t subject; /* seed of the session's own nouns */
    struct civil day;
    char *at;
    size_t len, cap;
};

static void put_str(struct writer *w, struct str text)
{
    size_t n = text.len < w->cap - w->len ? text.len : w->cap - w->len;
    memcpy(w->at + w->len, text.at, n);
    w->len += n;
}

static void put(struct writer *w, const char *text)
{
    put_str(w, str_of(text));
}

static void put_number(struct writer *w, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", number);
    put(w, text);
}

/* Two to four syllables spell the rank in base 75, so every rank has a word of its own. */
static void put_made_word(struct writer *w, uint32_t rank, const char *ending)
{
    static const char consonants[] = "bdfgklmnprstvwz";
    static const char vowels[] = "aeiou";
    char word[12];
    size_t len = 0;
    for (uint32_t left = rank + 75; left != 0 && len + 2 < sizeof word; left /= 75) {
        word[len++] = consonants[left % 75 / 5];
        word[len++] = vowels[left % 5];
    }
    word[len] = '\0';
    put(w, word);
    put(w, ending);
}

static void put_word(struct writer *w, const char *const *words, uint32_t n, uint32_t rank)
{
    if (rank < n)
        put(w, words[rank]);
    else
        put_made_word(w, rank, words == verbs ? "ned" : words == adjectives ? "ly" : "n");
}

static void put_noun(struct writer *w)
{
    uint32_t rank = zipf(&w->state, NOUNS);
    if (below(&w->state, 2) == 0) {
        uint32_t pick = zipf(&w->state, SUBJECT_NOUNS);
        rank = (uint32_t)(gen_hash(w->subject, pick, 1) % NOUNS);
    }
    put_word(w, nouns, COUNT(nouns), rank);
}

static void put_time(struct writer *w)
{
    struct civil day = civil_add_days(w->day, (int64_t)below(&w->state, 120) - 60);
    switch (below(&w->state, 4)) {
    case 0:
        put(w, "on ");
        put_number(w, (uint32_t)day.day);
        put(w, " ");
        put(w, months[day.month - 1]);
        break;
    case 1:
        put(w, "last ");
        put(w, weekdays[below(&w->state, 7)]);
        break;
    default: put(w, whens[below(&w->state, COUNT(whens))]); break;
    }
}

static void put_slot(struct writer *w, char slot)
{
    switch (slot) {
    case 'n': put_noun(w); break;
    case 'v': put_word(w, verbs, COUNT(verbs), zipf(&w->state, VERBS)); break;
    case 'a': put_word(w, adjectives, COUNT(adjectives), zipf(&w->state, ADJECTIVES)); break;
    case 'N': put(w, people[below(&w->state, COUNT(people))]); break;
    case 'P': put(w, places[below(&w->state, COUNT(places))]); break;
    case 'Q': put_number(w, 2 + below(&w->state, 30)); break;
    case '$':
        put(w, "$");
        put_number(w, 5 * (1 + below(&w->state, 200)));
        break;
    default: put_time(w); break;
    }
}

static void put_sentence(struct writer *w)
{
    if (below(&w->state, 10) == 0) {
        put(w, idle[below(&w->state, COUNT(idle))]);
        return;
    }
    const char *form = sentences[below(&w->state, COUNT(sentences))];
    for (const char *at = form; *at != '\0'; at++) {
        if (*at == '%')
            put_slot(w, *++at);
        else
            put_str(w, (struct str){at, 1});
    }
}

/* --- a turn --- */

static int64_t time_of(const struct gen *gen, uint32_t space, uint32_t n)
{
    uint32_t session = n / gen->turns_per_session;
    uint32_t within = n % gen->turns_per_session;
    int64_t day = (int64_t)session * 2 + (int64_t)(gen_hash(gen->seed ^ space, session, 2) % 2);
    int64_t hours = (int64_t)(gen_hash(gen->seed ^ space, session, 3) % 8);
    int64_t start = FIRST_MS + (int64_t)(space % 97) * 60000 + day * MS_PER_DAY + hours * HOUR_MS;
    return start + (int64_t)within * 45000;
}

size_t gen_space_name(const char *prefix, uint32_t space, char out[GEN_NAME_MAX])
{
    int n = snprintf(out, GEN_NAME_MAX, "%s%06u", prefix, space);
    return n > 0 && n < GEN_NAME_MAX ? (size_t)n : 0;
}

static const char *speaker_of(const struct gen *gen, uint32_t space, uint32_t n)
{
    uint32_t first = (uint32_t)(gen_hash(gen->seed, space, 4) % COUNT(people));
    return people[(first + n % 2 * 7) % COUNT(people)];
}

void gen_turn(const struct gen *gen, uint32_t space, uint32_t n, struct gen_turn *turn)
{
    ASSERT(gen->turns_per_session >= 1 && gen->turns_per_session <= GEN_SESSION_TURNS);
    ASSERT(gen->text_bytes <= GEN_TEXT_MAX / 2);
    uint32_t session = n / gen->turns_per_session;
    uint64_t own = gen_hash(gen->seed, space, 5);
    turn->time_ms = time_of(gen, space, n);
    turn->speaker = speaker_of(gen, space, n);
    (void)snprintf(turn->id, sizeof turn->id, "D%u:%u", session + 1,
                   n % gen->turns_per_session + 1);
    (void)snprintf(turn->session, sizeof turn->session, "session_%u", session + 1);
    struct writer w = {.state = gen_hash(own, n, 6),
                       .subject = gen_hash(own, gen_hash(own, session, 7) % SUBJECTS, 8),
                       .day = civil_of_moment(turn->time_ms, 0),
                       .at = turn->text,
                       .cap = sizeof turn->text};
    /* Half to one and a half times the mean, less half of a sentence. */
    uint32_t wanted = gen->text_bytes / 2 + below(&w.state, gen->text_bytes + 1);
    wanted = wanted > 25 ? wanted - 25 : 1;
    do {
        if (w.len != 0)
            put(&w, " ");
        put_sentence(&w);
    } while (w.len < wanted);
    turn->text_len = w.len;
}

/* --- a question --- */

static struct str next_word(struct str *rest)
{
    size_t from = 0, to;
    while (from < rest->len && !isalpha((unsigned char)rest->at[from]))
        from++;
    for (to = from; to < rest->len && isalpha((unsigned char)rest->at[to]);)
        to++;
    struct str word = str_part(*rest, from, to);
    *rest = str_part(*rest, to, rest->len);
    return word;
}

/* Two of the longer words of a text, evenly drawn. */
static void draw_words(struct str text, uint64_t *state, struct str words[2])
{
    uint32_t seen = 0;
    words[0] = words[1] = STR("plan");
    for (struct str word = next_word(&text); word.len != 0; word = next_word(&text)) {
        if (word.len < 5 || word.len > 40)
            continue;
        seen++;
        if (seen <= 2)
            words[seen - 1] = word;
        else if (below(state, seen) < 2)
            words[below(state, 2)] = word;
    }
}

/* 1 and 2 stand for the words, S for the speaker. */
static const char *const questions[] = {
    "What did %S say about the %1 and the %2?",
    "When did %S talk about %1 %2?",
    "Why was %S so happy about the %1, and what about the %2?",
    "Where was %S when the %1 came up with the %2?",
};

size_t gen_question(const struct gen *gen, uint32_t space, uint32_t turns, uint64_t draw,
                    char out[GEN_QUESTION_MAX])
{
    struct gen_turn turn;
    struct str words[2];
    char text[GEN_QUESTION_MAX] = "";
    struct writer w = {
        .state = gen_hash(gen->seed ^ draw, space, 9), .at = text, .cap = sizeof text};
    gen_turn(gen, space, below(&w.state, turns), &turn);
    draw_words((struct str){turn.text, turn.text_len}, &w.state, words);
    const char *form = questions[below(&w.state, COUNT(questions))];
    for (const char *at = form; *at != '\0'; at++) {
        if (*at != '%')
            put_str(&w, (struct str){at, 1});
        else if (*++at == 'S')
            put(&w, turn.speaker);
        else
            put_str(&w, words[*at - '1']);
    }
    memcpy(out, text, w.len);
    return w.len;
}
