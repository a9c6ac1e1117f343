/* A store of its own for a test: a fresh directory, one space, batches committed one at a time. */
#ifndef HM_TESTS_UNIT_INDEX_HARNESS_H
#define HM_TESTS_UNIT_INDEX_HARNESS_H

#include "core/batch.h"

struct harness;

struct harness *harness_new(void);
void harness_free(struct harness *h);
uint64_t harness_space(const struct harness *h);
/* The one read transaction; begins a new snapshot and ends the one before. */
struct store_txn *harness_begin(struct harness *h);
/* Applies the batch and waits. The first form fails the test when it is refused. */
void harness_commit(struct harness *h, struct batch *batch);
enum err_code harness_try(struct harness *h, struct batch *batch);
/* Writes one row as it is: for damage. */
void harness_raw(struct harness *h, enum store_kind kind, struct str rest, struct str value);

#endif
