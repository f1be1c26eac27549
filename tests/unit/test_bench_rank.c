/*
 * test_bench_rank.c: medians, their exact intervals and p-values: against published values, and against every outcome
 * counted one by one.
 */
#include <math.h>
#include <stdlib.h>

#include "judge/order.h"
#include "judge/rank_sum.h"
#include "judge/signed_rank.h"
#include "suite.h"

#define NEAR(is, should)                                                                                               \
    SUITE_CHECK(fabs((is) - (should)) <= 1e-12, "%s is %.15g, not %.15g", #is, (double)(is), (double)(should))

/* Values that are all different, as are their differences and sums: none of the averages below meet. */
static void fill_distinct(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = pow(1.37, (double)i) + 0.01 * sqrt((double)i + 2);
}

/* -- paired differences
 * ------------------------------------------------------------------------------------------------ */

/* Hamilton's depression factor of nine patients before and after a tranquilliser: Hollander, Wolfe,
 * examples 3.1, 3.3, 3.4. They give 0.0195 one-sided, -0.46, and [-0.786, -0.010] at 96.1 %. */
static void depression(void)
{
    const double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
    const double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
    double x[9];
    for (int i = 0; i < 9; i++)
        x[i] = after[i] - before[i];
    struct estimate is;
    CU_ASSERT_TRUE_FATAL(signed_rank_estimate(x, 9, 0.95, &is));
    NEAR(is.value, -0.46);
    CU_ASSERT_TRUE(is.has_interval);
    NEAR(is.lo, -0.786);
    NEAR(is.hi, -0.010);
    NEAR(is.confidence, 1 - 20.0 / 512);
    CU_ASSERT_EQUAL(is.n, 9);
    NEAR(signed_rank_probability(9, 5), 10.0 / 512);
}

/* Darwin's fifteen pairs of crossed and self-fertilised maize, in eighths of an inch: sum of ranks 96, p = 0.0413. */
static void maize(void)
{
    const double x[] = {49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
    struct estimate is;
    CU_ASSERT_TRUE_FATAL(signed_rank_estimate(x, 15, 0.95, &is));
    NEAR(is.value, 25);
    NEAR(is.lo, 4);
    NEAR(is.hi, 41.5);
    CU_ASSERT_DOUBLE_EQUAL(is.confidence, 0.9520874, 5e-8);
    CU_ASSERT_DOUBLE_EQUAL(2 * signed_rank_probability(15, 120 - 96), 0.04126, 5e-6);
}

/* The table of critical values in every textbook: the greatest sum that is significant at 5 %, two-sided. */
static void signed_rank_table(void)
{
    static const struct {
        size_t n, critical;
        double confidence;
    } rows[] = {
        {6, 0, 0.96875},     {7, 2, 0.953125},     {8, 3, 0.9609375},    {9, 5, 0.9609375},      {10, 8, 0.9511719},
        {11, 10, 0.9580078}, {12, 13, 0.9575195},  {13, 17, 0.9521484},  {14, 21, 0.9505615},    {15, 25, 0.9520874},
        {16, 29, 0.9556885}, {17, 34, 0.9552307},  {18, 40, 0.9517212},  {19, 46, 0.950634},     {20, 52, 0.9515591},
        {25, 89, 0.9517376}, {30, 137, 0.9502899}, {50, 434, 0.9505536}, {200, 8444, 0.9500304},
    };
    static double x[SIGNED_RANK_MAX], averages[SIGNED_RANK_MAX * (SIGNED_RANK_MAX + 1) / 2];
    for (size_t row = 0; row < SUITE_COUNT(rows); row++) {
        size_t n = rows[row].n, count = 0;
        for (size_t i = 0; i < n; i++)
            x[i] = sqrt((double)(7 * i * i + 3)) - 1.7 * (double)i;
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++)
                averages[count++] = (x[i] + x[j]) / 2;
        order_sort(averages, count);
        struct estimate is;
        CU_ASSERT_TRUE_FATAL(signed_rank_estimate(x, n, 0.95, &is));
        SUITE_CHECK(is.has_interval && is.lo == averages[rows[row].critical] &&
                        is.hi == averages[count - 1 - rows[row].critical],
                    "n = %zu: [%g, %g]", n, is.lo, is.hi);
        SUITE_CHECK(fabs(is.confidence - rows[row].confidence) < 1e-7, "n = %zu: %.9f", n, is.confidence);
        SUITE_CHECK(is.value == order_median(averages, count), "n = %zu: %g", n, is.value);
    }
}

/* Of 2^5 patterns of signs. */
static void signed_rank_distribution(void)
{
    static const int ways[] = {1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 2, 2, 1, 1, 1};
    int sum = 0;
    NEAR(signed_rank_probability(5, -1), 0);
    for (int w = 0; w < 16; w++) {
        sum += ways[w];
        NEAR(signed_rank_probability(5, w), sum / 32.0);
        NEAR(signed_rank_probability(5, w + 0.5), sum / 32.0);
    }
    NEAR(signed_rank_probability(5, 1000), 1);
    NEAR(signed_rank_probability(200, 20100), 1);
}

/* How many of all 2^n patterns of signs of these sizes have an interval that holds 0, the truth. */
static double held_by_signs(const double *sizes, size_t n, double *confidence)
{
    int held = 0;
    double x[16];
    struct estimate is;
    for (unsigned signs = 0; signs < 1U << n; signs++) {
        for (size_t i = 0; i < n; i++)
            x[i] = signs >> i & 1 ? -sizes[i] : sizes[i];
        CU_ASSERT_TRUE_FATAL(signed_rank_estimate(x, n, 0.95, &is) && is.has_interval);
        held += is.lo <= 0 && is.hi >= 0;
    }
    *confidence = is.confidence;
    return (double)held / (double)(1U << n);
}

static void signed_rank_holds_the_truth(void)
{
    for (size_t n = 6; n <= 12; n++) {
        double sizes[16], confidence;
        fill_distinct(sizes, n);
        double held = held_by_signs(sizes, n, &confidence);
        SUITE_CHECK(fabs(held - confidence) < 1e-12, "n = %zu: %.9f of them, not %.9f", n, held, confidence);
    }
}

static void signed_rank_holds_it_with_ties(void)
{
    static const double sizes[][10] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 0, 0, 0, 0, 1, 1, 2, 2, 3},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, {1, 1, 1, 2, 2, 2, 5, 5, 9, 9},
    };
    for (size_t i = 0; i < SUITE_COUNT(sizes); i++) {
        double confidence, held = held_by_signs(sizes[i], 10, &confidence);
        SUITE_CHECK(held >= confidence, "pattern %zu: %.6f of them, under %.6f", i, held, confidence);
    }
}

