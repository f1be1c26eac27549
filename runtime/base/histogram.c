/*
 * histogram.c: what buckets mean. Pure.
 */
#include "base/histogram.h"

#include <math.h>

uint64_t histogram_end_us(int bucket)
{
    if (bucket < 8)
        return (uint64_t)bucket + 1;
    int octave = bucket / 8 + 2, eighth = bucket % 8;
    return (UINT64_C(8) + (uint64_t)eighth + 1) << (octave - 3);
}

uint64_t histogram_count(const struct histogram *histogram)
{
    uint64_t count = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        count += histogram->buckets[i];
    return count;
}

uint64_t histogram_quantile_us(const struct histogram *histogram, double share)
{
    uint64_t count = histogram_count(histogram), below = 0;
    uint64_t wanted = (uint64_t)ceil((double)count * share);
    if (count == 0)
        return 0;
    if (wanted > count)
        wanted = count;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        below += histogram->buckets[i];
        if (below >= wanted && below > 0)
            return histogram_end_us(i) - 1;
    }
    return histogram_end_us(HISTOGRAM_BUCKETS - 1) - 1;
}

uint64_t histogram_count_below(const struct histogram *histogram, uint64_t end_us)
{
    uint64_t count = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS && histogram_end_us(i) <= end_us; i++)
        count += histogram->buckets[i];
    return count;
}

void histogram_add(struct histogram *to, const struct histogram *from)
{
    to->sum_us += from->sum_us;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
}
