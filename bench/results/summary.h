/* summary.h: what the rounds of one cell come to together. Pure. */
#ifndef RESULTS_SUMMARY_H
#define RESULTS_SUMMARY_H

#include <jansson.h>
#include <stddef.h>

#define SUMMARY_ROUNDS_MAX 250

/* Of the valid rounds only: medians, for goodput with its interval; who was the limit; and flags, sentences about what should be
 * known before the figures are used. The caller frees it. */
json_t *summary_of(const json_t *cell, const json_t *rounds) __attribute__((warn_unused_result));

/* The values of one figure in the valid rounds. Writes at most SUMMARY_ROUNDS_MAX numbers and returns how many. */
size_t summary_values(const json_t *rounds, const char *path, double *values);

/* Flags that need more than one cell. */
void summary_add_flag(json_t *summary, const char *text);

#endif