static void signed_rank_ties(void)
{
    const double zeros[10] = {0}, mixed[] = {0, 0, 1, 1, 1, 2, 2, 4, -1, 0};
    struct estimate is;
    CU_ASSERT_TRUE_FATAL(signed_rank_estimate(zeros, 10, 0.95, &is));
    CU_ASSERT_TRUE(is.has_interval && is.value == 0 && is.lo == 0 && is.hi == 0);
    /* Of the 55 averages 1 is -1, 3 are -0.5, 9 are 0, 11 are 0.5, 14 are 1, and so on: the 9th is 0, the 28th is 1,
     * the 47th is 2. */
    CU_ASSERT_TRUE_FATAL(signed_rank_estimate(mixed, 10, 0.95, &is));
    NEAR(is.lo, 0);
    NEAR(is.value, 1);
    NEAR(is.hi, 2);
}

static void signed_rank_limits(void)
{
    static double x[SIGNED_RANK_MAX + 1];
    struct estimate is = {.value = 7};
    CU_ASSERT_FALSE(signed_rank_estimate(x, 0, 0.95, &is));
    CU_ASSERT_FALSE(signed_rank_estimate(x, SIGNED_RANK_MAX + 1, 0.95, &is));
    CU_ASSERT_EQUAL(is.value, 7);
    for (size_t i = 0; i <= SIGNED_RANK_MAX; i++)
        x[i] = (double)i;
    CU_ASSERT_TRUE(signed_rank_estimate(x, SIGNED_RANK_MAX, 0.95, &is));
    NEAR(is.value, 99.5);
    for (size_t n = 1; n <= 5; n++) { /* 5 give at most 93.75 % */
        CU_ASSERT_TRUE(signed_rank_estimate(x, n, 0.95, &is));
        CU_ASSERT_FALSE(is.has_interval);
        NEAR(is.value, (double)(n - 1) / 2);
    }
    CU_ASSERT_TRUE(signed_rank_estimate(x, 5, 0.9375, &is)); /* exactly the level is enough */
    CU_ASSERT_TRUE(is.has_interval);
    CU_ASSERT_TRUE(is.lo == 0 && is.hi == 4);
    CU_ASSERT_TRUE(signed_rank_estimate(x, 7, 0.99, &is));
    CU_ASSERT_FALSE(is.has_interval);
    CU_ASSERT_TRUE(signed_rank_estimate(x, 8, 0.99, &is));
    CU_ASSERT_TRUE(is.has_interval);
}

