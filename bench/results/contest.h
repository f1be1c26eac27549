/* contest.h: comparisons of two cells of one run: the A/A arm and the claims. Pure. */
#ifndef RESULTS_CONTEST_H
#define RESULTS_CONTEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The suffix of a server's second name, under which it is measured against itself. */
#define CONTEST_AGAIN "-again"

/* The suffix of another revision of a server, measured beside it. */
#define CONTEST_BASE "-base"

/* Whether two cells are the same but for the server, whose name has the suffix in `twin`. */
bool contest_is_twin(const json_t *twin, const json_t *cell, const char *suffix);

/* ln(a ÷ b) of a figure, by its path in a round, in all rounds that count on both sides; room for SUMMARY_ROUNDS_MAX. Returns how
 * many, at most SIGNED_RANK_MAX. */
size_t contest_log_ratios(const json_t *a, const json_t *b, const char *path, double *ratios);

/* What the same server under two names differed by, a line for each pair of cells; the caller frees it. */
json_t *contest_again(const json_t *cells) __attribute__((warn_unused_result));

/* The greatest of those differences in closed loop, of pairs with rounds enough for a claim, or of all where no pair has; NAN where
 * there is none. */
double contest_noise(const json_t *again);

/* All claims that the cells allow: the paths of a server against each other, and each other server against the first, for each
 * workload and concurrency under the own generator. The caller frees it. */
json_t *contest_claims(const json_t *cells, double noise) __attribute__((warn_unused_result));

#endif
