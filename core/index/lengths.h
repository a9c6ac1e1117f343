/* Document lengths: one byte each, LENGTH_BLOCK to a value (KIND_LENGTH, key layer byte, b32
 * block).
 *
 * Code 0 = dead or never there; 1..63 exact; above, 4 bits of mantissa: code 64 + 16 e + m means
 * (16 + m) << (e + 2). length_quantise() is what N and total length are summed over, so they stay
 * exact. A living document has length >= 1, also without terms. */
#ifndef HM_CORE_INDEX_LENGTHS_H
#define HM_CORE_INDEX_LENGTHS_H

#include "core/index/segment.h"

enum { LENGTH_BLOCK = 1024, LENGTH_CODES = 256 };

uint8_t length_encode(uint32_t length); /* >= 1 for every input */
uint32_t length_decode(uint8_t code);
static inline uint32_t length_quantise(uint32_t length)
{
    return length_decode(length_encode(length));
}

/* A reader over one snapshot: blocks are fetched when first asked for and borrow from the
 * transaction. */
struct lengths *lengths_new(struct store_txn *txn, uint64_t space, struct arena *arena);
/* 0 = dead. Read errors give 0 and stay: ask lengths_error() at the end. */
uint32_t lengths_get(struct lengths *lengths, enum layer layer, uint32_t doc);
/* The codes of documents block * LENGTH_BLOCK on, for who goes through many; what is missing at the
 * end is 0. */
struct str lengths_codes(struct lengths *lengths, enum layer layer, uint32_t block);
enum err_code lengths_error(const struct lengths *lengths, struct err *err) MUST_USE;

#endif