/* -- two samples
 * ------------------------------------------------------------------------------------------------------- */

/* The permeability of amnion at term and at 12 to 26 weeks: Hollander, Wolfe, examples 4.1, 4.3, 4.4. They give 0.1272
 * one-sided, -0.305, and [-0.76, 0.15] at 96 %. */
static void permeability(void)
{
    const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    const double weeks[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    struct estimate is;
    CU_ASSERT_TRUE_FATAL(rank_sum_estimate(weeks, 5, term, 10, 0.95, &is));
    NEAR(is.value, -0.305);
    CU_ASSERT_TRUE(is.has_interval);
    NEAR(is.lo, -0.76);
    NEAR(is.hi, 0.15);
    CU_ASSERT_EQUAL(is.n, 5);
    CU_ASSERT_DOUBLE_EQUAL(rank_sum_p(weeks, 5, term, 10), 2 * 0.1272, 1e-4);
    NEAR(rank_sum_p(weeks, 5, term, 10), rank_sum_p(term, 10, weeks, 5));
    CU_ASSERT_TRUE_FATAL(rank_sum_estimate(term, 10, weeks, 5, 0.95, &is));
    NEAR(is.value, 0.305);
    NEAR(is.lo, -0.15);
    NEAR(is.hi, 0.76);
    CU_ASSERT_EQUAL(is.n, 5);
}

/* n values of x and m of y with U = u, all different: x is 1 to n, moved up past as many of y as needed. */
static void place(size_t n, size_t m, size_t u, double *x, double *y)
{
    for (size_t j = 0; j < m; j++)
        y[j] = (double)j;
    for (size_t i = n; i-- > 0;) {
        size_t past = u < m ? u : m;
        x[i] = (double)past - 0.5 + 0.001 * (double)i;
        u -= past;
    }
}

/* Mann and Whitney: the ways to have each U of two samples of five, of 252. */
static void rank_sum_distribution(void)
{
    static const int ways[] = {1, 1, 2, 3, 5, 7, 9, 11, 14, 16, 18, 19, 20};
    int sum = 0;
    for (size_t u = 0; u <= 12; u++) {
        double x[5], y[5];
        sum += ways[u];
        double should = 2.0 * sum / 252;
        place(5, 5, u, x, y);
        NEAR(rank_sum_p(x, 5, y, 5), should);
        place(5, 5, 25 - u, x, y);
        NEAR(rank_sum_p(x, 5, y, 5), should);
    }
    CU_ASSERT_EQUAL(sum, 126);
}

/* The table of critical values: the greatest U that is significant at 5 %, two-sided. */
static void rank_sum_table(void)
{
    static const struct {
        size_t n, m, critical;
    } rows[] = {{4, 4, 0},    {5, 5, 2},    {6, 6, 5},    {7, 7, 8},       {8, 8, 13}, {9, 9, 17},
                {10, 10, 23}, {12, 12, 37}, {15, 15, 64}, {20, 20, 127},   {4, 8, 4},  {5, 10, 8},
                {10, 5, 8},   {10, 20, 55}, {20, 10, 55}, {100, 100, 4197}};
    static double differences[RANK_SUM_MAX * RANK_SUM_MAX];
    for (size_t row = 0; row < SUITE_COUNT(rows); row++) {
        size_t n = rows[row].n, m = rows[row].m, critical = rows[row].critical;
        double x[RANK_SUM_MAX], y[RANK_SUM_MAX];
        place(n, m, critical, x, y);
        double p = rank_sum_p(x, n, y, m);
        place(n, m, critical + 1, x, y);
        SUITE_CHECK(p <= 0.05 && rank_sum_p(x, n, y, m) > 0.05, "%zu and %zu", n, m);
        for (size_t i = 0; i < n; i++)
            x[i] = sqrt((double)(5 * i + 2)) - 0.3 * (double)i;
        for (size_t j = 0; j < m; j++)
            y[j] = sqrt((double)(3 * j + 1)) - 0.2 * (double)j;
        for (size_t i = 0; i < n * m; i++)
            differences[i] = x[i / m] - y[i % m];
        order_sort(differences, n * m);
        struct estimate is;
        CU_ASSERT_TRUE_FATAL(rank_sum_estimate(x, n, y, m, 0.95, &is));
        SUITE_CHECK(is.has_interval && is.lo == differences[critical] && is.hi == differences[n * m - 1 - critical] &&
                        is.confidence >= 0.95 && is.value == order_median(differences, n * m),
                    "%zu and %zu: %g [%g, %g] at %.4f", n, m, is.value, is.lo, is.hi, is.confidence);
    }
}

struct splits {
    int count, held, alarms; /* of which the interval held 0, and of which p was at most 0.05 */
    double confidence;
};

/* All ways to divide ten values into two samples of five. */
static struct splits split_all(const double *values)
{
    struct splits splits = {0};
    for (unsigned pattern = 0; pattern < 1U << 10; pattern++) {
        double x[5], y[5];
        size_t n = 0, m = 0;
        if (__builtin_popcount(pattern) != 5)
            continue;
        for (int i = 0; i < 10; i++)
            *(pattern >> i & 1 ? &x[n++] : &y[m++]) = values[i];
        struct estimate is;
        CU_ASSERT_TRUE_FATAL(rank_sum_estimate(x, 5, y, 5, 0.95, &is) && is.has_interval);
        splits.count++;
        splits.held += is.lo <= 0 && is.hi >= 0;
        splits.alarms += rank_sum_p(x, 5, y, 5) <= 0.05;
        splits.confidence = is.confidence;
    }
    return splits;
}

static void rank_sum_holds_the_truth(void)
{
    double values[10];
    fill_distinct(values, 10);
    struct splits splits = split_all(values);
    CU_ASSERT_EQUAL(splits.count, 252);
    CU_ASSERT_EQUAL(splits.held, 252 - 2 * 4);
    CU_ASSERT_EQUAL(splits.alarms, 2 * 4);
    NEAR(splits.confidence, 1 - 8.0 / 252);
}

static void rank_sum_holds_it_with_ties(void)
{
    static const double values[][10] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 2, 2, 2, 2, 2}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, {1, 2, 3, 3, 3, 3, 3, 3, 4, 5}, {1, 1, 1, 2, 3, 4, 5, 6, 6, 6},
    };
    for (size_t i = 0; i < SUITE_COUNT(values); i++) {
        struct splits splits = split_all(values[i]);
        SUITE_CHECK(splits.held >= splits.confidence * splits.count, "pattern %zu: %d of %d", i, splits.held,
                    splits.count);
        SUITE_CHECK(splits.alarms <= 0.05 * splits.count, "pattern %zu: %d alarms", i, splits.alarms);
    }
}

