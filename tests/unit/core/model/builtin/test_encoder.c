/* What an encoder is opened from, what it says of itself, long texts, prefixes, ends. Numbers are
 * compared with the reference in test_encoder_golden.c. */
#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/model/builtin/bert.h"
#include "core/model/builtin/encoder.h"
#include "core/model/builtin/safetensors.h"
#include "core/model/builtin/wordpiece.h"
#include "golden.h"

enum { DIMENSION_MOST = 64, PATH_BYTES = 256 };

static struct arena *arena;
static char dir[] = "/tmp/hmtest-XXXXXX";

static const char *const files[] = {
    "config.json",
    "model.safetensors",
    "vocab.txt",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
};

static const char *path_of(const char *file)
{
    static char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", dir, file);
    return path;
}

static void setup(void)
{
    arena = arena_new(256 << 20);
    ck_assert_ptr_nonnull(arena);
    (void)snprintf(dir, sizeof dir, "/tmp/hmtest-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(mkdir(path_of("1_Pooling"), 0700), 0);
}

static void teardown(void)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        (void)unlink(path_of(files[i]));
    ck_assert_int_eq(rmdir(path_of("1_Pooling")), 0);
    ck_assert_int_eq(rmdir(dir), 0);
    arena_free(arena);
}

static void put(const char *file, struct str bytes)
{
    FILE *out = fopen(path_of(file), "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes.at, 1, bytes.len, out), bytes.len);
    ck_assert_int_eq(fclose(out), 0);
}

static struct str golden_file(const char *model, const char *file)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s/%s", GOLDEN_DIR, model, file);
    return golden_bytes(arena, path);
}

/* A copy of a golden model in the directory, where tests may change it. */
static void copy_model(const char *model)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, "%s/%s/%s", GOLDEN_DIR, model, files[i]);
        if (access(path, R_OK) == 0)
            put(files[i], golden_file(model, files[i]));
    }
}

/* `old` in a file of the copy, once, becomes `new`. */
static void change(const char *file, const char *old, const char *new)
{
    struct str text = golden_bytes(arena, path_of(file));
    struct buf out;
    const char *at = memmem(text.at, text.len, old, strlen(old));
    ck_assert_msg(at != NULL, "%s has no %s", file, old);
    size_t before = (size_t)(at - text.at);
    buf_init(&out, arena, 64 << 20);
    buf_put(&out, text.at, before);
    buf_str_put(&out, str_of(new));
    buf_str_put(&out, str_part(text, before + strlen(old), text.len));
    put(file, buf_str(&out));
}

static struct encoder *opened(const char *at)
{
    struct encoder *e = NULL;
    struct err err;
    ck_assert_msg(encoder_open(at, &e, &err) == ERR_OK, "%s", err.message);
    return e;
}

static void expect_refused(enum err_code code, const char *says)
{
    struct encoder *e;
    struct err err = {.message = ""};
    enum err_code is = encoder_open(dir, &e, &err);
    ck_assert_ptr_null(e);
    ck_assert_msg(is == code, "%s: %s", err_slug(is), err.message);
    ck_assert_msg(strstr(err.message, says) != NULL, "%s", err.message);
}

static void embed(const struct encoder *e, struct encoder_texts *ask, float *vectors)
{
    struct err err;
    ask->vectors = vectors;
    ck_assert_msg(encoder_embed(e, ask, &err) == ERR_OK, "%s", err.message);
}

static void embed_one(const struct encoder *e, struct str text, bool truncate, float *vector)
{
    struct encoder_texts ask = {.texts = &text, .n = 1, .truncate = truncate};
    embed(e, &ask, vector);
}

