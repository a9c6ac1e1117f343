#include "core/model/builtin/wordpiece.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/model/builtin/wordpiece_int.h"
#include "golden.h"

#define VOCAB "vocab.txt"
#define CONFIG "tokenizer_config.json"
#define TOKENIZER "tokenizer.json"

#define SPECIAL "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
/*              5      6    7    8     9  10     11    12       13 */
#define SMALL SPECIAL "hello\n##s\nwor\n##ld\n,\nH\u00e9\nhe\n\u6211\n##\u6211\n"

#define NORMALIZER                                                                                 \
    "'normalizer':{'type':'BertNormalizer','clean_text':true,'handle_chinese_chars':true,"         \
    "'strip_accents':null,'lowercase':true},"
#define SPLIT "'pre_tokenizer':{'type':'BertPreTokenizer'},"
#define PIECES                                                                                     \
    "'vocab':{'[PAD]':0,'[UNK]':1,'[CLS]':2,'[SEP]':3,'hello':5,'##s':6,'wor':7,'--ld':8}"
#define MODEL "'model':{'type':'WordPiece'," PIECES "}"

static const char *const names[] = {VOCAB, CONFIG, TOKENIZER};
static char dir[] = "/tmp/hmtest-XXXXXX";
static struct wordpiece *w;
static struct err err;

