/* The built-in sentence encoder and cross-encoder: BERT-family models as they come from the model
 * hub, run in this process, without a network (DESIGN 2, core/model/builtin).
 *
 *   directory                                   what is read of it
 *   config.json                                 shape of the transformer (bert.h)
 *   model.safetensors                           weights, mapped (safetensors.h)
 *   vocab.txt or tokenizer.json, ..._config     tokenizer (wordpiece.h)
 *   modules.json, 1_Pooling/config.json         mean or CLS; mean when there is none
 *   sentence_bert_config.json                   max_seq_length; else what the model can take
 *   config_sentence_transformers.json           prompts, if any
 *
 *   texts -> ids -> pieces, sorted by length -> packed batches -> bert_run() -> pooled, L2 norm
 *
 * A batch is packed: sequences lie one behind the other without padding, at most
 * ENCODER_BATCH_TOKENS of them (a sequence is never cut for that), so a call's scratch is bounded
 * whatever it is asked, and no product is spent on padding.
 *
 * A text longer than the model takes is split into pieces at the ends of sentences or words; its
 * vector is the mean of the pieces' vectors weighted by their tokens: the parent is kept, and its
 * tail counts. With `truncate` only the first piece is taken, as sentence-transformers does.
 *
 * I1  An encoder does not change after encoder_open(): any number of threads may use one at once,
 *     and a call runs on its caller's thread alone.
 * I2  The same text gives the same vector but for rounding (cosine > 0.99999), whatever it is
 *     batched with.
 * I3  Weights are mapped read-only and shared, never copied. Who shortens the file under a running
 *     process ends it, as with any mapped file: replace models by rename.
 *
 * Costs: opening reads headers, the vocabulary and a few stripes of the weights, not the file.
 * Scratch of a call is taken from the system and given back, at most encoder_about.scratch_bytes
 * and a few 100 KiB of ids. */
#ifndef HM_CORE_MODEL_BUILTIN_ENCODER_H
#define HM_CORE_MODEL_BUILTIN_ENCODER_H

#include "core/base/err.h"
#include "core/base/str.h"

enum { ENCODER_BATCH_TOKENS = 1024 };

struct encoder;

struct encoder_about {
    struct str name;         /* last component of the directory's real path */
    struct str origin;       /* _name_or_path of config.json; may be empty */
    const char *pooling;     /* "mean" or "cls" */
    const char *dtype;       /* of the weights: "f32", "f16", "bf16" */
    const char *kernels;     /* instruction set of the row operations */
    bool blas;               /* OpenBLAS makes the larger products; false: it can't be trusted */
    uint32_t dimension;      /* of a vector */
    uint32_t max_tokens;     /* of a sequence, with its special tokens */
    uint32_t prefix_tokens;  /* of a prefix, at most: half of the room */
    bool has_head;           /* a cross-encoder: encoder_score() works */
    uint64_t fingerprint;    /* of configuration, tokenizer, names and shapes, stripes of weights */
    size_t file_bytes;       /* mapped */
    size_t scratch_bytes;    /* of one call, at most, but for ids: 8 bytes a token of the texts */
    struct str query_prompt; /* config_sentence_transformers.json: prompts.query; may be empty */
    struct str document_prompt; /* prompts.document or prompts.passage; may be empty */
};

/* ERR_NOT_FOUND: no such directory, or no model in it. ERR_INVALID: a file is broken, or of a kind
 * that isn't supported. ERR_EXHAUSTED: no memory. Messages name the file and the fault. */
enum err_code encoder_open(const char *dir, struct encoder **out, struct err *err) MUST_USE;
void encoder_close(struct encoder *encoder); /* no call may be under way; NULL is fine */
const struct encoder_about *encoder_about(const struct encoder *encoder);

/* Asked before each text and each batch, on the caller's thread; true ends the call with
 * ERR_UNAVAILABLE. */
typedef bool encoder_stop_fn(void *arg);

struct encoder_texts {
    const struct str *texts; /* UTF-8; empty ones are allowed */
    uint32_t n;
    struct str prefix;
    bool truncate;         /* else long texts are split */
    encoder_stop_fn *stop; /* NULL: the call can't be stopped */
    void *arg;
    float *vectors; /* out: n unit vectors of about.dimension; of a text that failed alone, zeros */
    uint32_t failed; /* out: how many texts the weights give no number for; all is ERR_INVALID */
    uint64_t tokens; /* out: how many went through the model */
};

struct encoder_pairs {
    struct str query;
    const struct str *documents;
    uint32_t n;
    encoder_stop_fn *stop;
    void *arg;
    float *logits;   /* out: one a document, as the head gives it; higher is better */
    uint64_t tokens; /* out */
};

/* ERR_EXHAUSTED: no memory; ERR_UNAVAILABLE: stopped. What was written of the result is void. */
enum err_code encoder_embed(const struct encoder *encoder, struct encoder_texts *texts,
                            struct err *err) MUST_USE;
/* The model must have a head. A pair that is too long is cut as the reference does: the longer side
 * first. */
enum err_code encoder_score(const struct encoder *encoder, struct encoder_pairs *pairs,
                            struct err *err) MUST_USE;

/* Tokens of a text, without special ones; UINT32_MAX when memory is short. */
uint32_t encoder_count(const struct encoder *encoder, struct str text);

#endif
