/* signed_rank.h: the median of paired differences and its exact interval, after Hodges and Lehmann, and Wilcoxon. Pure. */
#ifndef JUDGE_SIGNED_RANK_H
#define JUDGE_SIGNED_RANK_H

#include <stdbool.h>
#include <stddef.h>

#define SIGNED_RANK_MAX 200 /* differences */

struct estimate {
    double value;
    bool has_interval;    /* false: there are too few values for the level */
    double lo, hi;
    double confidence;    /* achieved: at least what was asked for */
    size_t n;
};

/* The median of all n(n+1)/2 Walsh averages (x[i]+x[j])/2, i ≤ j, and the interval between the k-th smallest and the k-th
 * largest of them, k by the exact distribution of the signed-rank statistic. Ties and zeros are left as they are: the interval
 * holds then at least the confidence. Returns false for n = 0 or n > SIGNED_RANK_MAX.
 * Source: Hollander, Wolfe: Nonparametric Statistical Methods, sections 3.2 and 3.3. */
bool signed_rank_estimate(const double *x, size_t n, double level, struct estimate *estimate);

/* P(W ≤ w) of the signed-rank statistic of n differences without ties. */
double signed_rank_probability(size_t n, double w);

/* Two-sided p-value of differences around 0, exact without ties; zeros are left out, and of ties the less significant rank sum is
 * taken. 1 when there is nothing to compare. */
double signed_rank_p(const double *x, size_t n);

#endif