static const char *path_of(const char *name)
{
    static char path[64];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void clean(void)
{
    wordpiece_free(w);
    w = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (unlink(path_of(names[i])) != 0)
            (void)rmdir(path_of(names[i]));
}

static void setup(void)
{
    w = NULL;
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
    clean();
    ck_assert_int_eq(rmdir(dir), 0);
}

/* In JSON files ' stands for ". */
static void write_bytes(const char *name, struct str bytes)
{
    bool json = strcmp(name, VOCAB) != 0;
    FILE *file = fopen(path_of(name), "wb");
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < bytes.len; i++)
        ck_assert(fputc(json && bytes.at[i] == '\'' ? '"' : bytes.at[i], file) != EOF);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_file(const char *name, const char *text)
{
    write_bytes(name, str_of(text));
}

static void open_it(void)
{
    wordpiece_free(w);
    ck_assert_msg(wordpiece_open(dir, &w, &err) == ERR_OK, "%s", err.message);
}

static void expect_ids(const char *text, const char *want)
{
    uint32_t ids[256];
    char got[1024] = "";
    size_t len = 0;
    uint32_t n = wordpiece_encode(w, str_of(text), ids, 256, NULL);
    for (uint32_t i = 0; i < n && len < sizeof got - 16; i++)
        len += (size_t)snprintf(got + len, sizeof got - len, "%s%u", i != 0 ? " " : "", ids[i]);
    ck_assert_msg(strcmp(got, want) == 0, "%s: %s, not %s", text, got, want);
}

static void expect_refused(enum err_code code, const char *file, const char *part)
{
    w = (struct wordpiece *)&err; /* must be overwritten */
    ck_assert_msg(wordpiece_open(dir, &w, &err) == code, "taken or another error: %s", part);
    ck_assert_ptr_null(w);
    ck_assert_msg(strstr(err.message, file) != NULL && strstr(err.message, part) != NULL,
                  "%s: says neither %s nor %s", err.message, file, part);
}

START_TEST(pieces)
{
    write_file(VOCAB, SMALL);
    open_it();
    ck_assert_uint_eq(wordpiece_ids(w), 14);
    ck_assert_uint_eq(wordpiece_id(w, WORDPIECE_PAD), 0);
    ck_assert_uint_eq(wordpiece_id(w, WORDPIECE_UNK), 1);
    ck_assert_uint_eq(wordpiece_id(w, WORDPIECE_CLS), 2);
    ck_assert_uint_eq(wordpiece_id(w, WORDPIECE_SEP), 3);
    ck_assert_uint_eq(wordpiece_id(w, WORDPIECE_MASK), 4);
    expect_ids("", "");
    expect_ids("Hello, WORLD", "5 9 7 8");
    expect_ids("hellos", "5 6");
    expect_ids("hell", "1"); /* no piece goes on behind "he" */
    expect_ids("s", "1");    /* a piece of the inside only */
    expect_ids("##s", "1 1 1");
    expect_ids("h\u00e9", "11");
    expect_ids("\u6211\u6211 he\u6211", "12 12 11 12"); /* Han are words by themselves */
}
END_TEST

START_TEST(special_tokens_in_a_text)
{
    write_file(VOCAB, SMALL);
    open_it();
    expect_ids("[SEP]", "3");
    expect_ids("he[MASK]he", "11 4 11");
    expect_ids("[[SEP]]", "1 3 1");
    expect_ids("[sep]", "1 1 1");
    expect_ids("[SEP", "1 1");
    expect_ids("[CLS][UNK][PAD]", "2 1 0");
    write_file(VOCAB, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
    open_it();
    ck_assert_uint_eq(wordpiece_id(w, WORDPIECE_MASK), WORDPIECE_NONE);
    expect_ids("[MASK]", "1 1 1");
}
END_TEST

/* What the reference takes, too. */
START_TEST(lines)
{
    write_file(VOCAB, "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n\r\nhello\r\nhe");
    open_it();
    ck_assert_uint_eq(wordpiece_ids(w), 7);
    expect_ids("hello he", "5 6");
    write_file(VOCAB, SPECIAL "he\nhello\nhe\n\n\n##\n");
    open_it();
    ck_assert_uint_eq(wordpiece_ids(w), 11);
    expect_ids("hello he #", "6 7 1"); /* of two lines the last */
}
END_TEST

START_TEST(settings)
{
    static const struct {
        const char *config, *ids;
    } rows[] = {
        {"{}", "11 5 12 12"},
        {"{'do_lower_case':true,'strip_accents':null,'x':[1]}", "11 5 12 12"},
        {"{'do_lower_case':null,'tokenize_chinese_chars':null}", "11 5 12 12"},
        {"{'do_lower_case':false}", "10 1 12 12"},
        {"{'do_lower_case':false,'strip_accents':true}", "1 1 12 12"},
        {"{'strip_accents':false}", "1 5 12 12"},
        {"{'tokenize_chinese_chars':false}", "11 5 12 13"},
        {"{'max_input_chars_per_word':4}", "11 1 12 12"},
        {"{'unk_token':'hello','strip_accents':false}", "5 5 12 12"},
        {"{'mask_token':{'content':'He','special':true},'tokenizer_class':'BertTokenizerFast'}",
         "11 5 12 12"},
    };
    write_file(VOCAB, SMALL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(CONFIG, rows[i].config);
        open_it();
        expect_ids("H\u00e9 Hello \u6211\u6211", rows[i].ids);
    }
}
END_TEST

START_TEST(tokenizer_json)
{
    write_file(VOCAB, "");
    write_file(TOKENIZER, "{" NORMALIZER SPLIT MODEL ",'added_tokens':[]}");
    open_it();
    ck_assert_uint_eq(wordpiece_ids(w), 9);
    ck_assert_uint_eq(wordpiece_id(w, WORDPIECE_MASK), WORDPIECE_NONE);
    expect_ids("Hellos [SEP]", "5 6 3");
    write_file(TOKENIZER,
               "{" NORMALIZER SPLIT "'added_tokens':[{'id':20,'content':'[X]','normalized':false},"
               "{'id':21,'content':'[X]Y'},{'id':22,'content':'[MASK]'}],"
               "'model':{'continuing_subword_prefix':'--','max_input_chars_per_word':5," PIECES
               "}}");
    open_it();
    ck_assert_uint_eq(wordpiece_ids(w), 23);
    ck_assert_uint_eq(wordpiece_id(w, WORDPIECE_MASK), 22);
    expect_ids("world[X] [X]Y [MASK] hellos", "7 8 20 21 22 1"); /* the longest token */
}
END_TEST

/* tokenizer_config.json goes before the normalizer. */
START_TEST(which_file_counts)
{
    write_file(TOKENIZER,
               "{" SPLIT MODEL ",'normalizer':{'type':'BertNormalizer','lowercase':false}}");
    open_it();
    expect_ids("Hello", "1");
    write_file(CONFIG, "{'do_lower_case':true}");
    open_it();
    expect_ids("Hello h\u00e9llo", "5 5");
    write_file(TOKENIZER,
               "{" SPLIT MODEL ",'normalizer':{'type':'BertNormalizer','strip_accents':false}}");
    open_it();
    expect_ids("hello h\u00e9llo", "5 1");
    write_file(CONFIG, "{'strip_accents':null}");
    open_it();
    expect_ids("hello h\u00e9llo", "5 5");
}
END_TEST

START_TEST(malformed_vocab)
{
    const struct {
        struct str bytes;
        const char *part;
    } rows[] = {
        {STR(""), "empty"},
        {STR("\n"), "no [PAD]"},
        {STR("[PAD]\n[CLS]\n[SEP]\n"), "no [UNK]"},
        {STR("[PAD]\n[UNK]\n[SEP]\n"), "no [CLS]"},
        {STR("[PAD]\n[UNK]\n[CLS]\n"), "no [SEP]"},
        {STR(SPECIAL "a\rb\n"), "line 6 has a carriage return"},
        {STR(SPECIAL "ok\nb\xff\n"), "line 7 is not UTF-8"},
        {STR("\xef\xbb\xbf[PAD]\n[UNK]\n[CLS]\n[SEP]\n"), "no [PAD]"},
        {STR("{\"model\":{}}"), "no [PAD]"},
        {STR("\0\0\0\0"), "no [PAD]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_bytes(VOCAB, rows[i].bytes);
        expect_refused(ERR_INVALID, VOCAB, rows[i].part);
    }
    char long_line[5000];
    memset(long_line, 'x', sizeof long_line);
    write_bytes(VOCAB, (struct str){long_line, sizeof long_line});
    expect_refused(ERR_INVALID, VOCAB, "line 1 has 5000 bytes");
}
END_TEST

START_TEST(malformed_config)
{
    static const char *const rows[][2] = {
        {"", "line 1"},
        {"[]", "not a JSON object"},
        {"'x'", "line 1"},
        {"{'do_lower_case':", "line 1"},
        {"{'do_lower_case':1}", "do_lower_case"},
        {"{'strip_accents':'no'}", "strip_accents"},
        {"{'tokenize_chinese_chars':[]}", "tokenize_chinese_chars"},
        {"{'max_input_chars_per_word':0}", "max_input_chars_per_word"},
        {"{'max_input_chars_per_word':1.5}", "max_input_chars_per_word"},
        {"{'cls_token':7}", "cls_token"},
        {"{'cls_token':''}", "cls_token"},
        {"{'cls_token':{'content':[]}}", "cls_token"},
    };
    write_file(VOCAB, SMALL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(CONFIG, rows[i][0]);
        expect_refused(ERR_INVALID, CONFIG, rows[i][1]);
    }
    write_file(CONFIG, "{'max_input_chars_per_word':1025}");
    expect_refused(ERR_INVALID, VOCAB, "max_input_chars_per_word");
    write_file(CONFIG, "{'sep_token':'</s>'}");
    expect_refused(ERR_INVALID, VOCAB, "no </s>");
    write_file(CONFIG, "{'tokenizer_class':'BertJapaneseTokenizer'}");
    expect_refused(ERR_INVALID, VOCAB, "BertJapaneseTokenizer");
}
END_TEST

START_TEST(malformed_tokenizer)
{
    static const char *const rows[][2] = {
        {"", "line 1"},
        {"[]", "not a JSON object"},
        {"{}", "model"},
        {"{" NORMALIZER SPLIT "'model':[]}", "model"},
        {"{" NORMALIZER SPLIT "'model':{}}", "vocabulary"},
        {"{" NORMALIZER SPLIT "'model':{'type':'Unigram'," PIECES "}}", "WordPiece"},
        {"{" NORMALIZER SPLIT "'model':{'type':'WordPiece','vocab':[]}}", "vocabulary"},
        {"{" NORMALIZER SPLIT "'model':{'vocab':{}}}", "vocabulary"},
        {"{" NORMALIZER SPLIT "'model':{'vocab':{'a':-1}}}", "piece"},
        {"{" NORMALIZER SPLIT "'model':{'vocab':{'a':4194304}}}", "piece"},
        {"{" NORMALIZER SPLIT "'model':{'vocab':{'a':'b'}}}", "piece"},
        {"{" NORMALIZER SPLIT "'model':{'vocab':{'a':1}}}", "no [PAD]"},
        {"{" NORMALIZER SPLIT "'model':{'vocab':{'a\\u0000b':1}}}", "line 1"},
        {"{" NORMALIZER SPLIT "'model':{'continuing_subword_prefix':''," PIECES "}}", "prefix"},
        {"{" NORMALIZER SPLIT "'model':{'max_input_chars_per_word':-3," PIECES "}}", "per_word"},
        {"{" NORMALIZER SPLIT "'model':{'max_input_chars_per_word':9999," PIECES "}}", "per_word"},
        {"{" SPLIT MODEL "}", "BertNormalizer"},
        {"{'normalizer':null," SPLIT MODEL "}", "BertNormalizer"},
        {"{'normalizer':{'type':'NFC'}," SPLIT MODEL "}", "BertNormalizer"},
        {"{'normalizer':{'type':'BertNormalizer','lowercase':'yes'}," SPLIT MODEL "}", "lowercase"},
        {"{" NORMALIZER MODEL "}", "BertPreTokenizer"},
        {"{" NORMALIZER "'pre_tokenizer':{'type':'Whitespace'}," MODEL "}", "BertPreTokenizer"},
        {"{" NORMALIZER SPLIT MODEL ",'added_tokens':{}}", "added_tokens"},
        {"{" NORMALIZER SPLIT MODEL ",'added_tokens':[1]}", "added token"},
        {"{" NORMALIZER SPLIT MODEL ",'added_tokens':[{'content':'x'}]}", "added token"},
        {"{" NORMALIZER SPLIT MODEL ",'added_tokens':[{'id':1,'content':''}]}", "added token"},
        {"{" NORMALIZER SPLIT MODEL ",'added_tokens':[{'id':1,'content':'x','normalized':true}]}",
         "normalized"},
        {"{" NORMALIZER SPLIT MODEL ",'added_tokens':[{'id':1,'content':'x','single_word':true}]}",
         "word"},
    };
    write_file(VOCAB, SMALL); /* does not stand in for the other */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(TOKENIZER, rows[i][0]);
        expect_refused(ERR_INVALID, TOKENIZER, rows[i][1]);
    }
}
END_TEST

START_TEST(too_many_added_tokens)
{
    struct arena *arena = arena_new(1 << 20);
    struct buf json;
    ck_assert_ptr_nonnull(arena);
    buf_init(&json, arena, 1 << 18);
    buf_str_put(&json, STR("{" NORMALIZER SPLIT MODEL ",'added_tokens':[{'id':0,'content':'a'}"));
    for (int i = 0; i < WORDPIECE_ADDED_MAX; i++)
        buf_printf(&json, ",{'id':%d,'content':'<%d>'}", i, i);
    buf_str_put(&json, STR("]}"));
    write_bytes(TOKENIZER, buf_str(&json));
    expect_refused(ERR_INVALID, TOKENIZER, "added tokens");
    arena_free(arena);
}
END_TEST

START_TEST(no_files)
{
    expect_refused(ERR_NOT_FOUND, dir, "neither tokenizer.json nor vocab.txt");
    ck_assert_int_eq(mkdir(path_of(VOCAB), 0700), 0);
    expect_refused(ERR_INVALID, VOCAB, "no regular file");
    ck_assert_int_eq(mkdir(path_of(TOKENIZER), 0700), 0);
    expect_refused(ERR_INVALID, TOKENIZER, "no regular file");
    ck_assert_int_eq(mkdir(path_of(CONFIG), 0700), 0);
    expect_refused(ERR_INVALID, CONFIG, "no regular file");
    ck_assert_int_eq(wordpiece_open("/nowhere/at/all", &w, &err), ERR_NOT_FOUND);
    char long_path[5000];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    ck_assert_int_eq(wordpiece_open(long_path, &w, &err), ERR_INVALID);
    ck_assert_ptr_null(w);
}
END_TEST

static void expect_cut(const char *text, uint32_t most, uint32_t n, struct wordpiece_cut want)
{
    uint32_t ids[16];
    struct wordpiece_cut cut;
    ck_assert_uint_eq(wordpiece_encode(w, str_of(text), ids, most, &cut), n);
    ck_assert_msg(cut.bytes == want.bytes && cut.ids == want.ids, "%s, at most %u: cut %zu, %u",
                  text, most, cut.bytes, cut.ids);
}

START_TEST(cuts)
{
    write_file(VOCAB, SMALL);
    open_it();
    expect_cut("", 1, 0, (struct wordpiece_cut){0, 0});
    expect_cut("  ", 1, 0, (struct wordpiece_cut){2, 0});
    expect_cut("he ", 1, 1, (struct wordpiece_cut){3, 1}); /* blanks behind need no room */
    expect_cut("he  hello", 1, 1, (struct wordpiece_cut){4, 1});
    expect_cut("he hellos he", 2, 2, (struct wordpiece_cut){3, 1}); /* inside hellos */
    expect_cut("he hellos he", 3, 3, (struct wordpiece_cut){10, 3});
    expect_cut("hellos he", 1, 1, (struct wordpiece_cut){6, 1}); /* never fits: it goes on */
    expect_cut("he[SEP] he", 1, 1, (struct wordpiece_cut){2, 1});
    expect_cut("he[SEP] he", 2, 2, (struct wordpiece_cut){8, 2});
    expect_cut("[SEP][SEP]", 1, 1, (struct wordpiece_cut){5, 1});
    expect_cut("H\u00e9,he", 2, 2, (struct wordpiece_cut){4, 2});
}
END_TEST

/* Past the stretch that is searched for tokens at once, and across its end. */
static void put(char *to, struct str bytes)
{
    memcpy(to, bytes.at, bytes.len);
}

START_TEST(long_texts)
{
    enum { WORDS = 5000 };
    static char text[WORDS * 6 + 16];
    static uint32_t ids[WORDS + 1];
    write_file(VOCAB, SMALL);
    open_it();
    for (size_t i = 0; i < WORDS; i++)
        put(text + i * 6, i % 7 == 6 ? STR("[SEP] ") : STR("hello "));
    ck_assert_uint_eq(wordpiece_encode(w, (struct str){text, WORDS * 6}, ids, WORDS, NULL), WORDS);
    for (size_t i = 0; i < WORDS; i++)
        ck_assert_uint_eq(ids[i], i % 7 == 6 ? 3 : 5);
    memset(text, 'a', WORDS * 6); /* a word that is longer than the stretch */
    put(text + WORDS * 6, STR("[SEP]hello"));
    ck_assert_uint_eq(wordpiece_encode(w, (struct str){text, WORDS * 6 + 10}, ids, 5, NULL), 3);
    ck_assert(ids[0] == 1 && ids[1] == 3 && ids[2] == 5);
}
END_TEST

START_TEST(longest_words)
{
    char text[300];
    write_file(VOCAB, SPECIAL "a\n##a\n");
    open_it();
    memset(text, 'a', sizeof text);
    ck_assert_uint_eq(wordpiece_encode(w, (struct str){text, 100}, NULL, UINT32_MAX, NULL), 100);
    ck_assert_uint_eq(wordpiece_encode(w, (struct str){text, 101}, NULL, UINT32_MAX, NULL), 1);
    write_file(CONFIG, "{'max_input_chars_per_word':250}");
    open_it();
    ck_assert_uint_eq(wordpiece_encode(w, (struct str){text, 250}, NULL, UINT32_MAX, NULL), 250);
    ck_assert_uint_eq(wordpiece_encode(w, (struct str){text, 251}, NULL, UINT32_MAX, NULL), 1);
}
END_TEST

static void load_while_failing(const char *from)
{
    for (unsigned long n = 1;; n++) {
        struct arena *arena = arena_new(64 << 20);
        struct wordpiece *loaded = NULL;
        ck_assert_ptr_nonnull(arena);
        arena_fail_after(arena, n);
        enum err_code code = wordpiece__load(arena, from, &loaded, &err);
        arena_free(arena);
        if (code == ERR_OK) {
            ck_assert(n > 5);
            return;
        }
        ck_assert_msg(code == ERR_EXHAUSTED, "allocation %lu: %s", n, err.message);
    }
}

START_TEST(no_memory)
{
    load_while_failing(GOLDEN_DIR "/tiny-bert-mean");
    load_while_failing(GOLDEN_DIR "/tiny-bert-cls");
}
END_TEST

Suite *suite_wordpiece(void)
{
    Suite *suite = suite_create("wordpiece");
    TCase *tc = tcase_create("wordpiece");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, pieces);
    tcase_add_test(tc, special_tokens_in_a_text);
    tcase_add_test(tc, lines);
    tcase_add_test(tc, settings);
    tcase_add_test(tc, tokenizer_json);
    tcase_add_test(tc, which_file_counts);
    tcase_add_test(tc, malformed_vocab);
    tcase_add_test(tc, malformed_config);
    tcase_add_test(tc, malformed_tokenizer);
    tcase_add_test(tc, too_many_added_tokens);
    tcase_add_test(tc, no_files);
    tcase_add_test(tc, cuts);
    tcase_add_test(tc, long_texts);
    tcase_add_test(tc, longest_words);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}
