/* Every id of every text, as the reference library makes them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/model/builtin/wordpiece.h"
#include "golden.h"

enum { IDS = 8192 };

static struct arena *arena;

static void setup(void)
{
    arena = arena_new(256 << 20);
    ck_assert_ptr_nonnull(arena);
}

static void teardown(void)
{
    arena_free(arena);
}

static struct wordpiece *opened(const char *dir)
{
    struct wordpiece *w = NULL;
    struct err err;
    ck_assert_msg(wordpiece_open(dir, &w, &err) == ERR_OK, "%s", err.message);
    return w;
}

static void expect_row(const struct wordpiece *w, struct str text, const uint16_t *row, uint32_t n,
                       uint32_t number)
{
    static uint32_t ids[IDS];
    struct wordpiece_cut cut;
    uint32_t got = wordpiece_encode(w, text, ids, IDS, &cut);
    ck_assert_msg(got + 2 == n, "text %u has %u ids, not %u", number, got, n - 2);
    ck_assert_uint_eq(row[0], wordpiece_id(w, WORDPIECE_CLS));
    ck_assert_uint_eq(row[n - 1], wordpiece_id(w, WORDPIECE_SEP));
    for (uint32_t i = 0; i < got; i++)
        ck_assert_msg(ids[i] == row[i + 1], "text %u: id %u is %u, not %u", number, i, ids[i],
                      row[i + 1]);
    ck_assert_uint_eq(cut.ids, got);
    ck_assert_uint_eq(cut.bytes, text.len);
    ck_assert_uint_eq(wordpiece_encode(w, text, NULL, UINT32_MAX, NULL), got);
}

/* However little room there is: the first ids; and the pieces, one behind the other, are the whole
 * wherever no word had to be broken. */
static void expect_pieces(const struct wordpiece *w, struct str text, const uint16_t *row,
                          uint32_t n, uint32_t most)
{
    static uint32_t ids[IDS];
    struct wordpiece_cut cut = {0};
    uint32_t done = 0;
    for (size_t at = 0; at < text.len; at += cut.bytes) {
        struct str rest = str_part(text, at, text.len);
        uint32_t got = wordpiece_encode(w, rest, ids, most, &cut);
        ck_assert(got <= most && cut.ids <= got && cut.bytes > 0 && cut.bytes <= rest.len);
        ck_assert(done + got <= n - 2);
        for (uint32_t i = 0; i < got; i++)
            ck_assert_uint_eq(ids[i], row[done + i + 1]);
        done += cut.ids;
    }
    ck_assert_uint_eq(done, n - 2);
}

static void expect_golden(const char *dir, const char *name)
{
    struct wordpiece *w = opened(dir);
    struct golden_texts texts = golden_texts(arena);
    struct golden_ids ids = golden_ids(arena, name, false);
    ck_assert_uint_eq(texts.n, 500);
    ck_assert_uint_eq(ids.n, texts.n);
    for (uint32_t i = 0; i < texts.n; i++) {
        expect_row(w, texts.at[i], ids.rows[i], ids.len[i], i);
        /* No word of any text has more pieces than a word has characters. */
        expect_pieces(w, texts.at[i], ids.rows[i], ids.len[i], 100);
    }
    wordpiece_free(w);
}

START_TEST(lower_case_by_vocab_txt)
{
    expect_golden(GOLDEN_DIR "/tiny-bert-mean", "tiny-bert-mean.ids.bin");
}
END_TEST

START_TEST(cased_by_tokenizer_json)
{
    expect_golden(GOLDEN_DIR "/tiny-bert-cls", "tiny-bert-cls.ids.bin");
}
END_TEST

START_TEST(the_default_model)
{
    expect_golden(golden_minilm(), "all-MiniLM-L6-v2.ids.bin");
}
END_TEST

/* tokenizer.json goes first where both are there; vocab.txt alone must give the same. */
START_TEST(the_default_model_by_vocab_txt)
{
    static const char *const names[] = {"vocab.txt", "tokenizer_config.json"};
    char dir[] = "/tmp/hmtest-XXXXXX", from[8192], to[2][64];
    char *here = realpath(golden_minilm(), NULL);
    ck_assert_ptr_nonnull(here);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(from, sizeof from, "%s/%s", here, names[i]);
        (void)snprintf(to[i], sizeof to[i], "%s/%s", dir, names[i]);
        ck_assert_int_eq(symlink(from, to[i]), 0);
    }
    expect_golden(dir, "all-MiniLM-L6-v2.ids.bin");
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(unlink(to[i]), 0);
    ck_assert_int_eq(rmdir(dir), 0);
    free(here);
}
END_TEST

/* Both sides as they are in the pairs, cut by the rule of the reference or not. */
START_TEST(sides_of_pairs)
{
    static uint32_t ids[IDS];
    struct wordpiece *w = opened(GOLDEN_DIR "/tiny-cross");
    struct golden_texts texts = golden_pairs(arena);
    struct golden_ids pairs = golden_ids(arena, "tiny-cross.pairs.bin", true);
    ck_assert_uint_eq(pairs.n, 200);
    ck_assert_uint_eq(texts.n, 2 * pairs.n);
    for (uint32_t i = 0; i < pairs.n; i++) {
        uint32_t at = 1;
        for (uint32_t side = 0; side < 2; side++, at++) {
            uint32_t got = wordpiece_encode(w, texts.at[2 * i + side], ids, IDS, NULL);
            for (uint32_t j = 0; j < got && at + 1 < pairs.len[i]; j++, at++) {
                if (pairs.len[i] == pairs.most && pairs.kinds[i][at + 1] != side)
                    break; /* the next is the separator: cut here */
                ck_assert_msg(pairs.rows[i][at] == ids[j], "pair %u, side %u, id %u", i, side, j);
            }
            ck_assert_uint_eq(pairs.rows[i][at], wordpiece_id(w, WORDPIECE_SEP));
        }
        ck_assert_uint_eq(at, pairs.len[i]);
    }
    wordpiece_free(w);
}
END_TEST

Suite *suite_wordpiece_golden(void)
{
    Suite *suite = suite_create("wordpiece_golden");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, lower_case_by_vocab_txt);
    tcase_add_test(all, cased_by_tokenizer_json);
    tcase_add_test(all, the_default_model);
    tcase_add_test(all, the_default_model_by_vocab_txt);
    tcase_add_test(all, sides_of_pairs);
    suite_add_tcase(suite, all);
    return suite;
}
