/* BM25 (Robertson and Zaragoza 2009), the form Lucene uses: idf = ln(1 + (N - n + 0.5)/(n + 0.5)),
 * always positive; saturation tf (k1 + 1) / (tf + k1 (1 - b + b len / avg)). The most a document
 * can reach for a query is the sum of idf (k1 + 1): dividing by it makes scores comparable across
 * queries, layers and spaces (DESIGN 7, Fusion). */
#ifndef HM_CORE_INDEX_BM25_H
#define HM_CORE_INDEX_BM25_H

#include <stdint.h>

struct bm25 {
    float k1, b;
    float avg; /* average length, >= 1 */
};

float bm25_idf(uint64_t docs, uint64_t with_term);
/* The part of the denominator that the length makes. */
static inline float bm25_norm(const struct bm25 *p, float length)
{
    return p->k1 * (1.0f - p->b + p->b * length / p->avg);
}
/* Saturation, for who knows the norm already. 0 where tf is 0. */
static inline float bm25_saturate(float k1, float tf, float norm)
{
    return tf * (k1 + 1.0f) / (tf + norm);
}
static inline float bm25_tf(const struct bm25 *p, float tf, float length)
{
    return bm25_saturate(p->k1, tf, bm25_norm(p, length));
}

#endif
