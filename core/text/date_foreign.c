/* The common relative words of other languages, in two tables: phrases of words, and strings of
 * scripts without spaces. Two words mean something else in another language or place and are
 * looked at twice: "hier" (French yesterday, German and Dutch here) counts only in a French text;
 * "morgen" and "mañana" (tomorrow, morning) not behind an article or a greeting. */
#include "core/text/dates_int.h"
#include "core/text/rune.h"

enum condition { ALWAYS, IN_FRENCH, NO_MORNING };

struct date_phrase {
    const char *words; /* folded */
    enum date_unit unit;
    int8_t n;
    uint8_t condition;
};

static const struct date_phrase phrases[] = {
    /* German */
    {"gestern", UNIT_DAY, -1, ALWAYS},
    {"gestern abend", UNIT_DAY, -1, ALWAYS},
    {"gestern morgen", UNIT_DAY, -1, ALWAYS},
    {"vorgestern", UNIT_DAY, -2, ALWAYS},
    {"heute", UNIT_DAY, 0, ALWAYS},
    {"heute morgen", UNIT_DAY, 0, ALWAYS},
    {"heute abend", UNIT_DAY, 0, ALWAYS},
    {"morgen", UNIT_DAY, 1, NO_MORNING}, /* Dutch too */
    {"morgen abend", UNIT_DAY, 1, ALWAYS},
    {"ubermorgen", UNIT_DAY, 2, ALWAYS},
    {"letzte woche", UNIT_WEEK, -1, ALWAYS},
    {"letzter woche", UNIT_WEEK, -1, ALWAYS},
    {"vorige woche", UNIT_WEEK, -1, ALWAYS},
    {"voriger woche", UNIT_WEEK, -1, ALWAYS},
    {"vergangene woche", UNIT_WEEK, -1, ALWAYS},
    {"nachste woche", UNIT_WEEK, 1, ALWAYS},
    {"nachster woche", UNIT_WEEK, 1, ALWAYS},
    {"kommende woche", UNIT_WEEK, 1, ALWAYS},
    {"letzten monat", UNIT_MONTH, -1, ALWAYS},
    {"letztem monat", UNIT_MONTH, -1, ALWAYS},
    {"vorigen monat", UNIT_MONTH, -1, ALWAYS},
    {"vergangenen monat", UNIT_MONTH, -1, ALWAYS},
    {"nachsten monat", UNIT_MONTH, 1, ALWAYS},
    {"kommenden monat", UNIT_MONTH, 1, ALWAYS},
    {"letztes jahr", UNIT_YEAR, -1, ALWAYS},
    {"letzten jahr", UNIT_YEAR, -1, ALWAYS},
    {"voriges jahr", UNIT_YEAR, -1, ALWAYS},
    {"nachstes jahr", UNIT_YEAR, 1, ALWAYS},
    {"nachsten jahr", UNIT_YEAR, 1, ALWAYS},
    {"letztes wochenende", UNIT_WEEKEND, -1, ALWAYS},
    {"nachstes wochenende", UNIT_WEEKEND, 1, ALWAYS},
    /* French */
    {"hier", UNIT_DAY, -1, IN_FRENCH},
    {"hier soir", UNIT_DAY, -1, ALWAYS},
    {"hier matin", UNIT_DAY, -1, ALWAYS},
    {"avant hier", UNIT_DAY, -2, ALWAYS},
    {"aujourdhui", UNIT_DAY, 0, ALWAYS},
    {"demain", UNIT_DAY, 1, ALWAYS},
    {"apres demain", UNIT_DAY, 2, ALWAYS},
    {"semaine derniere", UNIT_WEEK, -1, ALWAYS},
    {"semaine passee", UNIT_WEEK, -1, ALWAYS},
    {"semaine prochaine", UNIT_WEEK, 1, ALWAYS},
    {"mois dernier", UNIT_MONTH, -1, ALWAYS},
    {"mois passe", UNIT_MONTH, -1, ALWAYS},
    {"mois prochain", UNIT_MONTH, 1, ALWAYS},
    {"annee derniere", UNIT_YEAR, -1, ALWAYS},
    {"lannee derniere", UNIT_YEAR, -1, ALWAYS},
    {"lan dernier", UNIT_YEAR, -1, ALWAYS},
    {"annee prochaine", UNIT_YEAR, 1, ALWAYS},
    {"lannee prochaine", UNIT_YEAR, 1, ALWAYS},
    {"lan prochain", UNIT_YEAR, 1, ALWAYS},
    /* Spanish and Portuguese */
    {"ayer", UNIT_DAY, -1, ALWAYS},
    {"anoche", UNIT_DAY, -1, ALWAYS},
    {"anteayer", UNIT_DAY, -2, ALWAYS},
    {"antes de ayer", UNIT_DAY, -2, ALWAYS},
    {"hoy", UNIT_DAY, 0, ALWAYS},
    {"manana", UNIT_DAY, 1, NO_MORNING},
    {"pasado manana", UNIT_DAY, 2, ALWAYS},
    {"semana pasada", UNIT_WEEK, -1, ALWAYS},
    {"semana passada", UNIT_WEEK, -1, ALWAYS},
    {"proxima semana", UNIT_WEEK, 1, ALWAYS},
    {"semana proxima", UNIT_WEEK, 1, ALWAYS},
    {"semana que viene", UNIT_WEEK, 1, ALWAYS},
    {"semana que vem", UNIT_WEEK, 1, ALWAYS},
    {"mes pasado", UNIT_MONTH, -1, ALWAYS},
    {"mes passado", UNIT_MONTH, -1, ALWAYS},
    {"proximo mes", UNIT_MONTH, 1, ALWAYS},
    {"mes que viene", UNIT_MONTH, 1, ALWAYS},
    {"mes que vem", UNIT_MONTH, 1, ALWAYS},
    {"ano pasado", UNIT_YEAR, -1, ALWAYS},
    {"ano passado", UNIT_YEAR, -1, ALWAYS},
    {"proximo ano", UNIT_YEAR, 1, ALWAYS},
    {"ano que viene", UNIT_YEAR, 1, ALWAYS},
    {"ano que vem", UNIT_YEAR, 1, ALWAYS},
    {"ontem", UNIT_DAY, -1, ALWAYS},
    {"anteontem", UNIT_DAY, -2, ALWAYS},
    {"hoje", UNIT_DAY, 0, ALWAYS},
    {"amanha", UNIT_DAY, 1, ALWAYS},
    {"depois de amanha", UNIT_DAY, 2, ALWAYS},
    /* Italian */
    {"ieri", UNIT_DAY, -1, ALWAYS},
    {"ieri sera", UNIT_DAY, -1, ALWAYS},
    {"laltro ieri", UNIT_DAY, -2, ALWAYS},
    {"altro ieri", UNIT_DAY, -2, ALWAYS},
    {"oggi", UNIT_DAY, 0, ALWAYS},
    {"stasera", UNIT_DAY, 0, ALWAYS},
    {"stamattina", UNIT_DAY, 0, ALWAYS},
    {"domani", UNIT_DAY, 1, ALWAYS},
    {"dopodomani", UNIT_DAY, 2, ALWAYS},
    {"settimana scorsa", UNIT_WEEK, -1, ALWAYS},
    {"scorsa settimana", UNIT_WEEK, -1, ALWAYS},
    {"settimana prossima", UNIT_WEEK, 1, ALWAYS},
    {"prossima settimana", UNIT_WEEK, 1, ALWAYS},
    {"mese scorso", UNIT_MONTH, -1, ALWAYS},
    {"scorso mese", UNIT_MONTH, -1, ALWAYS},
    {"mese prossimo", UNIT_MONTH, 1, ALWAYS},
    {"prossimo mese", UNIT_MONTH, 1, ALWAYS},
    {"anno scorso", UNIT_YEAR, -1, ALWAYS},
    {"lanno scorso", UNIT_YEAR, -1, ALWAYS},
    {"scorso anno", UNIT_YEAR, -1, ALWAYS},
    {"anno prossimo", UNIT_YEAR, 1, ALWAYS},
    {"lanno prossimo", UNIT_YEAR, 1, ALWAYS},
    {"prossimo anno", UNIT_YEAR, 1, ALWAYS},
    /* Dutch */
    {"gisteren", UNIT_DAY, -1, ALWAYS},
    {"gisteravond", UNIT_DAY, -1, ALWAYS},
    {"eergisteren", UNIT_DAY, -2, ALWAYS},
    {"vandaag", UNIT_DAY, 0, ALWAYS},
    {"vanavond", UNIT_DAY, 0, ALWAYS},
    {"overmorgen", UNIT_DAY, 2, ALWAYS},
    {"vorige week", UNIT_WEEK, -1, ALWAYS},
    {"afgelopen week", UNIT_WEEK, -1, ALWAYS},
    {"volgende week", UNIT_WEEK, 1, ALWAYS},
    {"vorige maand", UNIT_MONTH, -1, ALWAYS},
    {"afgelopen maand", UNIT_MONTH, -1, ALWAYS},
    {"volgende maand", UNIT_MONTH, 1, ALWAYS},
    {"vorig jaar", UNIT_YEAR, -1, ALWAYS},
    {"afgelopen jaar", UNIT_YEAR, -1, ALWAYS},
    {"volgend jaar", UNIT_YEAR, 1, ALWAYS},
    /* Russian */
    {"вчера", UNIT_DAY, -1, ALWAYS},
    {"позавчера", UNIT_DAY, -2, ALWAYS},
    {"сегодня", UNIT_DAY, 0, ALWAYS},
    {"завтра", UNIT_DAY, 1, ALWAYS},
    {"послезавтра", UNIT_DAY, 2, ALWAYS},
    {"прошлой неделе", UNIT_WEEK, -1, ALWAYS},
    {"прошлую неделю", UNIT_WEEK, -1, ALWAYS},
    {"следующей неделе", UNIT_WEEK, 1, ALWAYS},
    {"следующую неделю", UNIT_WEEK, 1, ALWAYS},
    {"прошлом месяце", UNIT_MONTH, -1, ALWAYS},
    {"следующем месяце", UNIT_MONTH, 1, ALWAYS},
    {"прошлом году", UNIT_YEAR, -1, ALWAYS},
    {"следующем году", UNIT_YEAR, 1, ALWAYS},
};

