/* results.h: a run's folder becomes its results: everything that a report prints, computed from the raw files alone.
 */
#ifndef RESULTS_RESULTS_H
#define RESULTS_RESULTS_H

#include <jansson.h>

/* The same folder gives the same bytes, anywhere: no clock, no machine, nothing besides its raw files. Returns NULL after a line
 * on standard error that begins with `who`, when it is no run's folder. Files of single rounds that are missing or broken only
 * make those rounds failed. The caller frees it. */
json_t *results_compute(const char *folder, const char *who) __attribute__((warn_unused_result));

#define RESULTS_SCHEMA "millbench-results/1"

/* As results.json holds it. The caller frees it. */
char *results_text(const json_t *results) __attribute__((warn_unused_result));

#endif
