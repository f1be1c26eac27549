/*
 * tally.h: counts of one route on one lane. Written by the lane's runner alone, read when the lanes have ended.
 */
#ifndef SERVE_TALLY_H
#define SERVE_TALLY_H

#include <stdint.h>

struct tally {
    uint64_t requests;
    uint64_t errors; /* answered with a status of 500 or more */
};

static inline void tally_count(struct tally *tally, int status)
{
    tally->requests++;
    tally->errors += status >= 500;
}

#endif
