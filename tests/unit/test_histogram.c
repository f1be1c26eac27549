/* test_histogram.c: buckets and quantiles of times. */
#include <CUnit/CUnit.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/histogram.h"
#include "suite.h"

static void buckets_follow_each_other(void)
{
    int64_t value = 0;
    for (int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        int64_t end = (int64_t)histogram_end_us(bucket);
        CU_ASSERT(end > value);
        CU_ASSERT_EQUAL(histogram_bucket(value), bucket);
        CU_ASSERT_EQUAL(histogram_bucket(end - 1), bucket);
        CU_ASSERT(bucket < 8 || (end - value) * 8 <= value); /* an eighth of the value at most */
        value = end;
    }
    CU_ASSERT_EQUAL(value, INT64_C(1) << 32);
}

static void odd_values_have_a_bucket(void)
{
    CU_ASSERT_EQUAL(histogram_bucket(-1), 0);
    CU_ASSERT_EQUAL(histogram_bucket(INT64_MIN), 0);
    CU_ASSERT_EQUAL(histogram_bucket(INT64_MAX), HISTOGRAM_BUCKETS - 1);
    CU_ASSERT_EQUAL(histogram_bucket(INT64_C(1) << 32), HISTOGRAM_BUCKETS - 1);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void quantiles_are_near(void)
{
    enum { COUNT = 1000 };
    static const double shares[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    srand(1);
    for (int round = 0; round < 100; round++) {
        struct histogram histogram = {0};
        int64_t values[COUNT];
        for (int i = 0; i < COUNT; i++) {
            values[i] = (int64_t)rand() >> (rand() % 31);
            histogram.buckets[histogram_bucket(values[i])]++;
        }
        qsort(values, COUNT, sizeof values[0], by_value);
        for (size_t i = 0; i < COUNT_OF(shares); i++) {
            int64_t exact = values[(int)(shares[i] * COUNT + 0.5) - 1];
            int64_t found = (int64_t)histogram_quantile_us(&histogram, shares[i]);
            SUITE_CHECK(found >= exact && found - exact <= exact / 8, "the %g quantile is %lld, found %lld", shares[i],
                        (long long)exact, (long long)found);
        }
        CU_ASSERT_EQUAL(histogram_count(&histogram), COUNT);
    }
}

static void nothing_counted(void)
{
    struct histogram histogram = {0};
    CU_ASSERT_EQUAL(histogram_quantile_us(&histogram, 0.5), 0);
    CU_ASSERT_EQUAL(histogram_count(&histogram), 0);
    CU_ASSERT_EQUAL(histogram_count_below(&histogram, 1 << 20), 0);
}

static void counts_below_an_edge(void)
{
    struct histogram histogram = {0}, sum = {0};
    for (int64_t value = 0; value < 4096; value++)
        histogram.buckets[histogram_bucket(value)]++;
    for (int octave = 3; octave <= 12; octave++)
        CU_ASSERT_EQUAL(histogram_count_below(&histogram, UINT64_C(1) << octave), UINT64_C(1) << octave);
    histogram_add(&sum, &histogram);
    histogram_add(&sum, &histogram);
    CU_ASSERT_EQUAL(histogram_count(&sum), 8192);
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"buckets follow each other", buckets_follow_each_other},
        {"odd values have a bucket", odd_values_have_a_bucket},
        {"quantiles are near", quantiles_are_near},
        {"nothing was counted", nothing_counted},
        {"counts below an edge", counts_below_an_edge},
    };
    return suite_main("histogram", cases, COUNT_OF(cases), argc, argv);
}
