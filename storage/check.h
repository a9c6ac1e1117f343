/* `hypermemd fsck`: walks everything and checks DESIGN 5 and what storage.h promises; a canonical
 * digest of each space; a search for a text in every stored value.
 *
 *   system rows   FORMAT, REGISTRY, DUE, DEAD agree with each other and with the spaces
 *   rows          each key has the shape of its kind; LOG rows = seq; counters = counted rows
 *   graph         invariants 1 to 4 and 6: turns, episodes, topics, facts, hyperedges
 *   index         invariant 5: live documents = live nodes, N, total length, every posting counted,
 *                 columns repeat what the records say
 *   vectors       rows of each generation = live documents; edges and side values computed again
 *
 * Works on a store that is opened read-only beside a running daemon. One snapshot a space, so that
 * no long reader makes the file grow; spaces that go meanwhile are skipped. Memory: ~100 bytes a
 * turn or fact and 8 a document of the space at hand.
 *
 * A problem is a line for people and a count; the check goes on. Errors returned are those of
 * reading itself (a damaged tree) or of memory. */
#ifndef HM_STORAGE_CHECK_H
#define HM_STORAGE_CHECK_H

#include "core/base/hash.h"
#include "storage/storage.h"

/* Where lines go; `line` has no line feed. */
struct check_sink {
    void (*line)(const char *text, void *arg);
    void *arg;
};

struct check_report {
    uint64_t spaces, rows, bytes;
    uint64_t turns, episodes, topics, facts;
    uint64_t problems; /* all; of one space at most CHECK_LINES_MAX are printed */
};
enum { CHECK_LINES_MAX = 50 };

enum err_code storage_check(struct store *store, const struct check_sink *sink,
                            struct check_report *report, struct err *err) MUST_USE;

/* The digest of one space: settings, turns, episodes, facts, topics, their hyperedges and postings,
 * each named by content, sorted; no ids, no seq, no server times. Equal input processed to the end
 * gives equal digests, whatever happened in between. */
enum err_code storage_digest_space(struct store *store, struct str name, struct hash128 *digest,
                                   struct err *err) MUST_USE;
/* All spaces in name order: a line "name digest" each. */
enum err_code storage_digest(struct store *store, const struct check_sink *sink,
                             struct err *err) MUST_USE;

/* Every occurrence of `text` in a living key or value; texts that are stored in parts are searched
 * across them. `raw`: also counts in pages that are free (LMDB reuses them later, until then they
 * keep what they held) and in the file as a whole, unused rest of living pages included. A line for
 * each row with a hit. */
struct find_report {
    uint64_t hits;      /* in living keys and values */
    uint64_t rows;      /* rows with at least one */
    uint64_t free_hits; /* raw: in free pages and behind the last page in use */
    uint64_t file_hits; /* raw: in the whole file */
};
enum err_code storage_find(struct store *store, struct str text, bool raw,
                           const struct check_sink *sink, struct find_report *report,
                           struct err *err) MUST_USE;

#endif
