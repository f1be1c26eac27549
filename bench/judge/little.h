/* little.h: whether the figures of one closed loop can be true together. Pure. */
#ifndef JUDGE_LITTLE_H
#define JUDGE_LITTLE_H

#include <stdbool.h>

#define LITTLE_TOLERANCE 0.05

/* Throughput × mean time ÷ concurrency: 1 where the times and the rate belong together. NAN without all three. A label on the
 * wrong figure (the inverse of the rate as a time) gives 1 ÷ concurrency.
 * Source: Little 1961. */
double little_ratio(double rate_per_s, double mean_us, int concurrency);

bool little_holds(double ratio);

/* Whether the percentiles are in order; NAN ones are left out. */
bool little_ordered(const double *percentiles, int count);

#endif
