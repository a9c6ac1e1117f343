#include "core/ingest/boundary_cues.h"

#include "core/text/sentence.h"
#include "core/text/utf8.h"

enum {
    HEAD_BYTES = 160,  /* where "long time no see" is looked for */
    SCAN_BYTES = 1024, /* of a long text the first and the last so many bytes are looked at */
    WORDS_MAX = 320,
    BRACKET_BYTES = 512,
};

/* A phrase is words in a row; "a|b" is either of two. */
static const char *const greetings[] = {
    "hello|hiya|yo|howdy|greetings|morning|hallo|bonjour|salut|hola|ciao",
    "good morning|afternoon|evening",
    "guten tag|morgen|abend",
    "buenos dias|días",
};

static const char *const since[] = {
    "since we|i talked|spoke|chatted|met",
    "since we|i last talked|spoke|chatted|met",
    "since we|i caught up",
    "since we|our last",
    "since the last chat|talk|time",
    "long time no",
    "it's been a while",
    "it's been ages",
    "it's been so long",
    "haven't talked|spoken|chatted",
    "haven't seen you",
    "good|great to see|hear you",
    "good|great to hear from",
    "good|great hearing from",
    "great to chat",
};

static const char *const farewells[] = {
    "bye|goodbye|goodnight|ttyl|adios|adiós|tschuss|tschüss",
    "see you|ya soon|later|around|there|tomorrow|then|next",
    "talk soon|later|again",
    "talk to you soon|later|again",
    "catch you|ya|up soon|later",
    "take care",
    "good night",
    "have a good|great|nice|lovely|wonderful one|day|night|evening|weekend|trip|time",
    "until next time",
    "gotta go|run",
    "have to go",
    "i'm off",
    "au revoir",
    "hasta luego",
};

/* At the start of a sentence: "good to see you" is none. */
static const char *const farewell_starts[] = {"see you|ya"};
static const char *const changes[] = {
    "and what|how|did|do|does|is|are|was|were|you|your|where|when|who|the|now|have|has|here|there",
    "what about",
    "how about",
    "how's",
    "how is|are|was|did",
    "what's new",
    "any news",
    "guess what|who",
    "anyway",
    "oh and",
    "one more thing",
    "another thing",
    "a question",
    "so what|how|did",
    "also",
};

static const char *const changes_anywhere[] = {
    "by the way",
    "btw",
    "speaking|talking of",
    "guess what|who",
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

enum { NO_WORD = UINT16_MAX, LETTERS = 64 };

struct word {
    struct str text;
    uint32_t at;   /* byte where it begins */
    uint16_t next; /* an earlier word with the same first byte; NO_WORD: none */
    bool opens;    /* the first one of a sentence */
};

/* A stretch of text as lower-case words. */
struct words {
    char text[SCAN_BYTES];
    struct word at[WORDS_MAX];
    size_t n;
    uint64_t letters;       /* first bytes that occur, by their low six bits */
    uint16_t last[LETTERS]; /* the last word with that first byte; unset where there is none */
};

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '\'' ||
           ((unsigned char)c & 0x80) != 0;
}

/* Lower case of ASCII; the curly apostrophe becomes a straight one. */
static size_t lower(struct str text, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (str_starts(str_part(text, i, text.len), STR("\xe2\x80\x99"))) {
            out[n++] = '\'';
            i += 2;
        } else {
            out[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
        }
    }
    return n;
}

static bool ends_sentence(struct str rest)
{
    char c = rest.at[0];
    return c == '.' || c == '!' || c == '?' || c == '"' || c == '\n' ||
           str_starts(rest, STR("\xe2\x80\xa6"));
}

static unsigned letter(char c)
{
    return (unsigned char)c % LETTERS;
}

static void words_add(struct words *words, struct str text, size_t at, bool opens)
{
    unsigned first = letter(text.at[0]);
    bool is_new = (words->letters >> first & 1) == 0;
    words->at[words->n] = (struct word){.text = text,
                                        .at = (uint32_t)at,
                                        .next = is_new ? NO_WORD : words->last[first],
                                        .opens = opens};
    words->letters |= UINT64_C(1) << first;
    words->last[first] = (uint16_t)words->n++;
}

/* `text` has at most SCAN_BYTES. */
static void words_of(struct str text, struct words *words)
{
    ASSERT(text.len <= SCAN_BYTES);
    struct str low = {words->text, lower(text, words->text)};
    bool opens = true;
    words->n = 0;
    words->letters = 0;
    for (size_t i = 0; i < low.len && words->n < WORDS_MAX;) {
        size_t from = i;
        opens |= ends_sentence(str_part(low, i, low.len));
        while (i < low.len && is_word_byte(low.at[i]))
            i++;
        if (i == from) {
            i++;
            continue;
        }
        words_add(words, str_part(low, from, i), from, opens);
        opens = false;
    }
}

/* Whether `word` is one of the choices "a|b|c" at `phrase`, which end at a blank or the end. */
static bool is_one_of(struct str word, const char *phrase)
{
    for (;;) {
        size_t same = 0;
        while (same < word.len && phrase[same] == word.at[same])
            same++;
        char end = phrase[same];
        if (same == word.len && (end == '|' || end == ' ' || end == '\0'))
            return true;
        while (*phrase != '|' && *phrase != ' ' && *phrase != '\0')
            phrase++;
        if (*phrase != '|')
            return false;
        phrase++;
    }
}

