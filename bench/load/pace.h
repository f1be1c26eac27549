/*
 * pace.h: when the requests of an open loop are due, and how a number is shared among processes. Pure.
 */
#ifndef LOAD_PACE_H
#define LOAD_PACE_H

#include <stdint.h>

/* The requests of all processes together are due at even distances; process `number` of `of` has every of-th of them. */
struct pace {
    int64_t begin_us;
    double rate_per_s; /* of all processes */
    int number, of;
};

/* When request k = 0, 1, … of this process is due. Not from a sum of distances, so nothing adds up. */
int64_t pace_due_us(const struct pace *pace, uint64_t k);

/* How many of this process's requests are due before `end_us`. */
uint64_t pace_count_before(const struct pace *pace, int64_t end_us);

/* The share of process `number` of `of`; the shares add up to the whole and differ by one at most. */
uint64_t pace_share(uint64_t whole, int number, int of);

#endif
