/* The text is what a model said: think blocks are taken out, the JSON in it is mended, and what
 * comes out must be read by jansson (repair.h, I1). Where jansson reads the text as it is, the
 * mended one must have the same value (I2). */
#include <jansson.h>

#include "core/base/limits.h"
#include "core/model/repair.h"
#include "core/model/retry.h"

static unsigned depth_of(struct str text)
{
    unsigned depth = 0;
    unsigned most = 0;
    for (size_t i = 0; i < text.len; i++) {
        depth += text.at[i] == '{' || text.at[i] == '[';
        most = depth > most ? depth : most;
    }
    return most;
}

static void check_repair(struct arena *arena, struct str text)
{
    struct repaired mended = {.json = STR_NONE};
    json_error_t fault;
    enum err_code code = repair_json(arena, text, &mended);
    ASSERT(code == ERR_OK || code == ERR_UNPROCESSABLE);
    json_t *as_it_is = json_loadb(text.at, text.len, 0, &fault);
    json_t *root = NULL;
    if (code == ERR_OK) {
        root = json_loadb(mended.json.at, mended.json.len, 0, &fault);
        ASSERT(root != NULL); /* I1 */
    }
    if (as_it_is != NULL && depth_of(text) <= LIMIT_JSON_DEPTH) {
        ASSERT(code == ERR_OK && !mended.cut);
        ASSERT(json_equal(as_it_is, root)); /* I2 */
    }
    json_decref(as_it_is);
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct arena *arena = arena_new(256 << 20);
    ASSERT(arena != NULL);
    struct str said = repair_think(arena, text);
    ASSERT(said.at != NULL && said.len <= text.len);
    check_repair(arena, text);
    ASSERT(retry_told_ms(text) >= -1);
    arena_free(arena);
    return 0;
}
