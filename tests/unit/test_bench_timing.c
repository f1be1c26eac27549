/* test_bench_timing.c: the load generator's histogram: which bucket a time falls into, and what the buckets say. */
#include <CUnit/CUnit.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/timing.h"
#include "suite.h"

static void every_bucket_ends_where_the_next_begins(void)
{
    for (int i = 0; i < TIMING_BUCKETS; i++) {
        int64_t lo_us = timing_lo_us(i), hi_us = timing_hi_us(i);
        CU_ASSERT_FATAL(hi_us >= lo_us && timing_lo_us(i + 1) == hi_us + 1);
        if (lo_us <= TIMING_MAX_US)
            CU_ASSERT_FATAL(timing_bucket(lo_us) == i);
        if (hi_us <= TIMING_MAX_US)
            CU_ASSERT_FATAL(timing_bucket(hi_us) == i);
        CU_ASSERT_FATAL((double)(hi_us - lo_us) <= (double)lo_us / 1000);
    }
    CU_ASSERT(timing_bucket(TIMING_MAX_US) < TIMING_BUCKETS);
}

static void odd_times(void)
{
    static struct timing timing;
    CU_ASSERT_EQUAL(timing_bucket(-1), 0);
    CU_ASSERT_EQUAL(timing_bucket(INT64_MIN), 0);
    CU_ASSERT_EQUAL(timing_bucket(INT64_MAX), timing_bucket(TIMING_MAX_US));
    memset(&timing, 0, sizeof timing);
    timing_record(&timing, -5);
    timing_record(&timing, 100000000);
    CU_ASSERT(timing.min_us == 0 && timing.max_us == 100000000 && timing.count == 2);
    CU_ASSERT_EQUAL(timing_mean_us(&timing), 5e7);
    CU_ASSERT(timing_quantile_us(&timing, 1) >= TIMING_MAX_US);
}

static void nothing_and_one(void)
{
    static struct timing timing;
    memset(&timing, 0, sizeof timing);
    CU_ASSERT(timing_quantile_us(&timing, 0.5) == 0 && timing_mean_us(&timing) == 0);
    timing_record(&timing, 123456);
    CU_ASSERT_EQUAL(timing_quantile_us(&timing, 0.001), 123456);
    CU_ASSERT_EQUAL(timing_quantile_us(&timing, 1), 123456);
    CU_ASSERT_EQUAL(timing.min_us, 123456);
}

static int by_size(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void quantiles_have_three_digits(void)
{
    enum { COUNT = 20000 };
    static const double shares[] = {0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
    static int64_t times_us[COUNT];
    static struct timing timing;
    unsigned seed = 1;
    for (int round = 0; round < 10; round++) {
        memset(&timing, 0, sizeof timing);
        for (int i = 0; i < COUNT; i++) {
            times_us[i] = rand_r(&seed) % (INT64_C(2) << rand_r(&seed) % 25);
            timing_record(&timing, times_us[i]);
        }
        qsort(times_us, COUNT, sizeof *times_us, by_size);
        for (size_t i = 0; i < SUITE_COUNT(shares); i++) {
            int64_t exact_us = times_us[(int)ceil(COUNT * shares[i]) - 1],
                    told_us = timing_quantile_us(&timing, shares[i]);
            SUITE_CHECK(told_us >= exact_us && (double)told_us <= (double)exact_us * 1.001,
                        "share %g: %" PRId64 " told as %" PRId64, shares[i], exact_us, told_us);
        }
    }
}

static void sums_are_sums(void)
{
    static struct timing all, parts[3], sum;
    unsigned seed = 2;
    memset(&all, 0, sizeof all);
    memset(parts, 0, sizeof parts);
    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < 1000; i++) {
        int64_t time_us = rand_r(&seed) % 3000000;
        timing_record(&all, time_us);
        timing_record(&parts[i % 2], time_us); /* the third stays empty */
    }
    for (int i = 0; i < 3; i++)
        timing_add(&sum, &parts[i]);
    CU_ASSERT(memcmp(&sum, &all, sizeof all) == 0);
}

static const struct suite_case cases[] = {
    {"every bucket ends where the next begins", every_bucket_ends_where_the_next_begins},
    {"odd times", odd_times},
    {"nothing and one", nothing_and_one},
    {"quantiles have three digits", quantiles_have_three_digits},
    {"sums are sums", sums_are_sums},
};

int main(int argc, char **argv)
{
    return suite_main("bench_timing", cases, SUITE_COUNT(cases), argc, argv);
}