static const struct date_phrase strings[] = {
    /* Chinese, simplified and traditional */
    {"昨天", UNIT_DAY, -1, ALWAYS},
    {"昨日", UNIT_DAY, -1, ALWAYS}, /* Japanese too */
    {"昨晚", UNIT_DAY, -1, ALWAYS},
    {"前天", UNIT_DAY, -2, ALWAYS},
    {"今天", UNIT_DAY, 0, ALWAYS},
    {"今日", UNIT_DAY, 0, ALWAYS}, /* Japanese too */
    {"今晚", UNIT_DAY, 0, ALWAYS},
    {"今早", UNIT_DAY, 0, ALWAYS},
    {"明天", UNIT_DAY, 1, ALWAYS},
    {"明日", UNIT_DAY, 1, ALWAYS}, /* Japanese too */
    {"后天", UNIT_DAY, 2, ALWAYS},
    {"後天", UNIT_DAY, 2, ALWAYS},
    {"上周", UNIT_WEEK, -1, ALWAYS},
    {"上週", UNIT_WEEK, -1, ALWAYS},
    {"上星期", UNIT_WEEK, -1, ALWAYS},
    {"上个星期", UNIT_WEEK, -1, ALWAYS},
    {"上個星期", UNIT_WEEK, -1, ALWAYS},
    {"下周", UNIT_WEEK, 1, ALWAYS},
    {"下週", UNIT_WEEK, 1, ALWAYS},
    {"下星期", UNIT_WEEK, 1, ALWAYS},
    {"下个星期", UNIT_WEEK, 1, ALWAYS},
    {"下個星期", UNIT_WEEK, 1, ALWAYS},
    {"上周末", UNIT_WEEKEND, -1, ALWAYS},
    {"上週末", UNIT_WEEKEND, -1, ALWAYS},
    {"下周末", UNIT_WEEKEND, 1, ALWAYS},
    {"下週末", UNIT_WEEKEND, 1, ALWAYS},
    {"这周", UNIT_WEEK, 0, ALWAYS},
    {"這週", UNIT_WEEK, 0, ALWAYS},
    {"本周", UNIT_WEEK, 0, ALWAYS},
    {"上个月", UNIT_MONTH, -1, ALWAYS},
    {"上個月", UNIT_MONTH, -1, ALWAYS},
    {"下个月", UNIT_MONTH, 1, ALWAYS},
    {"下個月", UNIT_MONTH, 1, ALWAYS},
    {"这个月", UNIT_MONTH, 0, ALWAYS},
    {"這個月", UNIT_MONTH, 0, ALWAYS},
    {"去年", UNIT_YEAR, -1, ALWAYS}, /* Japanese too */
    {"前年", UNIT_YEAR, -2, ALWAYS},
    {"今年", UNIT_YEAR, 0, ALWAYS}, /* Japanese too */
    {"明年", UNIT_YEAR, 1, ALWAYS},
    /* Japanese */
    {"きのう", UNIT_DAY, -1, ALWAYS},
    {"昨夜", UNIT_DAY, -1, ALWAYS},
    {"一昨日", UNIT_DAY, -2, ALWAYS},
    {"おととい", UNIT_DAY, -2, ALWAYS},
    {"きょう", UNIT_DAY, 0, ALWAYS},
    {"今夜", UNIT_DAY, 0, ALWAYS},
    {"今朝", UNIT_DAY, 0, ALWAYS},
    {"あした", UNIT_DAY, 1, ALWAYS},
    {"明後日", UNIT_DAY, 2, ALWAYS},
    {"あさって", UNIT_DAY, 2, ALWAYS},
    {"先週", UNIT_WEEK, -1, ALWAYS},
    {"今週", UNIT_WEEK, 0, ALWAYS},
    {"来週", UNIT_WEEK, 1, ALWAYS},
    {"先週末", UNIT_WEEKEND, -1, ALWAYS},
    {"来週末", UNIT_WEEKEND, 1, ALWAYS},
    {"先月", UNIT_MONTH, -1, ALWAYS},
    {"今月", UNIT_MONTH, 0, ALWAYS},
    {"来月", UNIT_MONTH, 1, ALWAYS},
    {"昨年", UNIT_YEAR, -1, ALWAYS},
    {"来年", UNIT_YEAR, 1, ALWAYS},
    /* Korean */
    {"어제", UNIT_DAY, -1, ALWAYS},
    {"그저께", UNIT_DAY, -2, ALWAYS},
    {"오늘", UNIT_DAY, 0, ALWAYS},
    {"내일", UNIT_DAY, 1, ALWAYS},
    {"모레", UNIT_DAY, 2, ALWAYS},
    {"지난주", UNIT_WEEK, -1, ALWAYS},
    {"지난 주", UNIT_WEEK, -1, ALWAYS},
    {"이번주", UNIT_WEEK, 0, ALWAYS},
    {"이번 주", UNIT_WEEK, 0, ALWAYS},
    {"다음주", UNIT_WEEK, 1, ALWAYS},
    {"다음 주", UNIT_WEEK, 1, ALWAYS},
    {"지난 주말", UNIT_WEEKEND, -1, ALWAYS},
    {"지난주말", UNIT_WEEKEND, -1, ALWAYS},
    {"다음 주말", UNIT_WEEKEND, 1, ALWAYS},
    {"지난달", UNIT_MONTH, -1, ALWAYS},
    {"지난 달", UNIT_MONTH, -1, ALWAYS},
    {"이번 달", UNIT_MONTH, 0, ALWAYS},
    {"다음달", UNIT_MONTH, 1, ALWAYS},
    {"다음 달", UNIT_MONTH, 1, ALWAYS},
    {"작년", UNIT_YEAR, -1, ALWAYS},
    {"지난해", UNIT_YEAR, -1, ALWAYS},
    {"올해", UNIT_YEAR, 0, ALWAYS},
    {"내년", UNIT_YEAR, 1, ALWAYS},
};

