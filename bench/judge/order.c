/* order.c: sorted values and intervals of them; see order.h. */
#include "judge/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define ROUNDING 1e-12 /* of sums of probabilities */

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

void order_sort(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
}

double order_median(const double *sorted, size_t n)
{
    CHECK(n > 0);
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double order_below(const double *probability, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += probability[i];
    return sum;
}

size_t order_tail(const double *probability, size_t count, double tail)
{
    double sum = 0;
    size_t k = 0;
    while (k < count && (sum += probability[k]) <= tail + ROUNDING)
        k++;
    return k;
}

/* Of n tosses of a coin. The caller frees it. */
static double *binomial(size_t n)
{
    double *probability = calloc(n + 1, sizeof *probability);
    CHECK(probability != NULL);
    probability[0] = 1;
    for (size_t toss = 1; toss <= n; toss++)
        for (size_t heads = toss + 1; heads-- > 0;)
            probability[heads] = (probability[heads] + (heads > 0 ? probability[heads - 1] : 0)) / 2;
    return probability;
}

bool order_median_interval(const double *x, size_t n, double level, double *median, double *lo, double *hi)
{
    CHECK(n > 0);
    double *sorted = calloc(n, sizeof *sorted), *probability = binomial(n);
    CHECK(sorted != NULL);
    memcpy(sorted, x, n * sizeof *sorted);
    order_sort(sorted, n);
    size_t k = order_tail(probability, n + 1, (1 - level) / 2);
    *median = order_median(sorted, n);
    if (k > 0) {
        *lo = sorted[k - 1];
        *hi = sorted[n - k];
    }
    free(sorted);
    free(probability);
    return k > 0;
}
