/* test_bench_pace.c: the schedule of the open loop, over all its processes. */
#include <CUnit/CUnit.h>

#include <inttypes.h>

#include "load/pace.h"
#include "suite.h"

#define BEGIN_US INT64_C(5000000000)

static struct pace pace_of(double rate_per_s, int number, int of)
{
    return (struct pace){.begin_us = BEGIN_US, .rate_per_s = rate_per_s, .number = number, .of = of};
}

/* However many processes share them, the due times of all together are the same. */
static void processes_share_the_same_times(void)
{
    static const double rates[] = {0.5, 1, 3, 1000, 9999.5, 2000000};
    for (size_t r = 0; r < SUITE_COUNT(rates); r++) {
        struct pace alone = pace_of(rates[r], 0, 1);
        for (int of = 1; of <= 5; of++)
            for (uint64_t k = 0; k < 1000; k++) {
                struct pace one = pace_of(rates[r], (int)(k % (uint64_t)of), of);
                CU_ASSERT_FATAL(pace_due_us(&one, k / (uint64_t)of) == pace_due_us(&alone, k));
            }
    }
}

static void nothing_adds_up(void)
{
    struct pace pace = pace_of(3, 0, 1);
    CU_ASSERT_EQUAL(pace_due_us(&pace, 0), BEGIN_US);
    CU_ASSERT_EQUAL(pace_due_us(&pace, 1), BEGIN_US + 333333);
    CU_ASSERT_EQUAL(pace_due_us(&pace, 3 * 86400), BEGIN_US + INT64_C(86400000000));
}

static void counts_what_is_due_before(void)
{
    static const double rates[] = {0.7, 3, 1000, 123456.7};
    for (size_t r = 0; r < SUITE_COUNT(rates); r++)
        for (int of = 1; of <= 4; of++)
            for (int number = 0; number < of; number++) {
                struct pace pace = pace_of(rates[r], number, of);
                for (int64_t end_us = BEGIN_US - 10; end_us < BEGIN_US + 20000000; end_us += 1000003) {
                    uint64_t count = pace_count_before(&pace, end_us);
                    CU_ASSERT_FATAL(pace_due_us(&pace, count) >= end_us);
                    CU_ASSERT_FATAL(count == 0 || pace_due_us(&pace, count - 1) < end_us);
                }
            }
}

/* A request is due at the beginning, and none at the end: 10 s at 1000/s are 10000 requests. */
static void a_window_has_rate_times_seconds(void)
{
    uint64_t sum = 0;
    for (int number = 0; number < 3; number++) {
        struct pace pace = pace_of(1000, number, 3);
        sum += pace_count_before(&pace, BEGIN_US + 12000000) - pace_count_before(&pace, BEGIN_US + 2000000);
    }
    CU_ASSERT_EQUAL(sum, 10000);
}

static void shares(void)
{
    for (uint64_t whole = 0; whole < 30; whole++)
        for (int of = 1; of < 8; of++) {
            uint64_t sum = 0;
            for (int number = 0; number < of; number++) {
                uint64_t share = pace_share(whole, number, of);
                CU_ASSERT_FATAL(share == whole / (uint64_t)of || share == whole / (uint64_t)of + 1);
                sum += share;
            }
            CU_ASSERT_FATAL(sum == whole);
        }
}

static const struct suite_case cases[] = {
    {"processes share the same times", processes_share_the_same_times},
    {"nothing adds up", nothing_adds_up},
    {"counts what is due before", counts_what_is_due_before},
    {"a window has rate times seconds", a_window_has_rate_times_seconds},
    {"shares", shares},
};

int main(int argc, char **argv)
{
    return suite_main("bench_pace", cases, SUITE_COUNT(cases), argc, argv);
}