static const char *const french_words[] = {"je", "j",  "nous", "est",  "et",  "le",   "la",   "les",
                                           "au", "du", "avec", "dans", "pas", "tres", "elle", "ai"};
static const char *const other_words[] = {"ich", "ist", "und",  "der", "die", "das", "nicht", "wir",
                                          "het", "een", "niet", "van", "en",  "ik",  "auf",   "zu"};

static bool is_one_of(const char *const *list, size_t n, struct str word)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(word, str_of(list[i])))
            return true;
    return false;
}

#define IS_ONE_OF(list, word) is_one_of(list, sizeof(list) / sizeof(list)[0], word)

enum { FRENCH_BYTES = 2048 };

/* More French function words than German and Dutch ones. */
static bool is_french(struct date_scan *scan)
{
    if (scan->french >= 0)
        return scan->french == 1;
    struct str text = str_part(scan->text, 0, FRENCH_BYTES);
    int balance = 0;
    for (size_t i = 0, from = 0; i <= text.len; i++) {
        bool letter = i < text.len && (text.at[i] | 0x20) >= 'a' && (text.at[i] | 0x20) <= 'z';
        if (letter)
            continue;
        char word[8];
        struct str raw = str_part(text, from, i);
        from = i + 1;
        if (raw.len == 0 || raw.len > sizeof word)
            continue;
        for (size_t k = 0; k < raw.len; k++)
            word[k] = (char)(raw.at[k] | 0x20);
        struct str lower = {word, raw.len};
        balance += IS_ONE_OF(french_words, lower) ? 1 : 0;
        balance -= IS_ONE_OF(other_words, lower) ? 1 : 0;
    }
    scan->french = balance > 0 ? 1 : 0;
    return balance > 0;
}

