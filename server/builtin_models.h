/* The models that run in this process: where their files are, and their life.
 *
 *   embed_model_dir   a directory; "none"; empty: the first that is there of
 *                       DATA_DIR/models/MODEL_DEFAULT
 *                       BIN/../models/MODEL_DEFAULT                 make model, for build/release
 *                       BIN/../share/hypermem/models/MODEL_DEFAULT  make install, the image
 *   rerank_model_dir  a directory, or empty: none
 *
 * A directory that is named and has no model is an error, and so is one that is named beside the
 * same purpose's endpoint. One that is only looked for and is broken is an error, too: a memory
 * that silently searches by words alone is not what was installed. An endpoint keeps the default
 * from being looked for. */
#ifndef HM_SERVER_BUILTIN_MODELS_H
#define HM_SERVER_BUILTIN_MODELS_H

#include "config/config.h"
#include "core/model/models.h"

#define MODEL_DEFAULT "all-MiniLM-L6-v2"

struct builtin_models {
    struct encoder *embed, *rerank; /* NULL: none */
};

/* `options` as model_options_fill() has filled them. Nothing found: two NULLs. */
enum err_code builtin_models_open(const struct config *config, const struct models_options *options,
                                  struct builtin_models *models, struct err *err) MUST_USE;
void builtin_models_close(struct builtin_models *models); /* none of their calls may be under way */

/* Into the same options. Of limits that are about requests the configured ones don't hold. */
void builtin_models_fill(const struct builtin_models *models, struct models_options *options);

#endif