static void rank_sum_limits(void)
{
    static double x[RANK_SUM_MAX + 1], y[RANK_SUM_MAX + 1];
    struct estimate is = {.value = 7};
    for (size_t i = 0; i <= RANK_SUM_MAX; i++)
        x[i] = (double)i, y[i] = (double)i + 1000;
    static const size_t wrong[][2] = {{0, 5}, {5, 0}, {0, 0}, {RANK_SUM_MAX + 1, 5}, {5, RANK_SUM_MAX + 1}};
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++) {
        CU_ASSERT_FALSE(rank_sum_estimate(x, wrong[i][0], y, wrong[i][1], 0.95, &is));
        CU_ASSERT_EQUAL(rank_sum_p(x, wrong[i][0], y, wrong[i][1]), 1);
    }
    CU_ASSERT_EQUAL(is.value, 7);
    CU_ASSERT_TRUE(rank_sum_estimate(x, RANK_SUM_MAX, y, RANK_SUM_MAX, 0.95, &is));
    NEAR(is.value, -1000);
    double p = rank_sum_p(x, RANK_SUM_MAX, y, RANK_SUM_MAX);
    CU_ASSERT_TRUE(p > 2.1e-59 && p < 2.3e-59);               /* 2 of 100 of 200: 2 ÷ 9.055e58 */
    CU_ASSERT_TRUE(rank_sum_estimate(x, 3, y, 3, 0.95, &is)); /* 3 and 3 give at most 90 % */
    CU_ASSERT_FALSE(is.has_interval);
    NEAR(is.value, -1000);
    CU_ASSERT_TRUE(rank_sum_estimate(x, 3, y, 3, 0.9, &is));
    CU_ASSERT_TRUE(is.has_interval);
    CU_ASSERT_TRUE(is.lo == -1002 && is.hi == -998);
    CU_ASSERT_TRUE(rank_sum_estimate(x, 1, y, 1, 0.95, &is));
    CU_ASSERT_FALSE(is.has_interval);
    CU_ASSERT_EQUAL(rank_sum_p(x, 1, y, 1), 1);
}

/* -- many comparisons
 * -------------------------------------------------------------------------------------------------- */