/* Behind these, "morgen" and "mañana" are the morning. */
static bool is_morning(const struct date_scan *scan)
{
    static const char *const before[] = {"guten", "goede", "goeie",  "am",     "jeden",  "der",
                                         "den",   "de",    "dieser", "diesem", "diesen", "elke",
                                         "deze",  "s",     "la",     "esta",   "cada",   "buena",
                                         "una",   "ein",   "einen",  "in"};
    if (!date__at(scan, 0)->line_start && IS_ONE_OF(before, str_of(scan->before.text)))
        return true;
    bool greeting = date__is_sign(scan, 1, '!') || date__is_sign(scan, 1, ',');
    return scan->sentence_start && greeting;
}

static bool holds(struct date_scan *scan, enum condition condition)
{
    switch (condition) {
    case IN_FRENCH: return is_french(scan);
    case NO_MORNING: return !is_morning(scan);
    case ALWAYS: break;
    }
    return true;
}

/* How many tokens the phrase covers; hyphens may stand between its words. 0: another phrase. */
static size_t covers(const struct date_scan *scan, const char *words)
{
    struct str rest = str_of(words);
    size_t i = 0;
    while (rest.len != 0) {
        size_t n = str_index(rest, ' ');
        if (i > 0 && date__is_sign(scan, i, '-'))
            i++;
        const struct date_token *t = date__at(scan, i);
        if (t->kind != TOKEN_WORD || !str_eq(str_of(t->text), str_part(rest, 0, n)))
            return 0;
        rest = str_part(rest, n + 1, rest.len);
        i++;
    }
    return i;
}

