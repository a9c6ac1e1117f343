/* The golden files (tests/data/golden/README.md). What can't be read fails the test. */
#ifndef HM_TESTS_UNIT_CORE_MODEL_BUILTIN_GOLDEN_H
#define HM_TESTS_UNIT_CORE_MODEL_BUILTIN_GOLDEN_H

#include "core/base/str.h"

#define GOLDEN_DIR "tests/data/golden"

struct golden_texts {
    struct str *at;
    uint32_t n;
};

struct golden_ids {
    uint32_t n, most;      /* rows; ids that the model is fed at most */
    const uint16_t *len;   /* of each row */
    const uint16_t **rows; /* ids of each row, with [CLS] and [SEP] */
    const uint8_t **kinds; /* token types of each row; NULL: the file has none */
};

struct golden_numbers {
    uint32_t n, dimension;
    float *at; /* rows of `dimension` numbers */
};

/* All in the arena. `name` is a file of GOLDEN_DIR. */
struct str golden_bytes(struct arena *arena, const char *path);
struct golden_texts golden_texts(struct arena *arena);
/* Twice as many: query, document, query, … */
struct golden_texts golden_pairs(struct arena *arena);
struct golden_ids golden_ids(struct arena *arena, const char *name, bool with_kinds);
struct golden_numbers golden_vectors(struct arena *arena, const char *name);
struct golden_numbers golden_logits(struct arena *arena, const char *name);

/* The folder of the real model. Fails the test, saying what to do, when it is not there. */
const char *golden_minilm(void);

#endif
