/* What the parts of the encoder share: encoder_open.c reads a directory, encoder_json.c its JSON
 * files, encoder.c encodes. */
#ifndef HM_CORE_MODEL_BUILTIN_ENCODER_INT_H
#define HM_CORE_MODEL_BUILTIN_ENCODER_INT_H

#include "core/model/builtin/bert.h"
#include "core/model/builtin/encoder.h"
#include "core/model/builtin/wordpiece.h"

enum { ENCODER_PATH = 4096, ENCODER_FILE_MAX = 4 << 20 };

/* What the files around the model say. */
struct encoder_settings {
    struct str transformer; /* folders inside the model's; empty: the model's own */
    struct str pooling_dir;
    enum bert_pooling pooling;
    uint32_t max_tokens;    /* sentence_bert_config.json; 0: unsaid */
    uint64_t tokenizer_max; /* model_max_length of tokenizer_config.json; 0: unsaid */
    bool lowers, tokenizer_is_cased;
    struct str query_prompt, document_prompt;
};

struct encoder {
    struct encoder_about about;
    struct arena *arena; /* strings */
    struct wordpiece *wordpiece;
    struct safetensors *file;
    struct bert *bert;
    enum bert_pooling pooling;
    uint32_t batch_tokens; /* of a batch, at most */
};

/* Readers of one file each: `text` is the file, `name` is for messages; strings are copied into the
 * arena. */
struct encoder_reading {
    struct arena *arena;
    struct str text;
    const char *name;
    struct encoder_settings *out;
    struct err *err;
};
typedef enum err_code encoder_read_fn(const struct encoder_reading *r);

encoder_read_fn encoder__read_modules, encoder__read_pooling, encoder__read_sentence,
    encoder__read_tokenizer, encoder__read_prompts;

#endif
