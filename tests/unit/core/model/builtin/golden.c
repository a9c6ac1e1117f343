#include "golden.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/file.h"

struct str golden_bytes(struct arena *arena, const char *path)
{
    struct buf out;
    struct err err;
    buf_init(&out, arena, 64 << 20);
    ck_assert_msg(file_read(path, &out, &err) == ERR_OK, "%s", err.message);
    return buf_str(&out);
}

static struct str path_of(struct arena *arena, const char *name)
{
    struct str path = str_printf(arena, "%s/%s", GOLDEN_DIR, name);
    ck_assert_ptr_nonnull(path.at);
    return path;
}

static json_t *load(struct arena *arena, const char *name)
{
    struct str bytes = golden_bytes(arena, path_of(arena, name).at);
    json_error_t fault;
    json_t *root = json_loadb(bytes.at, bytes.len, JSON_ALLOW_NUL, &fault);
    ck_assert_msg(json_is_array(root), "%s: %s", name, fault.text);
    return root;
}

static struct str text_of(struct arena *arena, const json_t *value)
{
    ck_assert(json_is_string(value));
    struct str text = {json_string_value(value), json_string_length(value)};
    return str_copy(arena, text);
}

static struct golden_texts texts_of(struct arena *arena, uint32_t n)
{
    struct golden_texts texts = {ARENA_ARRAY(arena, struct str, n), n};
    ck_assert_ptr_nonnull(texts.at);
    return texts;
}

struct golden_texts golden_texts(struct arena *arena)
{
    json_t *root = load(arena, "texts.json");
    struct golden_texts texts = texts_of(arena, (uint32_t)json_array_size(root));
    for (uint32_t i = 0; i < texts.n; i++)
        texts.at[i] = text_of(arena, json_array_get(root, i));
    json_decref(root);
    return texts;
}

struct golden_texts golden_pairs(struct arena *arena)
{
    json_t *root = load(arena, "pairs.json");
    struct golden_texts texts = texts_of(arena, 2 * (uint32_t)json_array_size(root));
    for (uint32_t i = 0; i < texts.n; i++)
        texts.at[i] = text_of(arena, json_array_get(json_array_get(root, i / 2), i % 2));
    json_decref(root);
    return texts;
}

/* The numbers lie unaligned in the file. */
static const uint16_t *take_u16(struct arena *arena, struct unpack *u, size_t n)
{
    struct str bytes = unpack_bytes(u, n * sizeof(uint16_t));
    ck_assert(!u->bad);
    return arena_copy(arena, bytes.at, bytes.len);
}

struct golden_ids golden_ids(struct arena *arena, const char *name, bool with_kinds)
{
    struct unpack u = unpack_of(golden_bytes(arena, path_of(arena, name).at));
    struct golden_ids out = {.n = unpack_u32(&u), .most = unpack_u32(&u)};
    out.len = take_u16(arena, &u, out.n);
    out.rows = ARENA_ARRAY(arena, const uint16_t *, out.n);
    out.kinds = with_kinds ? ARENA_ARRAY(arena, const uint8_t *, out.n) : NULL;
    for (uint32_t i = 0; i < out.n; i++)
        out.rows[i] = take_u16(arena, &u, out.len[i]);
    for (uint32_t i = 0; with_kinds && i < out.n; i++)
        out.kinds[i] = (const uint8_t *)unpack_bytes(&u, out.len[i]).at;
    ck_assert_msg(unpack_done(&u), "%s has another size", name);
    return out;
}

static float half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double mantissa = bits & 1023;
    double value = exponent == 0 ? ldexp(mantissa, -24) : ldexp(mantissa + 1024, exponent - 25);
    return (float)((bits & 0x8000) != 0 ? -value : value);
}

struct golden_numbers golden_vectors(struct arena *arena, const char *name)
{
    struct unpack u = unpack_of(golden_bytes(arena, path_of(arena, name).at));
    struct golden_numbers out = {.n = unpack_u32(&u), .dimension = unpack_u32(&u)};
    size_t count = (size_t)out.n * out.dimension;
    out.at = ARENA_ARRAY(arena, float, count);
    for (size_t i = 0; i < count; i++)
        out.at[i] = half_value(unpack_u16(&u));
    ck_assert_msg(unpack_done(&u), "%s has another size", name);
    return out;
}

struct golden_numbers golden_logits(struct arena *arena, const char *name)
{
    struct unpack u = unpack_of(golden_bytes(arena, path_of(arena, name).at));
    struct golden_numbers out = {.n = unpack_u32(&u), .dimension = 1};
    out.at = ARENA_ARRAY(arena, float, out.n);
    for (uint32_t i = 0; i < out.n; i++) {
        uint32_t bits = unpack_u32(&u);
        memcpy(&out.at[i], &bits, sizeof bits);
    }
    ck_assert_msg(unpack_done(&u), "%s has another size", name);
    return out;
}

const char *golden_minilm(void)
{
    const char *dir = getenv("HMTEST_MODEL_DIR");
    if (dir == NULL)
        dir = "build/models/all-MiniLM-L6-v2";
    struct stat st;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/model.safetensors", dir);
    ck_assert_msg(stat(path, &st) == 0,
                  "%s is not there: `make model` fetches the model; why it "
                  "could not stands above, before the tests",
                  path);
    return dir;
}
