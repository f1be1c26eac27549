/* contest.h: comparisons of two cells of one run: the A/A arm and the claims. Pure. */
#ifndef RESULTS_CONTEST_H
#define RESULTS_CONTEST_H

#include <jansson.h>

/* The suffix of a server's second name, under which it is measured against itself. */
#define CONTEST_AGAIN "-again"

/* What the same server under two names differed by, a line for each pair of cells; the caller frees it. */
json_t *contest_again(const json_t *cells) __attribute__((warn_unused_result));

/* The greatest of those differences in closed loop, of pairs with rounds enough for a claim, or of all where no pair has; NAN where
 * there is none. */
double contest_noise(const json_t *again);

/* All claims that the cells allow: the paths of a server against each other, and each other server against the first, for each
 * workload and concurrency under the own generator. The caller frees it. */
json_t *contest_claims(const json_t *cells, double noise) __attribute__((warn_unused_result));

#endif