static bool stands_at(const struct words *words, size_t i, const char *phrase)
{
    while (phrase != NULL) {
        if (i == words->n || !is_one_of(words->at[i].text, phrase))
            return false;
        phrase = strchr(phrase, ' ');
        if (phrase != NULL)
            phrase++;
        i++;
    }
    return true;
}

/* Where a phrase may stand. */
enum place { PLACE_START, PLACE_HEAD, PLACE_SENTENCE, PLACE_ANYWHERE };

static bool is_place(const struct words *words, size_t i, enum place place)
{
    switch (place) {
    case PLACE_START: return i == 0;
    case PLACE_HEAD: return words->at[i].at < HEAD_BYTES;
    case PLACE_SENTENCE: return words->at[i].opens;
    case PLACE_ANYWHERE: return true;
    }
    return false;
}

/* The first bytes of the choices for the phrase's first word. */
static uint64_t letters_of(const char *phrase)
{
    uint64_t letters = UINT64_C(1) << letter(phrase[0]);
    for (; *phrase != ' ' && *phrase != '\0'; phrase++) {
        if (*phrase == '|')
            letters |= UINT64_C(1) << letter(phrase[1]);
    }
    return letters;
}

static bool phrase_holds(const struct words *words, const char *phrase, enum place place)
{
    uint64_t letters = letters_of(phrase) & words->letters;
    for (; letters != 0; letters &= letters - 1) {
        uint16_t i = words->last[__builtin_ctzll(letters)];
        for (; i != NO_WORD; i = words->at[i].next) {
            if (is_place(words, i, place) && stands_at(words, i, phrase))
                return true;
        }
    }
    return false;
}

static bool holds(const struct words *words, const char *const *phrases, size_t n, enum place place)
{
    for (size_t p = 0; p < n; p++) {
        if (phrase_holds(words, phrases[p], place))
            return true;
    }
    return false;
}

/* "heyyy" and "hiii". */
static bool is_drawn_out(struct str word, struct str stem)
{
    if (!str_starts(word, stem))
        return false;
    for (size_t i = stem.len; i < word.len; i++) {
        if (word.at[i] != stem.at[stem.len - 1])
            return false;
    }
    return true;
}

static bool greets(const struct words *words, struct str text)
{
    if (words->n != 0 &&
        (is_drawn_out(words->at[0].text, STR("hey")) || is_drawn_out(words->at[0].text, STR("hi"))))
        return true;
    struct str sentence;
    struct str rest = utf8_cut(text, HEAD_BYTES);
    return holds(words, greetings, COUNT(greetings), PLACE_START) ||
           (sentence_next(&rest, &sentence) && sentence_is_greeting(sentence));
}

static unsigned wording(const struct words *words)
{
    unsigned cues = 0;
    if (holds(words, farewells, COUNT(farewells), PLACE_ANYWHERE) ||
        holds(words, farewell_starts, COUNT(farewell_starts), PLACE_SENTENCE))
        cues |= CUE_FAREWELL;
    if (holds(words, changes, COUNT(changes), PLACE_SENTENCE) ||
        holds(words, changes_anywhere, COUNT(changes_anywhere), PLACE_ANYWHERE))
        cues |= CUE_CHANGE;
    return cues;
}

/* Without blanks at both ends and without a last "[…]". */
static struct str body_of(struct str text)
{
    text = str_trim(text);
    if (!str_ends(text, STR("]")))
        return text;
    size_t open = text.len;
    while (open > 0 && text.at[open - 1] != '[' && text.len - open < BRACKET_BYTES)
        open--;
    return open == 0 || text.at[open - 1] != '[' ? text : str_trim(str_part(text, 0, open - 1));
}

/* The end of a text, beginning at a character. */
static struct str tail_of(struct str text)
{
    size_t from = text.len - SCAN_BYTES;
    while (from < text.len && ((unsigned char)text.at[from] & 0xc0) == 0x80)
        from++;
    return str_part(text, from, text.len);
}

static bool has_question_mark(struct str text)
{
    static const char *const marks[] = {"?", "？", "؟"};
    for (size_t i = 0; i < COUNT(marks); i++) {
        if (text.len != 0 && memmem(text.at, text.len, marks[i], strlen(marks[i])) != NULL)
            return true;
    }
    return false;
}

unsigned boundary_cues(struct str text)
{
    struct words words;
    struct str body = body_of(text);
    words_of(utf8_cut(body, SCAN_BYTES), &words);
    unsigned cues = wording(&words);
    if (greets(&words, body))
        cues |= CUE_GREETING;
    if (holds(&words, since, COUNT(since), PLACE_HEAD))
        cues |= CUE_SINCE;
    if (body.len > SCAN_BYTES) {
        words_of(tail_of(body), &words);
        cues |= wording(&words);
    }
    if (has_question_mark(body))
        cues |= CUE_ASKS;
    if (sentence_is_question(body))
        cues |= CUE_QUESTION;
    return cues;
}