static double dot(const float *a, const float *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* --- opening --- */

START_TEST(what_it_says)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-mean");
    const struct encoder_about *about = encoder_about(e);
    ck_assert(str_eq(about->name, STR("tiny-bert-mean")));
    ck_assert_uint_eq(about->dimension, 32);
    ck_assert_uint_eq(about->max_tokens, 64);
    ck_assert(!about->has_head && about->query_prompt.len == 0 && about->document_prompt.len == 0);
    ck_assert_uint_gt(about->file_bytes, 100000);
    ck_assert_uint_le(about->scratch_bytes, 8 << 20);
    encoder_close(e);
    e = opened(GOLDEN_DIR "/tiny-cross");
    ck_assert(encoder_about(e)->has_head);
    ck_assert_uint_eq(encoder_about(e)->max_tokens, 64);
    encoder_close(e);
    encoder_close(NULL);
}
END_TEST

START_TEST(files_that_lack)
{
    expect_refused(ERR_NOT_FOUND, "config.json");
    put("config.json", golden_file("tiny-bert-mean", "config.json"));
    expect_refused(ERR_NOT_FOUND, "model.safetensors");
    put("model.safetensors", golden_file("tiny-bert-mean", "model.safetensors"));
    expect_refused(ERR_NOT_FOUND, "vocab.txt");
    put("vocab.txt", golden_file("tiny-bert-mean", "vocab.txt"));
    struct encoder *e = opened(dir); /* the others have usual values */
    ck_assert_str_eq(encoder_about(e)->pooling, "mean");
    ck_assert_uint_eq(encoder_about(e)->max_tokens, 64);
    encoder_close(e);
}
END_TEST

static const struct {
    const char *file, *old, *new, *says;
} refused[] = {
    {"config.json", "\"bert\"", "\"roberta\"", "model_type 'roberta'"},
    {"config.json", "\"absolute\"", "\"relative_key\"", "position_embedding_type 'relative_key'"},
    {"config.json", "\"gelu\"", "\"swish\"", "hidden_act 'swish'"},
    {"config.json", "{", "[", "config.json is no JSON"},
    {"config.json", "\"hidden_size\": 48", "\"hidden_size\": 0", "hidden_size"},
    {"config.json", "\"hidden_size\": 48", "\"hidden_size\": \"48\"", "hidden_size"},
    {"config.json", "\"num_attention_heads\": 3", "\"num_attention_heads\": 5", "multiple"},
    {"config.json", "1e-12", "-1", "layer_norm_eps"},
    {"config.json", "1e-12", "1e-120", "layer_norm_eps"},
    {"config.json", "1e-12", "0.999999999999", "layer_norm_eps"},
    {"config.json", "\"type_vocab_size\": 2", "\"type_vocab_size\": 3", "type_vocab_size"},
    {"config.json", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4", "layer 3"},
    {"config.json", "\"intermediate_size\": 80", "\"intermediate_size\": 88", "is not 88 x 48"},
    {"config.json", "\"max_position_embeddings\": 64", "\"max_position_embeddings\": 65",
     "is not 65 x 48"},
    {"config.json", "\"use_cache\"", "\"is_decoder\": true, \"use_cache\"", "decoder"},
    {"model.safetensors", "encoder.layer.2.output.dense.bias", "encoder.layer.2.output.dense.bi_s",
     "'output.dense.bias' of layer 2 is missing"},
    {"model.safetensors", "embeddings.LayerNorm.bias", "embeddings.LayerNorm.bi_s", "is missing"},
    {"model.safetensors", "{\"", "[\"", "no JSON"},
    {"modules.json", ".Normalize", ".Dense", "'Dense' is not supported"},
    {"modules.json", "\"1_Pooling\"", "\"../1_Pooling\"", "module without type or path"},
    {"modules.json", "[", "{", "no JSON"},
    {"1_Pooling/config.json", "\"pooling_mode_mean_tokens\": false",
     "\"pooling_mode_mean_tokens\": true", "only mean or cls"},
    {"1_Pooling/config.json", "\"pooling_mode_cls_token\": true",
     "\"pooling_mode_cls_token\": false", "only mean or cls"},
    {"1_Pooling/config.json", "\"pooling_mode_max_tokens\": false", "\"include_prompt\": false",
     "prompts"},
    {"sentence_bert_config.json", "64", "2", "max_seq_length"},
    {"sentence_bert_config.json", "false", "true", "keeps case"},
    {"tokenizer_config.json", "64", "2", "model_max_length"},
    {"tokenizer.json", "BertPreTokenizer", "OtherPreTokens!!", "tokenizer.json"},
    {"config_sentence_transformers.json", "{", "(", "no JSON"},
};

START_TEST(models_that_are_refused)
{
    copy_model("tiny-bert-cls");
    encoder_close(opened(dir));
    change(refused[_i].file, refused[_i].old, refused[_i].new);
    expect_refused(ERR_INVALID, refused[_i].says);
}
END_TEST

/* Every file of a model, cut off anywhere, is refused or of no matter; nothing is touched that is
 * not there. */
START_TEST(files_cut_off)
{
    copy_model("tiny-bert-cls");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (access(path_of(files[i]), R_OK) != 0)
            continue;
        struct str whole = golden_file("tiny-bert-cls", files[i]);
        for (size_t k = 0; k < 24; k++) {
            struct encoder *e;
            struct err err;
            put(files[i], str_part(whole, 0, whole.len * k / 24));
            enum err_code code = encoder_open(dir, &e, &err);
            ck_assert_msg(code == ERR_OK || code == ERR_INVALID || code == ERR_NOT_FOUND, "%s: %s",
                          files[i], err.message);
            ck_assert(code == ERR_INVALID || strcmp(files[i], "model.safetensors") != 0);
            encoder_close(e);
        }
        put(files[i], whole);
    }
}
END_TEST

