/*
 * timing.c: what a set of buckets says. Pure.
 */
#include "load/timing.h"

#include <math.h>

int64_t timing_lo_us(int bucket)
{
    if (bucket < 2048)
        return bucket;
    int octave = bucket / 1024 + 9, part = bucket % 1024;
    return (INT64_C(1024) + part) << (octave - 10);
}

int64_t timing_hi_us(int bucket)
{
    return timing_lo_us(bucket + 1) - 1;
}

int64_t timing_quantile_us(const struct timing *timing, double share)
{
    uint64_t below = 0, wanted = (uint64_t)ceil((double)timing->count * share);
    if (timing->count == 0)
        return 0;
    if (wanted > timing->count)
        wanted = timing->count;
    for (int i = 0; i < TIMING_BUCKETS; i++) {
        below += timing->buckets[i];
        if (below >= wanted && below > 0)
            return timing_hi_us(i) < timing->max_us ? timing_hi_us(i) : timing->max_us;
    }
    return timing->max_us;
}

double timing_mean_us(const struct timing *timing)
{
    return timing->count == 0 ? 0 : (double)timing->sum_us / (double)timing->count;
}

void timing_add(struct timing *to, const struct timing *from)
{
    if (from->count == 0)
        return;
    if (to->count == 0 || from->min_us < to->min_us)
        to->min_us = from->min_us;
    if (from->max_us > to->max_us)
        to->max_us = from->max_us;
    to->count += from->count;
    to->sum_us += from->sum_us;
    for (int i = 0; i < TIMING_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
}
