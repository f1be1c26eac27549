/* test_histogram.c: into which bucket a time falls, and what a set of buckets says about the times. */
#include <CUnit/CUnit.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "suite.h"

static void add(struct histogram *histogram, int64_t time_us)
{
    histogram->sum_us += (uint64_t)time_us;
    histogram->buckets[histogram_bucket(time_us)]++;
}

static void every_bucket_ends_where_the_next_begins(void)
{
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        int64_t end_us = (int64_t)histogram_end_us(i);

        SUITE_CHECK(histogram_bucket(end_us - 1) == i, "%" PRId64 " is in bucket %d, not %d", end_us - 1,
                    histogram_bucket(end_us - 1), i);
        if (i + 1 < HISTOGRAM_BUCKETS)
            SUITE_CHECK(histogram_bucket(end_us) == i + 1, "%" PRId64 " is in bucket %d, not %d", end_us,
                        histogram_bucket(end_us), i + 1);
    }
}

static void powers_of_two_are_edges(void)
{
    for (int octave = 0; octave <= 32; octave++) {
        int64_t edge_us = INT64_C(1) << octave;
        int before = histogram_bucket(edge_us - 1);

        SUITE_CHECK(histogram_end_us(before) == (uint64_t)edge_us, "2^%d is no edge", octave);
    }
}

static void odd_times_are_counted(void)
{
    CU_ASSERT_EQUAL(histogram_bucket(0), 0);
    CU_ASSERT_EQUAL(histogram_bucket(-1), 0);
    CU_ASSERT_EQUAL(histogram_bucket(INT64_MIN), 0);
    CU_ASSERT_EQUAL(histogram_bucket(INT64_C(1) << 32), HISTOGRAM_BUCKETS - 1);
    CU_ASSERT_EQUAL(histogram_bucket(INT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static int by_size(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* Times of every size, as a handler's are: most short, some a thousand times as long. */
static int64_t random_time_us(unsigned *seed)
{
    int octave = rand_r(seed) % 30;

    return (int64_t)((uint64_t)rand_r(seed) % (UINT64_C(2) << octave));
}

static void quantiles_are_known_to_an_eighth(void)
{
    enum { COUNT = 5000 };
    static const double shares[] = {0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
    static int64_t times_us[COUNT];
    unsigned seed = 1;

    for (int round = 0; round < 20; round++) {
        struct histogram histogram = {0};
        uint64_t sum_us = 0;

        for (int i = 0; i < COUNT; i++) {
            times_us[i] = random_time_us(&seed);
            sum_us += (uint64_t)times_us[i];
            add(&histogram, times_us[i]);
        }
        qsort(times_us, COUNT, sizeof *times_us, by_size);
        for (size_t i = 0; i < SUITE_COUNT(shares); i++) {
            int64_t exact_us = times_us[(int)ceil(COUNT * shares[i]) - 1];
            int64_t told_us = (int64_t)histogram_quantile_us(&histogram, shares[i]);

            SUITE_CHECK(told_us >= exact_us && (double)told_us <= (double)exact_us * 1.125,
                        "share %g: %" PRId64 " µs, told as %" PRId64, shares[i], exact_us, told_us);
        }
        CU_ASSERT_EQUAL(histogram_count(&histogram), COUNT);
        CU_ASSERT_EQUAL(histogram.sum_us, sum_us);
    }
}

static void few_values(void)
{
    struct histogram histogram = {0};

    CU_ASSERT_EQUAL(histogram_quantile_us(&histogram, 0.5), 0);
    CU_ASSERT_EQUAL(histogram_count(&histogram), 0);
    add(&histogram, 5);
    CU_ASSERT_EQUAL(histogram_quantile_us(&histogram, 0.001), 5);
    CU_ASSERT_EQUAL(histogram_quantile_us(&histogram, 1), 5);
    add(&histogram, 7);
    CU_ASSERT_EQUAL(histogram_quantile_us(&histogram, 0.5), 5);
    CU_ASSERT_EQUAL(histogram_quantile_us(&histogram, 0.51), 7);
}

static void counts_below_an_edge(void)
{
    struct histogram histogram = {0};
    static const int64_t times_us[] = {0, 1, 7, 8, 15, 16, 1000, 1024, 5000000, INT64_C(1) << 40};

    for (size_t i = 0; i < SUITE_COUNT(times_us); i++)
        add(&histogram, times_us[i]);
    CU_ASSERT_EQUAL(histogram_count_below(&histogram, 1), 1);
    CU_ASSERT_EQUAL(histogram_count_below(&histogram, 8), 3);
    CU_ASSERT_EQUAL(histogram_count_below(&histogram, 16), 5);
    CU_ASSERT_EQUAL(histogram_count_below(&histogram, 1024), 7);
    CU_ASSERT_EQUAL(histogram_count_below(&histogram, UINT64_C(1) << 26), 9);
    CU_ASSERT_EQUAL(histogram_count_below(&histogram, UINT64_C(1) << 32), 10);
}

static void sums_are_sums(void)
{
    struct histogram one = {0}, two = {0};

    add(&one, 100);
    add(&two, 100);
    add(&two, 3000);
    histogram_add(&one, &two);
    CU_ASSERT_EQUAL(one.sum_us, 3200);
    CU_ASSERT_EQUAL(histogram_count(&one), 3);
    CU_ASSERT_EQUAL(one.buckets[histogram_bucket(100)], 2);
}

static const struct suite_case cases[] = {
    {"every bucket ends where the next begins", every_bucket_ends_where_the_next_begins},
    {"powers of two are edges", powers_of_two_are_edges},
    {"odd times are counted", odd_times_are_counted},
    {"quantiles are known to an eighth", quantiles_are_known_to_an_eighth},
    {"few values", few_values},
    {"counts below an edge", counts_below_an_edge},
    {"sums are sums", sums_are_sums},
};

int main(int argc, char **argv)
{
    return suite_main("histogram", cases, SUITE_COUNT(cases), argc, argv);
}
