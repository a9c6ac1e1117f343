/* From the configuration to the providers that core/model may call.
 *
 * A provider is there if its base_url is given, or if its model is named and the environment has
 * OPENAI_BASE_URL; so nothing talks to the network because of a key that lies around. A purpose of
 * chat takes what it has not from llm_*.
 *
 * A key never goes to a host that it was not given for: a purpose with a base_url of its own takes
 * over llm's key and headers only if scheme, host and port are the same, and OPENAI_API_KEY is sent
 * only to the origin of OPENAI_BASE_URL (https://api.openai.com where that is not set).
 *
 * What is filled in borrows from the configuration; clock, log, metrics and seed are the caller's.
 */
#ifndef HM_SERVER_MODEL_OPTIONS_H
#define HM_SERVER_MODEL_OPTIONS_H

#include "config/config.h"
#include "core/model/models.h"

void model_options_fill(const struct config *config, struct models_options *out);

#endif