size_t date__foreign_phrase(struct date_scan *scan, struct date_mention *m)
{
    const struct date_phrase *best = NULL;
    size_t most = 0;
    if (!date__is(scan, 0, ROLE_FOREIGN))
        return 0;
    for (size_t k = 0; k < sizeof phrases / sizeof phrases[0]; k++) {
        size_t n = covers(scan, phrases[k].words);
        if (n > most && holds(scan, (enum condition)phrases[k].condition)) {
            most = n;
            best = &phrases[k];
        }
    }
    return best != NULL && date__set_unit(scan, m, best->unit, best->n) ? most : 0;
}

/* Tokens from the start of the window that cover `len` bytes. */
static size_t tokens_of(const struct date_scan *scan, size_t len)
{
    size_t end = date__at(scan, 0)->at + len, n = 0;
    while (n < DATE_WINDOW - 1 && date__at(scan, n)->kind != TOKEN_END &&
           date__at(scan, n)->at < end)
        n++;
    return n;
}

size_t date__wide_phrase(struct date_scan *scan, struct date_mention *m)
{
    const struct date_phrase *best = NULL;
    const struct date_token *t = date__at(scan, 0);
    size_t most = 0;
    if (t->kind != TOKEN_WIDE)
        return 0;
    struct str rest = str_part(scan->text, t->at, scan->text.len);
    for (size_t k = 0; k < sizeof strings / sizeof strings[0]; k++) {
        if (memcmp(strings[k].words, rest.at, t->len) != 0) /* the first character: most differ */
            continue;
        struct str string = str_of(strings[k].words);
        if (string.len > most && str_starts(rest, string)) {
            most = string.len;
            best = &strings[k];
        }
    }
    if (best == NULL || !date__set_unit(scan, m, best->unit, best->n))
        return 0;
    return tokens_of(scan, most);
}

