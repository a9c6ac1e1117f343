/* The inside of segments: reading a part, decoding postings, building parts. */
#ifndef HM_CORE_INDEX_SEGMENT_INT_H
#define HM_CORE_INDEX_SEGMENT_INT_H

#include "core/index/lengths.h"
#include "core/index/segment.h"

enum {
    SEGMENT_FORMAT = 1,
    SEGMENT_ENTRY = 8, /* bytes of the term table */
    SEGMENT_OFFSET_BITS = 24,
    SEGMENT_LEVELS = 3,
    VARINT_MAX = 10 /* bytes */
};
#define SEGMENT_OFFSET_MASK ((UINT64_C(1) << SEGMENT_OFFSET_BITS) - 1)

/* --- varints: no call and no state a posting --- */

/* Where the reading goes on, or NULL when the bytes end inside. */
static inline const uint8_t *varint__get(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = v;
            return at;
        }
    }
    return NULL;
}

static inline uint8_t *varint__put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* --- reading --- */

struct segment_part {
    struct segment_head head;
    const uint8_t *table;
    const uint8_t *postings;
    size_t bytes; /* of postings */
};

/* False when the header or the table's size is damaged. */
bool segment__open(struct str value, struct segment_part *part);
enum err_code segment__damaged(struct err *err);

static inline uint64_t segment__term(const struct segment_part *part, uint32_t i)
{
    return le64_get(part->table + (size_t)i * SEGMENT_ENTRY) >> SEGMENT_OFFSET_BITS;
}

/* A part's table as a place to look terms up in. */
struct segment_search {
    const struct segment_part *part;
    uint64_t first, last; /* terms */
    double slope;         /* places a hash */
};
struct segment_search segment__search(const struct segment_part *part);
/* About where in the table a term is, or would be: at most the number of terms. */
uint32_t segment__guess(const struct segment_search *search, uint64_t term);
/* Index of the first term >= `term` from index `from` on. */
uint32_t segment__lower(const struct segment_search *search, uint64_t term, uint32_t from);

/* Bytes of the postings of term i; false when the offsets are damaged. */
bool segment__list(const struct segment_part *part, uint32_t i, const uint8_t **at,
                   const uint8_t **end);

/* Growing postings of one layer. */
struct posting_list {
    struct posting *at;
    uint32_t n, cap;
};

/* Room for `more` postings; false when memory is short. */
bool posting_list__reserve(struct posting_list *list, struct arena *arena, uint32_t more);

/* How postings are decoded: the living ones of the layers of `mask` (bit 1 << layer). */
struct decoder {
    struct lengths *lengths;
    struct arena *arena; /* of the lists */
    unsigned mask;
};

/* Appends postings of term i to lists[layer]. */
enum err_code segment__decode(const struct segment_part *part, uint32_t i,
                              const struct decoder *decoder, struct posting_list *lists,
                              struct err *err);

/* --- building --- */

/* A finished part; its header is written last, when the number of parts is known. */
struct segment_value {
    struct segment_value *next;
    char *at;
    size_t len;
    uint32_t terms;
};

/* Collects terms in ascending order and cuts parts. Failure is sticky. */
struct segment_out {
    struct arena *arena;
    struct buf table;
    struct buf postings;
    struct segment_value *first, *last;
    uint32_t parts;
    bool failed;
};

void segment__out_init(struct segment_out *out, struct arena *arena);
/* Postings of each layer, ascending, relative to base[layer]. */
void segment__out_term(struct segment_out *out, uint64_t term, const struct posting_list *lists,
                       const uint32_t *base);
/* Ends the last part and writes the headers (head->parts and ->terms are set here). False when
 * memory was short or there are too many parts. */
bool segment__out_finish(struct segment_out *out, struct segment_head *head);

void segment__key(char key[SEGMENT_KEY], uint64_t seq, uint32_t part);

#endif
