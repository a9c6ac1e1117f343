/* Files of tensors: what is found in a sound one, and what is refused in each that is not. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/model/builtin/safetensors.h"
#include "golden.h"

/* A file in memory: length, header, `data` bytes. Padded as the format's writers do. */
static struct str file_of(struct buf *out, const char *header, size_t data)
{
    size_t len = strlen(header), padded = (len + 7) / 8 * 8;
    buf_clear(out);
    buf_u64(out, padded);
    buf_put(out, header, len);
    for (size_t i = len; i < padded; i++)
        buf_char(out, ' ');
    for (size_t i = 0; i < data; i++)
        buf_u8(out, (uint8_t)i);
    ck_assert(buf_ok(out));
    return buf_str(out);
}

static enum err_code read_one(const char *header, size_t data, struct err *err)
{
    struct buf out;
    struct safetensors *file;
    buf_init(&out, NULL, 1 << 20);
    enum err_code code = safetensors_of(file_of(&out, header, data), "f", &file, err);
    ck_assert((code == ERR_OK) == (file != NULL));
    if (file != NULL)
        safetensors_check(file);
    safetensors_close(file);
    buf_fini(&out);
    return code;
}

START_TEST(what_is_in_a_file)
{
    struct buf out;
    struct err err;
    struct safetensors *file;
    buf_init(&out, NULL, 1 << 20);
    struct str bytes = file_of(&out,
                               "{\"__metadata__\":{\"format\":\"pt\"},"
                               "\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
                               "\"a\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]},"
                               "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[32,40]},"
                               "\"new\":{\"dtype\":\"F4\",\"shape\":[9],\"data_offsets\":[40,45]}}",
                               48);
    ck_assert_int_eq(safetensors_of(bytes, "f", &file, &err), ERR_OK);
    safetensors_check(file);
    ck_assert_uint_eq(safetensors_count(file), 4);
    const struct tensor *b = safetensors_find(file, STR("b"));
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(b->type, TENSOR_F32);
    ck_assert(b->rank == 2 && b->shape[0] == 2 && b->shape[1] == 3 && b->bytes == 24);
    ck_assert_ptr_eq(b->at, safetensors_data(file).at + 8);
    ck_assert_int_eq(safetensors_find(file, STR("a"))->type, TENSOR_BF16);
    ck_assert_int_eq(safetensors_find(file, STR("n"))->type, TENSOR_OTHER);
    ck_assert_int_eq(safetensors_find(file, STR("new"))->type, TENSOR_OTHER);
    ck_assert_ptr_null(safetensors_find(file, STR("__metadata__")));
    ck_assert_ptr_null(safetensors_find(file, STR("bb")));
    ck_assert_ptr_null(safetensors_find(file, STR("")));
    ck_assert_ptr_null(safetensors_at(file, 4));
    ck_assert(str_eq(safetensors_at(file, 0)->name, STR("a")));
    ck_assert_uint_eq(safetensors_data(file).len, 48);
    safetensors_close(file);
    buf_fini(&out);
}
END_TEST

#define ONE(dtype, shape, offsets)                                                                 \
    "{\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