static bool is_wide(const struct date_scan *scan, size_t i, uint32_t a, uint32_t b, uint32_t c)
{
    const struct date_token *t = date__at(scan, i);
    return t->kind == TOKEN_WIDE && (t->cp == a || t->cp == b || t->cp == c);
}

static bool is_small(const struct date_scan *scan, size_t i, int max)
{
    const struct date_token *t = date__at(scan, i);
    return t->kind == TOKEN_DIGITS && t->digits <= 2 && t->value >= 1 && t->value <= max;
}

/* 2023年5月7日, 2023年5月, 2023年, 5月7日, and the same in Korean. */
size_t date__wide_numeric(struct date_scan *scan, struct date_mention *m)
{
    const struct date_token *t = date__at(scan, 0);
    int year = 0;
    size_t i = 0;
    if (t->kind != TOKEN_DIGITS)
        return 0;
    if (t->digits == 4 && is_wide(scan, 1, 0x5e74, 0xb144, 0x5e74)) { /* 年 년 */
        year = t->value;
        i = 2;
    }
    bool month = is_small(scan, i, 12) && is_wide(scan, i + 1, 0x6708, 0xc6d4, 0x6708); /* 月 월 */
    if (!month) {
        bool known = year >= 1800 && year <= 2199;
        struct civil from = {year, 1, 1}, to = {year, 12, 31};
        return known && date__set(m, from, to, DATE_YEAR) ? i : 0;
    }
    struct civil date = {year, date__at(scan, i)->value, 1};
    bool day =
        is_small(scan, i + 2, 31) && is_wide(scan, i + 3, 0x65e5, 0xc77c, 0x53f7); /* 日 일 号 */
    if (day)
        date.day = date__at(scan, i + 2)->value;
    size_t end = day ? i + 4 : i + 2;
    if (year == 0)
        return date__set_yearless(scan, m, date.month, day ? date.day : 0, date.day) ? end : 0;
    if (!civil_is_valid(date))
        return 0;
    struct civil to = date;
    if (!day)
        to.day = civil_days_in_month(date.year, date.month);
    return date__set(m, date, to, day ? DATE_DAY : DATE_MONTH) ? end : 0;
}
