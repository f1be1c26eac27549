/* little.c: whether the figures of one closed loop can be true together; see little.h. */
#include "judge/little.h"

#include <math.h>

double little_ratio(double rate_per_s, double mean_us, int concurrency)
{
    if (concurrency <= 0 || !(rate_per_s > 0) || !(mean_us > 0))
        return NAN;
    return rate_per_s * mean_us / 1e6 / concurrency;
}

/* A generator rests between a reply and the next request, so that a little less than all connections are waiting. */
bool little_holds(double ratio)
{
    return !isnan(ratio) && ratio > 1 - 4 * LITTLE_TOLERANCE && ratio < 1 + LITTLE_TOLERANCE;
}

bool little_ordered(const double *percentiles, int count)
{
    double last = -1;
    for (int i = 0; i < count; i++) {
        if (isnan(percentiles[i]))
            continue;
        if (percentiles[i] < last)
            return false;
        last = percentiles[i];
    }
    return true;
}