/* Header, bytes of data, a word of the message. */
static const struct {
    const char *header;
    size_t data;
    const char *says;
} refused[] = {
    {"", 0, "no JSON"},
    {"[]", 0, "no list"},
    {"3", 0, "no JSON"},
    {"{\"x\":", 0, "no JSON"},
    {"{\"x\":3}", 8, "no object"},
    {"{\"x\":null}", 8, "no object"},
    {"{\"x\":{}}", 8, "dtype"},
    {"{\"a\":1,\"a\":2}", 8, "no JSON"},
    {"{\"x\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 8, "dtype"},
    {"{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 8, "shape"},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 8, "data_offsets"},
    {ONE("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 8, "dimensions"},
    {ONE("F32", "{}", "[0,4]"), 8, "shape"},
    {ONE("F32", "[-1]", "[0,4]"), 8, "can't be"},
    {ONE("F32", "[1.0]", "[0,4]"), 8, "can't be"},
    {ONE("F32", "[\"1\"]", "[0,4]"), 8, "can't be"},
    {ONE("F32", "[4294967296,4294967296]", "[0,0]"), 8, "can't be"},
    {ONE("F32", "[4611686018427387904]", "[0,0]"), 8, "another size"},
    {ONE("F32", "[9223372036854775807,2]", "[0,8]"), 8, "another size"},
    {ONE("F32", "[1]", "[0]"), 8, "data_offsets"},
    {ONE("F32", "[1]", "[0,4,8]"), 8, "data_offsets"},
    {ONE("F32", "[1]", "[4,0]"), 8, "data_offsets"},
    {ONE("F32", "[1]", "[-4,0]"), 8, "data_offsets"},
    {ONE("F32", "[1]", "[0,4.5]"), 8, "data_offsets"},
    {ONE("F32", "[3]", "[0,12]"), 8, "behind the end"},
    {ONE("F32", "[3]", "[0,9223372036854775807]"), 8, "behind the end"},
    {ONE("I64", "[2]", "[0,16]"), 8, "behind the end"},
    {ONE("NEW", "[2]", "[0,16]"), 8, "behind the end"},
    {ONE("F32", "[1]", "[0,8]"), 8, "another size"},
    {ONE("F16", "[4]", "[0,4]"), 8, "another size"},
    {ONE("BOOL", "[4]", "[0,5]"), 8, "another size"},
    {ONE("F32", "[1]", "[2,6]"), 8, "multiple"},
    {ONE("BF16", "[1]", "[1,3]"), 8, "multiple"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
     "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
     16, "overlap"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[16],\"data_offsets\":[0,16]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[15,16]}}",
     16, "overlap"},
};

START_TEST(refusals)
{
    struct err err = {.message = ""};
    const char *header = refused[_i].header;
    ck_assert_msg(read_one(header, refused[_i].data, &err) == ERR_INVALID, "%s", header);
    ck_assert_msg(strstr(err.message, refused[_i].says) != NULL, "%s: %s", header, err.message);
    ck_assert_msg(str_starts(str_of(err.message), STR("f")), "%s", err.message);
}
END_TEST

START_TEST(allowed)
{
    struct err err;
    ck_assert_int_eq(read_one("{}", 0, &err), ERR_OK);
    ck_assert_int_eq(read_one("{\"__metadata__\":3}", 0, &err), ERR_OK);
    ck_assert_int_eq(read_one(ONE("F32", "[0]", "[0,0]"), 0, &err), ERR_OK);
    ck_assert_int_eq(read_one(ONE("F32", "[0,5]", "[8,8]"), 8, &err), ERR_OK);
    ck_assert_int_eq(read_one(ONE("F32", "[]", "[4,8]"), 16, &err), ERR_OK); /* gaps */
}
END_TEST

/* Every beginning of a sound file, and every length in its head, is an error or sound itself. */
START_TEST(cut_off)
{
    struct buf out, part;
    struct err err;
    struct safetensors *file;
    buf_init(&out, NULL, 1 << 20);
    struct str whole = file_of(&out, ONE("F32", "[4]", "[0,16]"), 16);
    for (size_t n = 0; n < whole.len; n++) {
        buf_init(&part, NULL, 1 << 20);
        buf_put(&part, whole.at, n); /* a block of its own, so that ASan sees its end */
        ck_assert_int_eq(safetensors_of(buf_str(&part), "f", &file, &err), ERR_INVALID);
        ck_assert_ptr_null(file);
        buf_fini(&part);
    }
    for (uint64_t length = 0; length < 300; length++) {
        buf_init(&part, NULL, 1 << 20);
        buf_put(&part, whole.at, whole.len);
        le64_set(part.at, length == 299 ? UINT64_MAX : length);
        enum err_code code = safetensors_of(buf_str(&part), "f", &file, &err);
        ck_assert(code == ERR_OK || code == ERR_INVALID);
        safetensors_close(file);
        buf_fini(&part);
    }
    buf_fini(&out);
}
END_TEST

static void write_file(const char *path, struct str bytes)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes.at, 1, bytes.len, file), bytes.len);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(files)
{
    char dir[] = "/tmp/hmtest-XXXXXX", path[64];
    struct buf out;
    struct err err;
    struct safetensors *file;
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/x", dir);
    ck_assert_int_eq(safetensors_open(path, &file, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(safetensors_open(dir, &file, &err), ERR_INVALID);
    write_file(path, STR("1234567"));
    ck_assert_int_eq(safetensors_open(path, &file, &err), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "cut off"));
    buf_init(&out, NULL, 1 << 20);
    write_file(path, file_of(&out, ONE("F16", "[2,2]", "[8,16]"), 16));
    ck_assert_int_eq(safetensors_open(path, &file, &err), ERR_OK);
    safetensors_check(file);
    ck_assert_uint_eq(*(const uint8_t *)safetensors_find(file, STR("x"))->at, 8);
    safetensors_close(file);
    safetensors_close(NULL);
    buf_fini(&out);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(safetensors_open(path, &file, &err), ERR_INVALID); /* nobody waits */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(real_ones)
{
    static const char *const names[] = {"tiny-bert-mean", "tiny-bert-cls", "tiny-cross"};
    static const enum tensor_type types[] = {TENSOR_F32, TENSOR_BF16, TENSOR_F16};
    for (size_t i = 0; i < 3; i++) {
        char path[256];
        struct err err;
        struct safetensors *file;
        (void)snprintf(path, sizeof path, "%s/%s/model.safetensors", GOLDEN_DIR, names[i]);
        ck_assert_msg(safetensors_open(path, &file, &err) == ERR_OK, "%s", err.message);
        safetensors_check(file);
        ck_assert_uint_gt(safetensors_count(file), 30);
        for (size_t k = 0; k < safetensors_count(file); k++)
            ck_assert_int_eq(safetensors_at(file, k)->type, types[i]);
        safetensors_close(file);
    }
}
END_TEST

Suite *suite_safetensors(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *all = tcase_create("all");
    tcase_add_test(all, what_is_in_a_file);
    tcase_add_loop_test(all, refusals, 0, (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(all, allowed);
    tcase_add_test(all, cut_off);
    tcase_add_test(all, files);
    tcase_add_test(all, real_ones);
    suite_add_tcase(suite, all);
    return suite;
}