static void holm(void)
{
    double p[] = {0.01, 0.04, 0.03, 0.005}, one[] = {0.03}, many[] = {0.6, 0.02, 0.5, 0.02, 0.9}, none[] = {0.5};
    rank_sum_holm(p, 4); /* 4 × 0.005, 3 × 0.01, 2 × 0.03, and not less: 0.04 */
    NEAR(p[0], 0.03);
    NEAR(p[1], 0.06);
    NEAR(p[2], 0.06);
    NEAR(p[3], 0.02);
    rank_sum_holm(one, 1);
    NEAR(one[0], 0.03);
    rank_sum_holm(many, 5);
    NEAR(many[0], 1);
    NEAR(many[1], 0.1);
    NEAR(many[2], 1);
    NEAR(many[3], 0.1);
    NEAR(many[4], 1);
    rank_sum_holm(none, 0);
    NEAR(none[0], 0.5);
}

/* -- order statistics
 * -------------------------------------------------------------------------------------------------- */

static void medians(void)
{
    double x[] = {5, -1, 3, 2, 2};
    order_sort(x, 5);
    NEAR(order_median(x, 1), -1);
    NEAR(order_median(x, 2), 0.5);
    NEAR(order_median(x, 5), 2);
    NEAR(order_median(x, 4), 2);
    NEAR(x[4], 5);
}

static void tails(void)
{
    const double probability[] = {0.01, 0.02, 0.07, 0.4, 0.5};
    CU_ASSERT_EQUAL(order_tail(probability, 5, 0.005), 0);
    CU_ASSERT_EQUAL(order_tail(probability, 5, 0.01), 1);
    CU_ASSERT_EQUAL(order_tail(probability, 5, 0.03), 2);
    CU_ASSERT_EQUAL(order_tail(probability, 5, 0.0999), 2);
    CU_ASSERT_EQUAL(order_tail(probability, 5, 0.5), 4);
    CU_ASSERT_EQUAL(order_tail(probability, 0, 0.5), 0);
    NEAR(order_below(probability, 0), 0);
    NEAR(order_below(probability, 3), 0.1);
}

/* Which values a table of the sign test gives as the ends at 95 %. */
static void median_intervals(void)
{
    static const struct {
        size_t n, k;
    } rows[] = {{1, 0},  {5, 0},  {6, 1},  {8, 1},  {9, 2},  {10, 2}, {11, 2},
                {12, 3}, {14, 3}, {15, 4}, {17, 5}, {20, 6}, {23, 7}, {25, 8}};
    for (size_t row = 0; row < SUITE_COUNT(rows); row++) {
        double x[25], median, lo = -7, hi = -7;
        size_t n = rows[row].n, k = rows[row].k;
        for (size_t i = 0; i < n; i++)
            x[i] = (double)((i * 7 + 3) % n + 1); /* 1 to n, not in order; n is no multiple of 7 but for 14 */
        for (size_t i = 0; n % 7 == 0 && i < n; i++)
            x[i] = (double)(n - i);
        bool is = order_median_interval(x, n, 0.95, &median, &lo, &hi);
        SUITE_CHECK(is == (k > 0) && median == (double)(n + 1) / 2, "n = %zu: %d, %g", n, is, median);
        SUITE_CHECK(k == 0 ? lo == -7 && hi == -7 : lo == (double)k && hi == (double)(n + 1 - k), "n = %zu: [%g, %g]",
                    n, lo, hi);
    }
}

static const struct suite_case cases[] = {
    {"signed rank: Hollander and Wolfe's patients", depression},
    {"signed rank: Darwin's maize", maize},
    {"signed rank: the table of critical values", signed_rank_table},
    {"signed rank: the distribution", signed_rank_distribution},
    {"signed rank: of all outcomes, the interval holds the truth as often as it says", signed_rank_holds_the_truth},
    {"signed rank: at least as often with ties and zeros", signed_rank_holds_it_with_ties},
    {"signed rank: averages that tie", signed_rank_ties},
    {"signed rank: too few, too many", signed_rank_limits},
    {"rank sum: Hollander and Wolfe's membranes", permeability},
    {"rank sum: Mann and Whitney's distribution", rank_sum_distribution},
    {"rank sum: the table of critical values", rank_sum_table},
    {"rank sum: of all outcomes, the interval holds the truth as often as it says", rank_sum_holds_the_truth},
    {"rank sum: at least as often with ties, and no more alarms", rank_sum_holds_it_with_ties},
    {"rank sum: too few, too many", rank_sum_limits},
    {"Holm's correction", holm},
    {"medians", medians},
    {"tails", tails},
    {"the interval of a median", median_intervals},
};

int main(int argc, char **argv)
{
    return suite_main("bench rank", cases, SUITE_COUNT(cases), argc, argv);
}
