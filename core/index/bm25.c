#include "core/index/bm25.h"

#include <math.h>

float bm25_idf(uint64_t docs, uint64_t with_term)
{
    if (with_term > docs)
        with_term = docs;
    double rest = (double)(docs - with_term) + 0.5;
    return (float)log1p(rest / ((double)with_term + 0.5));
}
