/*
 * pace.c: due times by multiplication.
 */
#include "load/pace.h"

#include <math.h>

int64_t pace_due_us(const struct pace *pace, uint64_t k)
{
    double position = (double)k * pace->of + pace->number;
    return pace->begin_us + (int64_t)floor(position * 1e6 / pace->rate_per_s);
}

uint64_t pace_count_before(const struct pace *pace, int64_t end_us)
{
    if (end_us <= pace->begin_us)
        return 0;
    double positions = (double)(end_us - pace->begin_us) * pace->rate_per_s / 1e6;
    double guess = floor((positions - pace->number) / pace->of);
    uint64_t k = guess < 1 ? 0 : (uint64_t)guess - 1; /* rounding can be off by one either way */
    while (pace_due_us(pace, k) < end_us)
        k++;
    return k;
}

uint64_t pace_share(uint64_t whole, int number, int of)
{
    return whole / (uint64_t)of + ((uint64_t)number < whole % (uint64_t)of ? 1 : 0);
}