static uint64_t print_of(void)
{
    struct encoder *e = opened(dir);
    uint64_t print = encoder_about(e)->fingerprint;
    encoder_close(e);
    return print;
}

/* What vectors depend on changes the fingerprint; where the model lies does not. */
START_TEST(fingerprints)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-cls");
    uint64_t at_home = encoder_about(e)->fingerprint;
    encoder_close(e);
    copy_model("tiny-bert-cls");
    ck_assert_uint_eq(print_of(), at_home);
    change("config.json", "\"gelu\"", "\"relu\"");
    uint64_t relu = print_of();
    ck_assert_uint_ne(relu, at_home);
    put("config.json", golden_file("tiny-bert-cls", "config.json"));
    ck_assert_uint_eq(print_of(), at_home);
    change("sentence_bert_config.json", "64", "63");
    ck_assert_uint_ne(print_of(), at_home);
    put("sentence_bert_config.json", golden_file("tiny-bert-cls", "sentence_bert_config.json"));
    change("tokenizer_config.json", "\"do_lower_case\": false", "\"do_lower_case\": true");
    ck_assert_uint_ne(print_of(), at_home);
    put("tokenizer_config.json", golden_file("tiny-bert-cls", "tokenizer_config.json"));
    struct str weights = golden_file("tiny-bert-cls", "model.safetensors");
    char *changed = arena_copy(arena, weights.at, weights.len);
    size_t header = (size_t)le64_get(changed) + 8;
    changed[header + 1] ^= 1; /* in the first stripe */
    put("model.safetensors", (struct str){changed, weights.len});
    ck_assert_uint_ne(print_of(), at_home);
}
END_TEST

START_TEST(prompts_and_limits)
{
    copy_model("tiny-bert-cls");
    change("config_sentence_transformers.json", "{",
           "{\"prompts\":{\"query\":\"query: \",\"passage\":\"passage: \"},");
    change("sentence_bert_config.json", "64", "17");
    struct encoder *e = opened(dir);
    ck_assert(str_eq(encoder_about(e)->query_prompt, STR("query: ")));
    ck_assert(str_eq(encoder_about(e)->document_prompt, STR("passage: ")));
    ck_assert_uint_eq(encoder_about(e)->max_tokens, 17);
    encoder_close(e);
    put("sentence_bert_config.json", STR("{}")); /* then the tokenizer's, */
    change("tokenizer_config.json", "64", "31");
    e = opened(dir);
    ck_assert_uint_eq(encoder_about(e)->max_tokens, 31);
    encoder_close(e);
    change("tokenizer_config.json", "31", "1e30"); /* if it has one, else the model's */
    e = opened(dir);
    ck_assert_uint_eq(encoder_about(e)->max_tokens, 64);
    encoder_close(e);
}
END_TEST

