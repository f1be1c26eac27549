/* regression.h: whether a build is worse than the base that was measured beside it. Pure. */
#ifndef RESULTS_REGRESSION_H
#define RESULTS_REGRESSION_H

#include <jansson.h>

/* The verdicts. */
#define REGRESSION_WORSE   "worse"
#define REGRESSION_BETTER  "better"
#define REGRESSION_SAME    "same"
#define REGRESSION_FAILED  "failed"  /* the build did, and the base did not */
#define REGRESSION_UNKNOWN "unknown" /* too few rounds, or the base failed */

/* A line for each cell that has its base's beside it: {cell, figure, estimate, lo, hi, n, p, verdict}. The estimate is ln(this ÷
 * base), positive where this is better: of goodput in closed loop, of requests per CPU time at a fixed rate. Worse and better are
 * beyond what the same server under two names differs by, at 5 % for all lines together (Holm). The caller frees it. */
json_t *regression_lines(const json_t *cells) __attribute__((warn_unused_result));

#endif
