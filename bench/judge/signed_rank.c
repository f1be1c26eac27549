/* signed_rank.c: the median of paired differences and its exact interval; see signed_rank.h. */
#include "judge/signed_rank.h"

#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "judge/order.h"

/* How many of the 2^n sign patterns give each sum of ranks, divided by 2^n so that nothing overflows. The caller frees
 * it. */
static double *distribution(size_t n)
{
    size_t sums = n * (n + 1) / 2 + 1;
    double *share = calloc(sums, sizeof *share);
    CHECK(share != NULL);
    share[0] = 1;
    for (size_t rank = 1; rank <= n; rank++)
        for (size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
            share[sum] = (share[sum] + (sum >= rank ? share[sum - rank] : 0)) / 2;
    return share;
}

double signed_rank_probability(size_t n, double w)
{
    if (w < 0)
        return 0;
    double *share = distribution(n), sum = 0;
    size_t sums = n * (n + 1) / 2 + 1;
    for (size_t i = 0; i < sums && (double)i <= w; i++)
        sum += share[i];
    free(share);
    return sum > 1 ? 1 : sum;
}

/* The rank of the i-th among all absolute values that are not 0; of equal ones, the middle of theirs. */
static double rank_of(const double *x, size_t n, size_t i)
{
    size_t below = 0, equal = 0;
    for (size_t j = 0; j < n; j++) {
        below += x[j] != 0 && fabs(x[j]) < fabs(x[i]);
        equal += fabs(x[j]) == fabs(x[i]);
    }
    return (double)below + ((double)equal + 1) / 2;
}

double signed_rank_p(const double *x, size_t n)
{
    double above = 0, below = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += x[i] != 0;
        if (x[i] != 0)
            *(x[i] > 0 ? &above : &below) += rank_of(x, n, i);
    }
    return count == 0 ? 1 : fmin(1, 2 * signed_rank_probability(count, ceil(fmin(above, below))));
}

static double *walsh_averages(const double *x, size_t n)
{
    double *averages = calloc(n * (n + 1) / 2, sizeof *averages);
    size_t count = 0;
    CHECK(averages != NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            averages[count++] = (x[i] + x[j]) / 2;
    order_sort(averages, count);
    return averages;
}

bool signed_rank_estimate(const double *x, size_t n, double level, struct estimate *estimate)
{
    if (n == 0 || n > SIGNED_RANK_MAX)
        return false;
    size_t count = n * (n + 1) / 2;
    double *averages = walsh_averages(x, n), *share = distribution(n);
    size_t k = order_tail(share, count + 1, (1 - level) / 2);
    *estimate = (struct estimate){.value = order_median(averages, count), .n = n, .has_interval = k > 0};
    if (k > 0) {
        estimate->lo = averages[k - 1];
        estimate->hi = averages[count - k];
        estimate->confidence = 1 - 2 * order_below(share, k);
    }
    free(averages);
    free(share);
    return true;
}