START_TEST(poolings)
{
    copy_model("tiny-bert-cls");
    static const char *const words[] = {"{\"pooling_mode\":\"mean\"}",
                                        "{\"pooling_mode_mean_tokens\":true}",
                                        "{\"pooling_mode_mean_sqrt_len_tokens\":true}"};
    float cls[DIMENSION_MOST], mean[3][DIMENSION_MOST];
    struct encoder *e = opened(dir);
    embed_one(e, STR("Tulips and a trumpet."), false, cls);
    encoder_close(e);
    for (size_t i = 0; i < 3; i++) {
        put("1_Pooling/config.json", str_of(words[i]));
        e = opened(dir);
        ck_assert_str_eq(encoder_about(e)->pooling, "mean");
        embed_one(e, STR("Tulips and a trumpet."), false, mean[i]);
        encoder_close(e);
        ck_assert(fabs(dot(mean[i], mean[0], 48) - 1) < 1e-6);
    }
    ck_assert(dot(cls, mean[0], 48) < 0.999);
    put("1_Pooling/config.json", STR("{\"pooling_mode\":\"lasttoken\"}"));
    expect_refused(ERR_INVALID, "only mean or cls");
}
END_TEST

/* Names as TensorFlow's checkpoints have them: the same model. */
START_TEST(older_names)
{
    float now[DIMENSION_MOST], then[DIMENSION_MOST];
    copy_model("tiny-bert-cls");
    struct encoder *e = opened(dir);
    embed_one(e, STR("tulips"), false, now);
    encoder_close(e);
    change("model.safetensors", "embeddings.LayerNorm.weight\":{",
           "embeddings.LayerNorm.gamma\": {");
    change("model.safetensors", "embeddings.LayerNorm.bias\":{", "embeddings.LayerNorm.beta\":{");
    e = opened(dir);
    embed_one(e, STR("tulips"), false, then);
    encoder_close(e);
    for (int i = 0; i < 48; i++)
        ck_assert(now[i] == then[i]);
}
END_TEST

/* --- the ways to multiply --- */

/* Every set of row operations, with OpenBLAS and without, gives the same of all golden texts. */
START_TEST(ways_agree)
{
    enum { SEQUENCES = 40, TOKENS = 900, MOST = 64 };
    static uint32_t ids[TOKENS], starts[SEQUENCES + 1];
    static float vectors[2 * 8][SEQUENCES * DIMENSION_MOST];
    struct err err;
    struct safetensors *file;
    struct bert *bert;
    struct bert_config config;
    char path[PATH_BYTES];
    const char *model = _i == 0 ? "tiny-bert-mean" : "tiny-bert-cls";
    (void)snprintf(path, sizeof path, "%s/%s/model.safetensors", GOLDEN_DIR, model);
    ck_assert_int_eq(
        bert_config_read(arena, golden_file(model, "config.json"), "config", &config, &err),
        ERR_OK);
    ck_assert_int_eq(safetensors_open(path, &file, &err), ERR_OK);
    ck_assert_int_eq(bert_new(&config, file, path, &bert, &err), ERR_OK);
    uint32_t n = 0;
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        starts[i] = n;
        n += i < 4 ? i + 1 : i < 6 ? MOST : 5 + i * 7 % 13;
    }
    starts[SEQUENCES] = n;
    ck_assert_uint_le(n, TOKENS);
    for (uint32_t i = 0; i < n; i++)
        ids[i] = i * 7919 % config.vocabulary;
    const struct bert_batch batch = {SEQUENCES, starts, ids, NULL};
    void *scratch = aligned_alloc(64, bert_scratch_bytes(bert, n, MOST));
    ck_assert_ptr_nonnull(scratch);
    uint32_t ways = 0;
    const struct rowops *ops;
    for (size_t i = 0; (ops = rowops_at(i)) != NULL; i++) {
        for (int blas = 0; blas <= (linear_choose(NULL).blas ? 1 : 0); blas++) {
            bert_set_linear(bert, (struct linear){.ops = ops, .blas = blas != 0});
            bert_run(bert, &batch, _i == 0 ? BERT_MEAN : BERT_CLS, scratch, vectors[ways++]);
        }
    }
    for (uint32_t way = 1; way < ways; way++) {
        for (uint32_t i = 0; i < SEQUENCES * config.hidden; i++)
            ck_assert_msg(fabsf(vectors[way][i] - vectors[0][i]) < 2e-5f, "way %u: %g, not %g", way,
                          (double)vectors[way][i], (double)vectors[0][i]);
    }
    free(scratch);
    bert_free(bert);
    safetensors_close(file);
}
END_TEST

