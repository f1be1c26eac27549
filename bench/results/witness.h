/* witness.h: the own generator, ab and httperf on the same page side by side, and why they differ. Pure. */
#ifndef RESULTS_WITNESS_H
#define RESULTS_WITNESS_H

#include <jansson.h>

/* A line for each page and concurrency that more than one instrument measured. The caller frees it. */
json_t *witness_lines(const json_t *cells) __attribute__((warn_unused_result));

#endif
