/*
 * histogram.h: how often something took how long. Buckets are eight to an octave, so a value is known to 12.5 %.
 *
 * Pure. Counts in shared memory are kept by whoever counts; this file says only which bucket a value falls into and what
 * a set of buckets means.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS 240 /* up to 2^32 µs, 71 minutes; what is longer counts as that */

struct histogram {
    uint64_t sum_us;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* The bucket of a time; negative counts as 0. */
static inline int histogram_bucket(int64_t time_us)
{
    uint64_t value = time_us < 0 ? 0 : (uint64_t)time_us;
    if (value < 8)
        return (int)value;
    if (value > UINT32_MAX)
        value = UINT32_MAX;
    int octave = 63 - __builtin_clzll(value); /* 3 to 31 */
    return (octave - 2) * 8 + (int)((value >> (octave - 3)) & 7);
}

/* The first value beyond a bucket. */
uint64_t histogram_end_us(int bucket);

uint64_t histogram_count(const struct histogram *histogram);

/* The time that a share of the values does not exceed, 0 < share ≤ 1: the largest value of the bucket that it falls into.
 * Returns 0 when nothing was counted. */
uint64_t histogram_quantile_us(const struct histogram *histogram, double share);

/* How many values were below `end_us`, which is where a bucket ends. */
uint64_t histogram_count_below(const struct histogram *histogram, uint64_t end_us);

void histogram_add(struct histogram *to, const struct histogram *from);

#endif