/* --- texts --- */

static struct str repeated(const char *text, size_t times)
{
    struct buf out;
    buf_init(&out, arena, 16 << 20);
    for (size_t i = 0; i < times; i++)
        buf_str_put(&out, str_of(text));
    ck_assert(buf_ok(&out));
    return str_copy(arena, buf_str(&out)); /* with a NUL behind it */
}

/* The vector of a long text is the mean of its parts', weighted by their tokens; the first part
 * alone is what `truncate` gives. */
START_TEST(long_texts_keep_their_tail)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-mean");
    struct str head = repeated("We went to the market and bought red apples. ", 40);
    struct str text =
        str_printf(arena, "%s%s", head.at, repeated("The trumpet was loud all night! ", 200).at);
    float whole[DIMENSION_MOST], cut[DIMENSION_MOST], first[DIMENSION_MOST], tail[DIMENSION_MOST];
    embed_one(e, text, false, whole);
    embed_one(e, text, true, cut);
    embed_one(e, head, true, first);
    embed_one(e, STR("The trumpet was loud all night! The trumpet was loud all night!"), true,
              tail);
    ck_assert(fabs(dot(cut, first, 32) - 1) < 1e-6);
    ck_assert(fabs(dot(whole, whole, 32) - 1) < 1e-6);
    ck_assert(dot(whole, tail, 32) > dot(cut, tail, 32) + 0.01);
    ck_assert(dot(whole, cut, 32) < 0.99);
    encoder_close(e);
}
END_TEST

/* As many of these sentences as the model takes. */
static struct str filling(const struct encoder *e, const char *sentence, uint32_t room)
{
    size_t times = 1;
    while (encoder_count(e, repeated(sentence, times + 1)) <= room)
        times++;
    return repeated(sentence, times);
}

/* Parts by hand: no sentence of the second fits into what the first leaves. */
START_TEST(parts_are_weighted)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-mean");
    uint32_t room = encoder_about(e)->max_tokens - 2, n[2];
    struct str parts[2] = {filling(e, "A cat slept. ", room),
                           filling(e, "We bought apples. ", room)};
    float one[DIMENSION_MOST], two[DIMENSION_MOST], whole[DIMENSION_MOST], should[DIMENSION_MOST];
    for (int i = 0; i < 2; i++)
        n[i] = encoder_count(e, parts[i]);
    embed_one(e, parts[0], false, one);
    embed_one(e, parts[1], false, two);
    embed_one(e, str_printf(arena, "%s%s", parts[0].at, parts[1].at), false, whole);
    for (int i = 0; i < 32; i++)
        should[i] = (float)(n[0] + 2) * one[i] + (float)(n[1] + 2) * two[i];
    ck_assert(fabs(dot(whole, should, 32) / sqrt(dot(should, should, 32)) - 1) < 1e-6);
    encoder_close(e);
}
END_TEST

