/* rank_sum.h: the shift between two independent samples, its exact interval and p-value, after Mann and Whitney, and Wilcoxon;
 * and Holm's correction for many of them. Pure. */
#ifndef JUDGE_RANK_SUM_H
#define JUDGE_RANK_SUM_H

#include <stdbool.h>
#include <stddef.h>

#include "judge/signed_rank.h"

#define RANK_SUM_MAX 100 /* values of either sample */

/* How much greater x is than y: the median of all differences x[i] − y[j] and the interval between the k-th smallest and the
 * k-th largest, k by the exact distribution. Returns false when a sample is empty or too large. estimate->n is the smaller one.
 * Source: Hollander, Wolfe: Nonparametric Statistical Methods, sections 4.2 and 4.3. */
bool rank_sum_estimate(const double *x, size_t n, const double *y, size_t m, double level, struct estimate *estimate);

/* Two-sided p-value of no shift. A tie counts half, rounded to what is less significant. 1 when there is nothing to compare. */
double rank_sum_p(const double *x, size_t n, const double *y, size_t m);

/* Adjusts p-values in place for having looked at `count` of them: the chance that any of those at or under a limit is a false
 * alarm stays at or under that limit. Source: Holm 1979. */
void rank_sum_holm(double *p, size_t count);

#endif
