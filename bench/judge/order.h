/* order.h: sorted values, their median, and where an interval of them ends. Pure. */
#ifndef JUDGE_ORDER_H
#define JUDGE_ORDER_H

#include <stdbool.h>
#include <stddef.h>

void order_sort(double *x, size_t n);

/* Of sorted values, n > 0: the middle one, or the mean of the two. */
double order_median(const double *sorted, size_t n);

/* The greatest k with P(S < k) ≤ tail, for a statistic S of 0, 1, ... with these probabilities: an interval from the k-th
 * smallest to the k-th largest holds at least 1 − 2·tail. 0: there is none. */
size_t order_tail(const double *probability, size_t count, double tail);

/* P(S < k). */
double order_below(const double *probability, size_t k);

/* The median of the values (any order) and the interval between the k-th smallest and k-th largest of them, k by the binomial
 * distribution. Returns whether there is an interval of that level; needs n > 0. */
bool order_median_interval(const double *x, size_t n, double level, double *median, double *lo, double *hi);

#endif