/* Words without end, white space without end, one byte more than fits, nothing. */
START_TEST(odd_texts)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-cls");
    struct str texts[] = {
        STR(""),
        STR(" \n\t "),
        repeated("x", 100000),
        repeated(" ", 100000),
        repeated("a ", 62),
        repeated("a ", 63),
        repeated("\xe6\xbc\xa2", 500),
        repeated("!?", 3000),
        str_printf(arena, "%s%s", repeated("a ", 200).at, repeated(" ", 5000).at),
        STR("\0\0a\0"),
    };
    enum { N = sizeof texts / sizeof texts[0] };
    float vectors[N * DIMENSION_MOST], again[DIMENSION_MOST];
    struct encoder_texts ask = {.texts = texts, .n = N};
    embed(e, &ask, vectors);
    for (uint32_t i = 0; i < N; i++) {
        const float *v = vectors + (size_t)i * 48;
        ck_assert_msg(fabs(dot(v, v, 48) - 1) < 1e-5, "text %u", i);
        embed_one(e, texts[i], false, again);
        ck_assert_msg(fabs(dot(v, again, 48) - 1) < 1e-5, "text %u", i);
    }
    ck_assert(fabs(dot(vectors, vectors + 48, 48) - 1) < 1e-6);     /* blank is empty, */
    ck_assert(fabs(dot(vectors, vectors + 3 * 48, 48) - 1) < 1e-6); /* however long */
    embed_one(e, repeated("a ", 200), false, again);
    ck_assert(fabs(dot(vectors + 8 * 48, again, 48) - 1) < 1e-6); /* and at the end of another */
    encoder_close(e);
}
END_TEST

START_TEST(no_texts)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-cross");
    struct err err;
    struct encoder_texts texts = {.n = 0};
    struct encoder_pairs pairs = {.query = STR("why"), .n = 0};
    ck_assert_int_eq(encoder_embed(e, &texts, &err), ERR_OK);
    ck_assert_uint_eq(texts.tokens, 0);
    ck_assert_int_eq(encoder_score(e, &pairs, &err), ERR_OK);
    ck_assert_uint_eq(pairs.tokens, 0);
    encoder_close(e);
}
END_TEST

START_TEST(prefixes)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-mean");
    struct err err;
    float with[DIMENSION_MOST], by_hand[DIMENSION_MOST], without[DIMENSION_MOST];
    struct str text = STR("where are the apples?");
    struct encoder_texts ask = {.texts = &text, .n = 1, .prefix = STR("query: ")};
    embed(e, &ask, with);
    embed_one(e, STR("query: where are the apples?"), true, by_hand);
    embed_one(e, text, true, without);
    ck_assert(fabs(dot(with, by_hand, 32) - 1) < 1e-6);
    ck_assert(dot(with, without, 32) < 0.999);
    ask.prefix = repeated("word ", 40);
    ask.vectors = with;
    ck_assert_int_eq(encoder_embed(e, &ask, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "prefix"));
    encoder_close(e);
}
END_TEST

/* However few tokens a model takes, beside the longest prefix there is room for some text. */
START_TEST(prefixes_leave_room)
{
    copy_model("tiny-bert-cls");
    for (uint32_t tokens = 4; tokens < 10; tokens++) {
        char told[64];
        struct err err;
        float out[DIMENSION_MOST];
        (void)snprintf(told, sizeof told, "{\"max_seq_length\":%u}", tokens);
        put("sentence_bert_config.json", str_of(told));
        struct encoder *e = opened(dir);
        uint32_t most = encoder_about(e)->prefix_tokens;
        struct str text = STR("where are the apples?");
        struct encoder_texts ask = {.texts = &text, .n = 1, .prefix = repeated("a ", most)};
        embed(e, &ask, out);
        ask.prefix = repeated("a ", most + 1);
        ask.vectors = out;
        ck_assert_int_eq(encoder_embed(e, &ask, &err), ERR_INVALID);
        encoder_close(e);
    }
}
END_TEST

