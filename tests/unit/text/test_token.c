#include "core/text/token.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/limits.h"
#include "core/text/language.h"
#include "tests/unit/text/terms.h"

struct shown {
    const char *language, *text, *terms;
};

static void check_table(const struct shown *rows, size_t n, enum token_use use)
{
    for (size_t i = 0; i < n; i++) {
        char line[TERMS_LINE];
        terms_show(rows[i].language, rows[i].text, use, line);
        ck_assert_msg(strcmp(line, rows[i].terms) == 0, "%s: \"%s\"\n gives \"%s\"\n not   \"%s\"",
                      rows[i].language, rows[i].text, line, rows[i].terms);
    }
}

#define CHECK_TABLE(rows, use) check_table(rows, sizeof(rows) / sizeof(rows)[0], use)

START_TEST(words_are_folded_and_stemmed)
{
    static const struct shown rows[] = {
        {"en", "Caroline was running", "carolin was! run"},
        {"none", "Caroline was running", "caroline was running"},
        {"en", "", ""},
        {"en", " \t\n.,;!?", ""},
        {"en", "The lakes, the LAKE", "the! lake the! lake"},
        {"en", "naïve café", "naiv cafe"},
        {"en", "ＦＵＬＬ ｗｉｄｔｈ ２０２３", "full width 2023"},
        {"en", "soft\xc2\xadhyphen zero\xe2\x80\x8bwidth", "softhyphen zero width"},
        {"en", "Ørsted Łódź đakovo ıstanbul æon œuvre",
         "orsted orst+ lodz dakovo istanbul aeon oeuvr"},
        {"en", "ﬁnd m² ½ x₂", "find m2 2+ 1/2 x2 2+"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
    CHECK_TABLE(rows, TOKEN_QUERY);
}
END_TEST

START_TEST(apostrophes)
{
    static const struct shown rows[] = {
        {"en", "John's dog", "john dog"},
        {"en", "John’s dog", "john dog"},
        {"en", "I don't know", "i! dont! know"},
        {"en", "I don’t, dont", "i! dont! dont!"},
        {"en", "she'll, we've, I'm, they're, he'd", "she! we! i! they! he!"},
        {"en", "it's what's", "it! what!"},
        {"en", "O'Brien's rock'n'roll", "obrien rocknrol"},
        {"en", "'quoted' dogs'", "quot dog"},
        {"fr", "l'homme d’accord qu'il", "l! homm d! accord qu! il!"},
        {"it", "dell'arte", "dell! arte"},
        {"none", "don't John's", "dont john"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
}
END_TEST

START_TEST(numbers_and_measures)
{
    static const struct shown rows[] = {
        {"en", "2023", "2023"},
        {"en", "3.14 and 1,000,000", "3.14 and! 1000000"},
        {"en", "1,00 12,3456", "1 00 12 3456"},
        {"en", "$200 or 200€", "$200 200+ or! €200 200+"},
        {"en", "$1,000.50", "$1000.50 1000.50+"},
        {"en", "$ 5 and a $", "5 and! a!"},
        {"en", "50% off", "50% 50+ off!"},
        {"en", "15km 3.5km 20kg", "15km 15+ km+ 3.5km 3.5+ km+ 20kg 20+ kg+"},
        {"en", "2nd 1990s 4k", "2nd 2+ 1990s 1990+ 4k 4+"},
        {"en", "mp3 covid19 h2o", "mp3 mp+ 3+ covid19 covid+ 19+ h2o 2+"},
        {"en", "a1b2c3d4", "a1b2c3d4"},
        {"en", "3:00 24/7 1:2:3", "3:00 3+ 00+ 24/7 24+ 7+ 1:2:3 1+ 2+ 3+"},
        {"en", "2023-05-07", "2023-05-07 2023+ 05+ 07+"},
        {"en", "7.5.2023", "7.5.2023 7+ 5+ 2023+"},
        {"en", "v1.2 v1.2.3", "v1.2 1.2+ v1.2.3 v1+ 2+ 3+"},
        {"en", "555-1234", "555-1234 555+ 1234+"},
        {"en", "٢٠٢٣ २०२३ ๒๐๒๓", "2023 2023 2023"},
        {"en", "3️⃣", "3"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
    CHECK_TABLE(rows, TOKEN_QUERY);
}
END_TEST

START_TEST(compounds)
{
    static const struct shown rows[] = {
        {"en", "covid-19", "covid-19 covid+ 19+ covid19+"},
        {"en", "e-mails", "e-mails e+ mail+ email+"},
        {"en", "e‑mail", "e-mail e+ mail+ email+"},
        {"en", "up-to-date", "up-to-date up! to! date+ uptod+"},
        {"en", "snake_case AT&T", "snake_case snake+ case+ at&t at! t+"},
        {"en", "C++ and C# or c", "c++ and! c# or! c"},
        {"en", "Notepad++ F#", "notepad++ notepad+ f#"},
        {"en", "issue#5 a+b", "issu 5 a! b"},
        {"en", "U.S.A. at 3 p.m.", "usa at! 3 pm"},
        {"en", "U.S. and us", "us and! us!"},
        {"en", "node.js", "node.js node+ js+"},
        {"en", "end.Next -dash- --flag", "end.next end+ next+ dash flag"},
        {"en", "and/or", "and! or!"},
        {"en", "15km-run", "15km-run 15km+ run+ 15kmrun+"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
    CHECK_TABLE(rows, TOKEN_QUERY);
}
END_TEST

START_TEST(addresses)
{
    static const struct shown rows[] = {
        {"none", "john.doe@example.com", "john.doe@example.com john+ doe+ example+ com+"},
        {"none", "(https://www.example.com/a_b?x=12).",
         "https://www.example.com/a_b?x=12 example+ com+ a+ b+ x+ 12+"},
        {"none", "see www.example.org/Path, ok", "see www.example.org/path example+ org+ path+ ok"},
        {"none", "http://x.de查看", "http://x.de x+ de+ 查看 查+ 看+"},
        {"none", "https:// nothing", "https nothing"},
        {"none", "www. x", "www x"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
}
END_TEST

START_TEST(scripts_without_spaces)
{
    static const struct shown index[] = {
        {"en", "北京", "北京 北+ 京+"},
        {"en", "京", "京"},
        {"en", "我爱你", "我爱 我+ 爱你 爱+ 你+"},
        {"en", "東京タワー", "東京 東+ 京タ 京+ タワ タ+ ワー ワ+ ー+"},
        {"en", "ｶﾞｷﾞ", "ガギ ガ+ ギ+"},
        {"en", "안녕 서울", "안녕 안+ 녕+ 서울 서+ 울+"},
        {"en", "รักไทย", "รัก รั+ กไ ก+ ไท ไ+ ทย ท+ ย+"},
        {"en", "ລາວ", "ລາ ລ+ າວ າ+ ວ+"},
        {"en", "ខ្មែរ", "ខ្មែ ខ្+ មែរ មែ+ រ+"},
        {"en", "iPhone手机", "iphon 手机 手+ 机+"},
        {"en", "2023年5月", "2023 年 5 月"},
    };
    static const struct shown query[] = {
        {"en", "北京", "北京"},
        {"en", "京", "京"},
        {"en", "東京タワー", "東京 京タ タワ ワー"},
        {"en", "안녕", "안녕"},
        {"en", "မြန်မာ", "မြန် န်မာ"},
        {"en", "ไทย", "ไท ทย"},
    };
    CHECK_TABLE(index, TOKEN_INDEX);
    CHECK_TABLE(query, TOKEN_QUERY);
}
END_TEST

START_TEST(jamo_and_zero_width_spaces_change_nothing)
{
    char a[TERMS_LINE], b[TERMS_LINE];
    terms_show("en", "한국", TOKEN_INDEX, a);
    terms_show("en", "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xae\xe1\x86\xa8",
               TOKEN_INDEX, b);
    ck_assert_str_eq(a, b);
    terms_show("en", "รักไทย", TOKEN_INDEX, a);
    terms_show("en", "รัก\xe2\x80\x8bไทย", TOKEN_INDEX, b);
    ck_assert_str_eq(a, b);
}
END_TEST

START_TEST(emoji)
{
    static const struct shown rows[] = {
        {"en", "👍", "👍"},
        {"en", "👍🏽", "👍🏽 👍+"},
        {"en", "👨‍👩‍👧ok", "👨‍👩‍👧 ok"},
        {"en", "🇩🇪🇫🇷", "🇩🇪 🇫🇷"},
        {"en", "❤️ ❤", "❤ ❤"},
        {"en", "🎉🎉", "🎉 🎉"},
        {"en", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"},
        {"en", "👩🏽‍🚀", "👩🏽‍🚀 👩‍🚀+"},
        {"en", "© ™ → =", ""},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
    CHECK_TABLE(rows, TOKEN_QUERY);
}
END_TEST

START_TEST(other_alphabets)
{
    static const struct shown rows[] = {
        {"en", "كِتَابٌ كــتاب كتاب", "كتاب كتاب كتاب"},
        {"en", "أحمد احمد", "احمد احمد"},
        {"en", "Привет, ёлка и елка", "привет елк и! елк"},
        {"en", "быстрый быстрая", "быстр быстр"},
        {"none", "быстрый ёж", "быстрый еж"},
        {"en", "Άνθρωπος άνθρωποι", "ανθρωπ ανθρωπ"},
        {"en", "שָׁלוֹם שלום", "שלום שלום"},
        {"hi", "लड़के लड़का", "लडक लडक"},
        {"en", "Aя", "a! я!"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
}
END_TEST

START_TEST(german)
{
    static const struct shown rows[] = {
        {"de", "Häuser", "haus haeus+"},
        {"de", "Hauser Haus", "haus haus"},
        {"de", "Fußball", "fussball"},
        {"de", "Müller mueller muller", "mull muell+ muell mull"},
        {"de", "schön schon für", "schon schoen+ schon! fur!"},
        {"de", "Straßenbahnhaltestelle", "strassenbahnhaltestell"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
}
END_TEST

START_TEST(accents_and_their_absence)
{
    static const struct shown rows[] = {
        {"fr", "mangée", "mang mange+"},
        {"fr", "mangee", "mange"},
        {"fr", "été à", "ete! a!"},
        {"es", "canción cancion", "cancion cancion"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
}
END_TEST

START_TEST(language_is_guessed)
{
    static const struct shown rows[] = {
        {"auto", "Wir waren gestern in den Häusern und haben gelacht",
         "wir! waren! gest in! den! haus haeus+ und! haben! gelacht"},
        {"auto", "The houses are nice", "the! hous are! nice"},
        {"auto", "Houses", "hous"},
        {"auto", "Nous avons mangé dans les maisons", "nous! avons! mang dans! les! maison"},
        {"auto", "Быстрая лиса и собаки", "быстр лис и! собак"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
}
END_TEST

START_TEST(capitals)
{
    static const struct {
        const char *text, *word;
        bool capital;
    } rows[] = {
        {"We met Caroline", "carolin", true},
        {"Caroline came", "carolin", false},
        {"Yes. Caroline came", "carolin", false},
        {"Mr. Smith came", "smith", true},
        {"NASA called", "nasa", true},
        {"J. Smith", "smith", true},
        {"so Émile left", "emil", true},
        {"we met caroline", "carolin", false},
        {"ok!\nParis is big", "pari", false},
        {"好。Paris", "pari", false},
        {"the iPhone", "iphon", false},
        {"in New-York now", "new-york", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena *arena = arena_new(1 << 20);
        struct tokenizer *tokenizer;
        struct token_list list;
        bool found = false;
        ck_assert_int_eq(tokenizer_new(STR("en"), &tokenizer, NULL), ERR_OK);
        ck_assert_int_eq(
            tokenizer_run(tokenizer, arena, str_of(rows[i].text), TOKEN_INDEX, &list, NULL),
            ERR_OK);
        for (size_t k = 0; k < list.n; k++)
            if (str_eq(list.at[k].text, str_of(rows[i].word))) {
                found = true;
                ck_assert_msg(((list.at[k].flags & TOKEN_CAPITAL) != 0) == rows[i].capital, "%s",
                              rows[i].text);
            }
        ck_assert_msg(found, "%s", rows[i].text);
        tokenizer_free(tokenizer);
        arena_free(arena);
    }
}
END_TEST

START_TEST(names_in_capitals_are_no_stop_words)
{
    static const struct shown rows[] = {
        {"en", "the US team of IT asked WHO", "the! us team of! it ask who"},
        {"en", "tell us who it is", "tell us! who! it! is!"},
        {"en", "TELL US", "tell us!"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
}
END_TEST

static void check_token(struct str text, const struct token *t, const struct token *previous)
{
    ck_assert(t->from < t->to && t->to <= text.len);
    ck_assert(t->text.len > 0 && t->text.len <= LIMIT_TERM_BYTES);
    ck_assert(t->term == (hash64(t->text) & TERM_MASK));
    if (previous != NULL)
        ck_assert(t->position >= previous->position);
}

START_TEST(spans_positions_and_hashes)
{
    const char *text = "Zoé's e-mail: 15km, 北京! $200 👍🏽 (https://a.b/c)";
    struct arena *arena = arena_new(1 << 20);
    struct tokenizer *tokenizer;
    struct token_list list;
    ck_assert_int_eq(tokenizer_new(STR("en"), &tokenizer, NULL), ERR_OK);
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, str_of(text), TOKEN_INDEX, &list, NULL),
                     ERR_OK);
    for (size_t i = 0; i < list.n; i++)
        check_token(str_of(text), &list.at[i], i == 0 ? NULL : &list.at[i - 1]);
    ck_assert(str_eq(str_part(str_of(text), list.at[0].from, list.at[0].to), STR("Zoé")));
    ck_assert_uint_eq(list.at[0].position, 0);
    ck_assert_uint_eq(list.at[1].position, 1); /* e-mail and its parts share a place */
    ck_assert_uint_eq(list.at[4].position, 1);
    ck_assert_uint_eq(list.at[5].position, 2);
    tokenizer_free(tokenizer);
    arena_free(arena);
}
END_TEST

START_TEST(terms_are_stable)
{
    /* Indexes on disk hold these: a change needs a new TOKENIZER_VERSION. */
    struct arena *arena = arena_new(1 << 20);
    struct tokenizer *tokenizer;
    struct token_list list;
    ck_assert_int_eq(TOKENIZER_VERSION, 1);
    ck_assert_int_eq(tokenizer_new(STR("en"), &tokenizer, NULL), ERR_OK);
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, STR("running 北京"), TOKEN_QUERY, &list, NULL),
                     ERR_OK);
    ck_assert_uint_eq(list.n, 2);
    ck_assert(list.at[0].term == UINT64_C(0x6278c6744e));
    ck_assert(list.at[1].term == UINT64_C(0xfa0da6684));
    tokenizer_free(tokenizer);
    arena_free(arena);
}
END_TEST

START_TEST(long_words_are_cut)
{
    enum { N = 100000 };
    char *text = malloc(3 * N + 1);
    struct arena *arena = arena_new(TERMS_ARENA);
    struct tokenizer *tokenizer;
    struct token_list list;
    ck_assert_int_eq(tokenizer_new(STR("en"), &tokenizer, NULL), ERR_OK);
    memset(text, 'a', N);
    ck_assert_int_eq(
        tokenizer_run(tokenizer, arena, (struct str){text, N}, TOKEN_INDEX, &list, NULL), ERR_OK);
    ck_assert_uint_eq(list.n, 1);
    ck_assert_uint_eq(list.at[0].text.len, LIMIT_TERM_BYTES);
    ck_assert_uint_eq(list.at[0].to, N);
    const struct str letter = STR("я");
    for (size_t i = 0; i < N; i++)
        memcpy(text + letter.len * i, letter.at, letter.len);
    ck_assert_int_eq(
        tokenizer_run(tokenizer, arena, (struct str){text, 2 * N}, TOKEN_INDEX, &list, NULL),
        ERR_OK);
    ck_assert_uint_eq(list.n, 1);
    ck_assert_uint_eq(list.at[0].text.len, LIMIT_TERM_BYTES);
    tokenizer_free(tokenizer);
    arena_free(arena);
    free(text);
}
END_TEST

START_TEST(bad_bytes_are_skipped)
{
    static const struct shown rows[] = {
        {"en", "good\xff times\xc3", "good time"},
        {"en", "\xed\xa0\x80x \xc0\x80 y", "x y"},
    };
    CHECK_TABLE(rows, TOKEN_INDEX);
    struct arena *arena = arena_new(1 << 20);
    struct tokenizer *tokenizer;
    struct token_list list;
    ck_assert_int_eq(tokenizer_new(STR("en"), &tokenizer, NULL), ERR_OK);
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, STR("nul\0inside"), TOKEN_INDEX, &list, NULL),
                     ERR_OK);
    ck_assert_uint_eq(list.n, 2);
    ck_assert_int_eq(tokenizer_run(tokenizer, arena, STR_NONE, TOKEN_INDEX, &list, NULL), ERR_OK);
    ck_assert_uint_eq(list.n, 0);
    tokenizer_free(tokenizer);
    arena_free(arena);
}
END_TEST

START_TEST(languages_are_known)
{
    char names[256], few[12];
    struct tokenizer *tokenizer = NULL;
    struct err err;
    ck_assert(tokenizer_knows(STR("none")) && tokenizer_knows(STR("auto")));
    ck_assert(tokenizer_knows(STR("en")) && tokenizer_knows(STR("tr")));
    ck_assert(!tokenizer_knows(STR("")) && !tokenizer_knows(STR("zh")) &&
              !tokenizer_knows(STR("EN")) && !tokenizer_knows(STR("english")));
    tokenizer_languages(names, sizeof names);
    ck_assert_str_eq(names, "none, auto, ar, ca, da, de, el, en, es, eu, fi, fr, ga, hi, hu, hy, "
                            "id, it, lt, ne, nl, no, pt, ro, ru, sr, sv, ta, tr, yi");
    tokenizer_languages(few, sizeof few);
    ck_assert_str_eq(few, "none, auto");
    ck_assert_int_eq(tokenizer_new(STR("klingon"), &tokenizer, &err), ERR_INVALID);
    ck_assert_ptr_null(tokenizer);
    tokenizer_free(NULL);
}
END_TEST

START_TEST(every_language_has_its_stemmer)
{
    static const char *const codes[] = {"ar", "ca", "da", "de", "el", "en", "es", "eu", "fi", "fr",
                                        "ga", "hi", "hu", "hy", "id", "it", "lt", "ne", "nl", "no",
                                        "pt", "ro", "ru", "sr", "sv", "ta", "tr", "yi"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char line[TERMS_LINE];
        terms_show(codes[i], "running häuser собаки كتابها ανθρωποι", TOKEN_INDEX, line);
        ck_assert(line[0] != '\0');
    }
}
END_TEST

START_TEST(stop_words_are_found)
{
    static const char *const stops[][2] = {
        {"en", "a"},     {"en", "yourselves"}, {"en", "youve"}, {"en", "the"},  {"de", "aber"},
        {"de", "über"},  {"de", "zwischen"},   {"fr", "à"},     {"fr", "êtes"}, {"es", "él"},
        {"it", "verso"}, {"pt", "às"},         {"nl", "zou"},   {"ru", "я"},    {"ru", "которые"},
        {"sv", "över"},  {"da", "være"},       {"no", "å"},     {"fi", "älä"},
    };
    static const char *const others[][2] = {
        {"en", "may"},   {"en", "th"}, {"en", "thee"},
        {"en", "zebra"}, {"en", ""},   {"en", "und"},
        {"de", "the"},   {"hu", "a"},  {"en", "yourselvesyourselves"},
    };
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
        ck_assert_msg(stopword_is(stops[i][0], str_of(stops[i][1])), "%s", stops[i][1]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!stopword_is(others[i][0], str_of(others[i][1])), "%s", others[i][1]);
    ck_assert(stopwords_exist("fi") && !stopwords_exist("hu"));
}
END_TEST

/* A tokenizer that has run over much text remembers stems; they are those of a new one. */
START_TEST(remembered_stems_are_the_same)
{
    enum { ROUNDS = 40 };
    static const char text[] = "Running runners went jumping geese hopelessly nationalization of "
                               "the mangée Running бежали geese photographs hopefulness tokens";
    struct err err;
    struct tokenizer *old = NULL, *fresh = NULL;
    struct arena *arena = arena_new(1 << 20);
    ck_assert_int_eq(tokenizer_new(STR("en"), &old, &err), ERR_OK);
    for (int round = 0; round < ROUNDS; round++) {
        struct token_list a, b;
        ck_assert_int_eq(tokenizer_new(STR("en"), &fresh, &err), ERR_OK);
        ck_assert_int_eq(tokenizer_run(old, arena, str_of(text), TOKEN_INDEX, &a, &err), ERR_OK);
        ck_assert_int_eq(tokenizer_run(fresh, arena, str_of(text), TOKEN_INDEX, &b, &err), ERR_OK);
        ck_assert_uint_eq(a.n, b.n);
        for (size_t i = 0; i < a.n; i++) {
            ck_assert_uint_eq(a.at[i].term, b.at[i].term);
            ck_assert(str_eq(a.at[i].text, b.at[i].text));
            ck_assert_uint_eq(a.at[i].flags, b.at[i].flags);
        }
        tokenizer_free(fresh);
        arena_reset(arena);
    }
    tokenizer_free(old);
    arena_free(arena);
}
END_TEST

START_TEST(a_pool_gives_back_what_it_was_given)
{
    struct err err;
    struct tokenizers *pool = tokenizers_new();
    struct tokenizer *english, *automatic, *other, *again;
    ck_assert_ptr_nonnull(pool);
    ck_assert_int_eq(tokenizers_take(pool, STR("en"), &english, &err), ERR_OK);
    ck_assert_int_eq(tokenizers_take(pool, STR("auto"), &automatic, &err), ERR_OK);
    tokenizers_give(pool, english);
    tokenizers_give(pool, automatic);
    ck_assert_int_eq(tokenizers_take(pool, STR("de"), &other, &err), ERR_OK);
    ck_assert(other != english && other != automatic);
    ck_assert_int_eq(tokenizers_take(pool, STR("en"), &again, &err), ERR_OK);
    ck_assert_ptr_eq(again, english);
    ck_assert_int_eq(tokenizers_take(pool, STR("en"), &english, &err), ERR_OK);
    ck_assert_ptr_ne(again, english); /* one user at a time */
    tokenizers_give(pool, again);
    tokenizers_give(pool, english);
    tokenizers_give(pool, other);
    ck_assert_int_eq(tokenizers_take(pool, STR("auto"), &again, &err), ERR_OK);
    ck_assert_ptr_eq(again, automatic);
    tokenizers_give(pool, again);
    ck_assert_int_eq(tokenizers_take(pool, STR("xx"), &again, &err), ERR_INVALID);
    ck_assert_ptr_null(again);
    tokenizers_give(pool, NULL);
    tokenizers_free(pool);
}
END_TEST

START_TEST(a_full_pool_frees_and_no_pool_makes)
{
    enum { MANY = 80 };
    struct err err;
    struct tokenizers *pool = tokenizers_new();
    struct tokenizer *taken[MANY];
    ck_assert_ptr_nonnull(pool);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(tokenizers_take(pool, STR("none"), &taken[i], &err), ERR_OK);
    for (int i = 0; i < MANY; i++)
        tokenizers_give(pool, taken[i]); /* a leak is the sanitizer's to find */
    tokenizers_free(pool);
    ck_assert_int_eq(tokenizers_take(NULL, STR("en"), &taken[0], &err), ERR_OK);
    tokenizers_give(NULL, taken[0]);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const char text[] =
        "Wir fuhren 15km in den Häusern, e-mail 北京 собаки 👍🏽";
    struct tokenizer *tokenizer;
    ck_assert_int_eq(tokenizer_new(STR("auto"), &tokenizer, NULL), ERR_OK);
    bool done = false;
    for (unsigned long n = 1; !done; n++) {
        struct arena *arena = arena_new(1 << 20);
        struct token_list list;
        struct err err;
        arena_fail_after(arena, n);
        enum err_code code =
            tokenizer_run(tokenizer, arena, str_of(text), TOKEN_INDEX, &list, &err);
        done = code == ERR_OK;
        ck_assert(done || (code == ERR_EXHAUSTED && list.n == 0));
        ck_assert(n < 100);
        arena_free(arena);
    }
    tokenizer_free(tokenizer);
}
END_TEST

START_TEST(a_small_cap_is_reported)
{
    struct arena *arena = arena_new(64);
    struct tokenizer *tokenizer;
    struct token_list list;
    struct err err;
    ck_assert_int_eq(tokenizer_new(STR("en"), &tokenizer, NULL), ERR_OK);
    ck_assert_int_eq(
        tokenizer_run(tokenizer, arena, STR("some words here"), TOKEN_INDEX, &list, &err),
        ERR_EXHAUSTED);
    tokenizer_free(tokenizer);
    arena_free(arena);
}
END_TEST

Suite *suite_token(void)
{
    Suite *suite = suite_create("token");
    TCase *tc = tcase_create("token");
    tcase_add_test(tc, words_are_folded_and_stemmed);
    tcase_add_test(tc, apostrophes);
    tcase_add_test(tc, numbers_and_measures);
    tcase_add_test(tc, compounds);
    tcase_add_test(tc, addresses);
    tcase_add_test(tc, scripts_without_spaces);
    tcase_add_test(tc, jamo_and_zero_width_spaces_change_nothing);
    tcase_add_test(tc, emoji);
    tcase_add_test(tc, other_alphabets);
    tcase_add_test(tc, german);
    tcase_add_test(tc, accents_and_their_absence);
    tcase_add_test(tc, language_is_guessed);
    tcase_add_test(tc, capitals);
    tcase_add_test(tc, names_in_capitals_are_no_stop_words);
    tcase_add_test(tc, spans_positions_and_hashes);
    tcase_add_test(tc, terms_are_stable);
    tcase_add_test(tc, long_words_are_cut);
    tcase_add_test(tc, bad_bytes_are_skipped);
    tcase_add_test(tc, languages_are_known);
    tcase_add_test(tc, every_language_has_its_stemmer);
    tcase_add_test(tc, stop_words_are_found);
    tcase_add_test(tc, remembered_stems_are_the_same);
    tcase_add_test(tc, a_pool_gives_back_what_it_was_given);
    tcase_add_test(tc, a_full_pool_frees_and_no_pool_makes);
    tcase_add_test(tc, every_allocation_may_fail);
    tcase_add_test(tc, a_small_cap_is_reported);
    suite_add_tcase(suite, tc);
    return suite;
}
