/* The transformer of BERT-family models: embeddings, layers of attention and feed-forward with a
 * norm after each, pooling, and the classification head of cross-encoders. (Devlin et al. 2019,
 * arXiv 1810.04805; the attention is Vaswani et al. 2017, equation 1.)
 *
 * A batch is packed: the tokens of all sequences lie one behind the other, without padding, so that
 * every linear layer is one product over all of them; attention runs sequence by sequence and head
 * by head over what is there, so nothing has to be masked.
 *
 *   x      T x H                       residual stream; products add to it in place
 *   q k v  T x H each, then context T x H        these four and
 *   inner  T x F                                 this share one region
 *
 * Where only the first token of a sequence is wanted (CLS, head), the last layer makes keys and
 * values of all tokens and the rest of the first ones alone: a sixth of the work of six layers.
 *
 * I1  Ids are below the vocabulary, types below the number of types, sequences are not empty and
 *     not longer than bert_positions(): the caller's duty, asserted.
 * I2  What a bert is made of stays mapped while it lives; it does not change (any threads).
 *
 * Rejected: padding to the longest (mixed batches lose a third of the work); copying the weights
 * into one array in the order OpenBLAS likes (private memory, which is what costs here). */
#ifndef HM_CORE_MODEL_BUILTIN_BERT_H
#define HM_CORE_MODEL_BUILTIN_BERT_H

#include "core/model/builtin/linear.h"

struct bert_config {
    uint32_t vocabulary, hidden, layers, heads, inner, positions, types;
    float epsilon;
    enum rowop_activation activation;
    struct str origin; /* _name_or_path */
};

/* From the text of config.json; `name` stands in messages. ERR_INVALID: it is none, or of a model
 * that is not supported, and says why. */
enum err_code bert_config_read(struct arena *arena, struct str text, const char *name,
                               struct bert_config *out, struct err *err) MUST_USE;

struct bert;

/* Weights may be named with "bert." in front or without. `file` and what the config borrows must
 * outlive the result; `name` is the file's, for messages. ERR_INVALID: a tensor is missing or has
 * another shape. */
enum err_code bert_new(const struct bert_config *config, const struct safetensors *file,
                       const char *name, struct bert **out, struct err *err) MUST_USE;
void bert_free(struct bert *bert); /* NULL is fine */

const struct bert_config *bert_config(const struct bert *bert);
const struct linear *bert_linear(const struct bert *bert);
enum tensor_type bert_type(const struct bert *bert); /* of its matrices */
bool bert_has_head(const struct bert *bert);         /* with one label */
/* Another set of row operations, for tests; OpenBLAS only if `blas`. */
void bert_set_linear(struct bert *bert, struct linear way);

enum bert_pooling { BERT_MEAN, BERT_CLS };

struct bert_batch {
    uint32_t n;             /* sequences */
    const uint32_t *starts; /* n + 1: where each begins; the last is the number of tokens */
    const uint32_t *ids;
    const uint8_t *types; /* NULL: all 0 */
};

/* Scratch of a run over so many tokens whose longest sequence is so long; a multiple of 64. */
size_t bert_scratch_bytes(const struct bert *bert, uint32_t tokens, uint32_t longest);
/* pooled: n x hidden, as the model gives it, not normalised. `scratch` lies on 64 bytes. */
void bert_run(const struct bert *bert, const struct bert_batch *batch, enum bert_pooling pooling,
              void *scratch, float *pooled);
/* One logit for each of n pooled rows (BERT_CLS), which it overwrites; `scratch` as for n tokens.
 */
void bert_head(const struct bert *bert, float *pooled, uint32_t n, void *scratch, float *logits);

#endif