/* More texts than a group holds, in one call. */
START_TEST(many_texts)
{
    enum { MANY = 3000 };
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-mean");
    struct golden_texts golden = golden_texts(arena);
    struct str *texts = ARENA_ARRAY(arena, struct str, MANY);
    float *vectors = ARENA_ARRAY(arena, float, (size_t)MANY * 32);
    float one[DIMENSION_MOST];
    for (uint32_t i = 0; i < MANY; i++)
        texts[i] = golden.at[i * 7 % golden.n];
    struct encoder_texts ask = {.texts = texts, .n = MANY};
    embed(e, &ask, vectors);
    ck_assert_uint_gt(ask.tokens, 16384);
    for (uint32_t i = 0; i < MANY; i += 97) {
        embed_one(e, texts[i], false, one);
        ck_assert_msg(fabs(dot(one, vectors + (size_t)i * 32, 32) - 1) < 1e-5, "text %u", i);
    }
    encoder_close(e);
}
END_TEST

/* --- ends --- */

struct patience {
    unsigned asked, stops_at;
};

static bool stops(void *arg)
{
    struct patience *p = arg;
    return ++p->asked >= p->stops_at;
}

START_TEST(a_call_is_stopped)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-cross");
    struct str texts[200];
    float out[200 * DIMENSION_MOST];
    struct err err;
    for (int i = 0; i < 200; i++)
        texts[i] = STR("some apples and a trumpet on the market");
    for (unsigned at = 1; at <= 2; at++) {
        struct patience p = {0, at};
        struct encoder_texts ask = {
            .texts = texts, .n = 200, .stop = stops, .arg = &p, .vectors = out};
        ck_assert_int_eq(encoder_embed(e, &ask, &err), ERR_UNAVAILABLE);
        ck_assert_uint_eq(p.asked, at);
        struct patience q = {0, at};
        struct encoder_pairs pairs = {.query = texts[0],
                                      .documents = texts,
                                      .n = 200,
                                      .stop = stops,
                                      .arg = &q,
                                      .logits = out};
        ck_assert_int_eq(encoder_score(e, &pairs, &err), ERR_UNAVAILABLE);
        ck_assert_uint_eq(q.asked, at);
    }
    /* Before each text, too: nothing is run yet while long ones are taken apart. */
    struct patience p = {0, UINT_MAX}, q = {0, UINT_MAX};
    struct encoder_texts ask = {.texts = texts, .n = 200, .stop = stops, .arg = &p, .vectors = out};
    ck_assert_int_eq(encoder_embed(e, &ask, &err), ERR_OK);
    struct encoder_pairs pairs = {
        .query = texts[0], .documents = texts, .n = 200, .stop = stops, .arg = &q, .logits = out};
    ck_assert_int_eq(encoder_score(e, &pairs, &err), ERR_OK);
    ck_assert_uint_gt(p.asked, 200);
    ck_assert_uint_gt(q.asked, 200);
    encoder_close(e);
}
END_TEST

START_TEST(scores_want_a_head)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-mean");
    struct str document = STR("apples");
    float logit;
    struct err err;
    struct encoder_pairs ask = {
        .query = STR("fruit"), .documents = &document, .n = 1, .logits = &logit};
    ck_assert_int_eq(encoder_score(e, &ask, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "head"));
    encoder_close(e);
}
END_TEST

/* Weights that are no numbers give an error, no vector of them. */
START_TEST(weights_that_are_no_numbers)
{
    copy_model("tiny-cross");
    struct str weights = golden_file("tiny-cross", "model.safetensors");
    char *changed = arena_copy(arena, weights.at, weights.len);
    size_t header = (size_t)le64_get(changed) + 8;
    memset(changed + header, 0xff, weights.len - header); /* NaN */
    put("model.safetensors", (struct str){changed, weights.len});
    struct encoder *e = opened(dir);
    struct str text = STR("apples");
    float out[DIMENSION_MOST];
    struct err err;
    struct encoder_texts ask = {.texts = &text, .n = 1, .vectors = out};
    ck_assert_int_eq(encoder_embed(e, &ask, &err), ERR_INVALID);
    struct encoder_pairs pairs = {.query = text, .documents = &text, .n = 1, .logits = out};
    ck_assert_int_eq(encoder_score(e, &pairs, &err), ERR_INVALID);
    encoder_close(e);
}
END_TEST

