/* rank_sum.c: the shift between two independent samples; see rank_sum.h. */
#include "judge/rank_sum.h"

#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "judge/order.h"

/* P(U = u) for all u from 0 to n·m: of all ways to take n of n+m ranks, how many exceed the least sum by u. By the last
 * rank: it is taken or not, in proportion. The caller frees it. */
static double *distribution(size_t n, size_t m)
{
    size_t width = n * m + 1;
    double *table = calloc((n + 1) * width, sizeof *table);
    double *result = calloc(width, sizeof *result);
    CHECK(table != NULL && result != NULL);
    for (size_t i = 0; i <= n; i++)
        table[i * width] = 1; /* j = 0: none of the other sample, so U is 0 */
    for (size_t j = 1; j <= m; j++)
        for (size_t i = 1; i <= n; i++) {
            double taken = (double)i / (double)(i + j);
            double *row = table + i * width, *shorter = table + (i - 1) * width;
            /* Row i still holds j−1: shifting it by nothing, and row i−1, which holds j already, by j. */
            for (size_t u = i * j + 1; u-- > 0;)
                row[u] = (1 - taken) * row[u] + (u >= j ? taken * shorter[u - j] : 0);
        }
    for (size_t u = 0; u < width; u++)
        result[u] = table[n * width + u];
    free(table);
    return result;
}

bool rank_sum_estimate(const double *x, size_t n, const double *y, size_t m, double level, struct estimate *estimate)
{
    if (n == 0 || m == 0 || n > RANK_SUM_MAX || m > RANK_SUM_MAX)
        return false;
    size_t count = n * m;
    double *differences = calloc(count, sizeof *differences), *probability = distribution(n, m);
    CHECK(differences != NULL);
    for (size_t i = 0; i < count; i++)
        differences[i] = x[i / m] - y[i % m];
    order_sort(differences, count);
    size_t k = order_tail(probability, count + 1, (1 - level) / 2);
    *estimate = (struct estimate){.value = order_median(differences, count), .n = n < m ? n : m, .has_interval = k > 0};
    if (k > 0) {
        estimate->lo = differences[k - 1];
        estimate->hi = differences[count - k];
        estimate->confidence = 1 - 2 * order_below(probability, k);
    }
    free(differences);
    free(probability);
    return true;
}

double rank_sum_p(const double *x, size_t n, const double *y, size_t m)
{
    if (n == 0 || m == 0 || n > RANK_SUM_MAX || m > RANK_SUM_MAX)
        return 1;
    double u = 0;
    for (size_t i = 0; i < n * m; i++)
        u += x[i / m] > y[i % m] ? 1 : x[i / m] < y[i % m] ? 0 : 0.5;
    double *probability = distribution(n, m);
    double nearer = u < (double)(n * m) - u ? u : (double)(n * m) - u;
    double p = 2 * order_below(probability, (size_t)ceil(nearer) + 1);
    free(probability);
    return p > 1 ? 1 : p;
}

struct ranked {
    double p;
    size_t place;
};

static int compare(const void *a, const void *b)
{
    double one = ((const struct ranked *)a)->p, other = ((const struct ranked *)b)->p;
    return (one > other) - (one < other);
}

void rank_sum_holm(double *p, size_t count)
{
    struct ranked *ranked = calloc(count + 1, sizeof *ranked);
    double least = 0;
    CHECK(ranked != NULL);
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){.p = p[i], .place = i};
    qsort(ranked, count, sizeof *ranked, compare);
    for (size_t i = 0; i < count; i++) {
        double adjusted = (double)(count - i) * ranked[i].p;
        least = adjusted > least ? adjusted : least;
        p[ranked[i].place] = least > 1 ? 1 : least;
    }
    free(ranked);
}
