/* The JSON files beside a model as arbitrary bytes; the first byte says which. What is taken must
 * keep to its bounds. */
#include <stdlib.h>

#include "core/model/builtin/encoder_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_bert(struct arena *arena, struct str text)
{
    struct err err;
    struct bert_config config;
    if (bert_config_read(arena, text, "fuzz", &config, &err) != ERR_OK)
        return;
    ASSERT(config.hidden % config.heads == 0 && config.layers >= 1 && config.types <= 2);
    ASSERT(config.epsilon > 0 && config.activation < ROWOP_ACTIVATIONS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static encoder_read_fn *const readers[] = {encoder__read_modules, encoder__read_pooling,
                                               encoder__read_sentence, encoder__read_tokenizer,
                                               encoder__read_prompts};
    struct arena *arena = arena_new(64 << 20);
    struct encoder_settings settings = {.pooling = BERT_MEAN};
    struct err err;
    if (size == 0 || arena == NULL) {
        arena_free(arena);
        return 0;
    }
    struct str text = {(const char *)data + 1, size - 1};
    size_t kind = data[0] % (sizeof readers / sizeof readers[0] + 1);
    if (kind == sizeof readers / sizeof readers[0]) {
        read_bert(arena, text);
    } else {
        const struct encoder_reading r = {arena, text, "fuzz", &settings, &err};
        enum err_code code = readers[kind](&r);
        ASSERT(code == ERR_OK || code == ERR_INVALID);
        ASSERT(settings.pooling == BERT_MEAN || settings.pooling == BERT_CLS);
    }
    arena_free(arena);
    return 0;
}