/* Makes the word of `text`, which is one token, no number in the copy's weights. */
static void spoil_word(const char *model, struct str text)
{
    struct str weights = golden_file(model, "model.safetensors");
    char *copy = arena_copy(arena, weights.at, weights.len);
    struct str changed = {copy, weights.len};
    struct wordpiece *wordpiece;
    struct safetensors *file;
    struct err err;
    uint32_t id;
    ck_assert_int_eq(wordpiece_open(dir, &wordpiece, &err), ERR_OK);
    ck_assert_uint_eq(wordpiece_encode(wordpiece, text, &id, 1, NULL), 1);
    wordpiece_free(wordpiece);
    ck_assert_int_eq(safetensors_of(changed, "copy", &file, &err), ERR_OK);
    const struct tensor *words = safetensors_find(file, STR("embeddings.word_embeddings.weight"));
    ck_assert_ptr_nonnull(words);
    size_t row = words->bytes / (size_t)words->shape[0];
    size_t at = (size_t)((const char *)words->at - changed.at) + id * row;
    safetensors_close(file);
    memset(copy + at, 0xff, row); /* NaN */
    put("model.safetensors", changed);
}

/* A text that the weights give no number for has zeros, and the others have their vectors. */
START_TEST(a_text_fails_alone)
{
    copy_model("tiny-bert-mean");
    spoil_word("tiny-bert-mean", STR("q"));
    struct encoder *e = opened(dir);
    uint32_t n = encoder_about(e)->dimension;
    struct str texts[] = {STR("apples"), STR("a q stands here"), STR("on the market")};
    float out[3 * DIMENSION_MOST] = {0};
    struct err err;
    struct encoder_texts ask = {.texts = texts, .n = 3, .vectors = out};
    ck_assert_int_eq(encoder_embed(e, &ask, &err), ERR_OK);
    ck_assert_uint_eq(ask.failed, 1);
    for (uint32_t i = 0; i < 3; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < n; k++)
            sum += (double)out[i * n + k] * (double)out[i * n + k];
        ck_assert_double_eq_tol(sum, i == 1 ? 0 : 1, 1e-4);
    }
    ask = (struct encoder_texts){.texts = texts + 1, .n = 1, .vectors = out};
    ck_assert_int_eq(encoder_embed(e, &ask, &err), ERR_INVALID);
    encoder_close(e);
}
END_TEST

START_TEST(counts)
{
    struct encoder *e = opened(GOLDEN_DIR "/tiny-bert-mean");
    struct golden_texts texts = golden_texts(arena);
    struct golden_ids ids = golden_ids(arena, "tiny-bert-mean.ids.bin", false);
    for (uint32_t i = 0; i < texts.n; i++)
        ck_assert_uint_eq(encoder_count(e, texts.at[i]) + 2, ids.len[i]);
    encoder_close(e);
}
END_TEST

Suite *suite_encoder(void)
{
    Suite *suite = suite_create("encoder");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, what_it_says);
    tcase_add_test(all, files_that_lack);
    tcase_add_loop_test(all, models_that_are_refused, 0, (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(all, files_cut_off);
    tcase_add_test(all, fingerprints);
    tcase_add_test(all, prompts_and_limits);
    tcase_add_test(all, poolings);
    tcase_add_test(all, older_names);
    tcase_add_loop_test(all, ways_agree, 0, 2);
    tcase_add_test(all, long_texts_keep_their_tail);
    tcase_add_test(all, parts_are_weighted);
    tcase_add_test(all, odd_texts);
    tcase_add_test(all, no_texts);
    tcase_add_test(all, prefixes);
    tcase_add_test(all, prefixes_leave_room);
    tcase_add_test(all, many_texts);
    tcase_add_test(all, a_call_is_stopped);
    tcase_add_test(all, scores_want_a_head);
    tcase_add_test(all, weights_that_are_no_numbers);
    tcase_add_test(all, a_text_fails_alone);
    tcase_add_test(all, counts);
    suite_add_tcase(suite, all);
    return suite;
}
