/*
 * timing.h: how often something took how long, to three significant digits. Pure.
 *
 * The server's own histogram (base/histogram.h) knows a value to 12.5 %, which is enough to see trouble and too little to
 * compare two servers. Here every microsecond below 2048 has its own bucket, and 1024 buckets make an octave from there.
 */
#ifndef LOAD_TIMING_H
#define LOAD_TIMING_H

#include <stdint.h>

#define TIMING_MAX_US  INT64_C(60000000) /* what is longer counts as that in the buckets; max_us and sum_us keep it */
#define TIMING_BUCKETS (2048 + 15 * 1024)

/* All zero: nothing recorded. */
struct timing {
    uint64_t count;
    uint64_t sum_us;
    int64_t min_us, max_us;
    uint64_t buckets[TIMING_BUCKETS];
};

/* The bucket of a time; negative counts as 0. */
static inline int timing_bucket(int64_t time_us)
{
    uint64_t value = time_us < 0 ? 0 : time_us > TIMING_MAX_US ? (uint64_t)TIMING_MAX_US : (uint64_t)time_us;
    if (value < 2048)
        return (int)value;
    int octave = 63 - __builtin_clzll(value); /* 11 to 25 */
    return (octave - 9) * 1024 + (int)((value >> (octave - 10)) & 1023);
}

static inline void timing_record(struct timing *timing, int64_t time_us)
{
    if (time_us < 0)
        time_us = 0;
    if (timing->count == 0 || time_us < timing->min_us)
        timing->min_us = time_us;
    if (time_us > timing->max_us)
        timing->max_us = time_us;
    timing->count++;
    timing->sum_us += (uint64_t)time_us;
    timing->buckets[timing_bucket(time_us)]++;
}

/* The first and the last value of a bucket. */
int64_t timing_lo_us(int bucket);
int64_t timing_hi_us(int bucket);

/* The time that a share of the values does not exceed, 0 < share ≤ 1: the last value of the bucket that it falls into, but
 * nothing that is more than the longest. Returns 0 when nothing was recorded. */
int64_t timing_quantile_us(const struct timing *timing, double share);

/* Returns 0 when nothing was recorded. */
double timing_mean_us(const struct timing *timing);

void timing_add(struct timing *to, const struct timing *from);

#endif
