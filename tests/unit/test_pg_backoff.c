/* test_pg_backoff.c: the pauses between attempts to reach a database, by the rules of db/backoff.h. */
#include "backoff.h"
#include "suite.h"

#define MS INT64_C(1000)

/* The pause that a failure at `now_us` begins. */
static int64_t pause_us(struct backoff *backoff, int64_t now_us)
{
    backoff_fail(backoff, now_us);
    return backoff->until_us - now_us;
}

static void doubles_up_to_the_longest(void)
{
    static const int expected_ms[] = {50, 100, 200, 400, 800, 1000, 1000, 1000};
    for (unsigned seed = 0; seed < 200; seed++) {
        struct backoff backoff;
        int64_t now_us = 5;
        backoff_init(&backoff, seed);
        for (size_t i = 0; i < SUITE_COUNT(expected_ms); i++) {
            int64_t seen_us = pause_us(&backoff, now_us);
            SUITE_CHECK(seen_us >= expected_ms[i] * 750 && seen_us <= expected_ms[i] * 1250,
                        "pause %zu of seed %u is %jd us", i, seed, (intmax_t)seen_us);
            now_us = backoff.until_us;
        }
    }
}

/* Two workers that lose the same server do not come back together. */
static void jitter_spreads(void)
{
    int64_t least_us = INT64_MAX, most_us = 0;
    for (unsigned seed = 0; seed < 500; seed++) {
        struct backoff backoff;
        backoff_init(&backoff, seed);
        int64_t seen_us = pause_us(&backoff, 0);
        least_us = seen_us < least_us ? seen_us : least_us;
        most_us = seen_us > most_us ? seen_us : most_us;
    }
    CU_ASSERT(least_us < 40 * MS);
    CU_ASSERT(most_us > 60 * MS);
}

static void failures_in_a_pause_are_one(void)
{
    struct backoff backoff;
    backoff_init(&backoff, 1);
    int64_t until_us = pause_us(&backoff, 0);
    for (int i = 0; i < 100; i++)
        backoff_fail(&backoff, until_us - 1);
    CU_ASSERT_EQUAL(backoff.until_us, until_us);
    CU_ASSERT(backoff_is_pausing(&backoff, until_us - 1));
    CU_ASSERT_FALSE(backoff_is_pausing(&backoff, until_us));
    CU_ASSERT(backoff_is_failing(&backoff));
}

static void success_begins_anew(void)
{
    struct backoff backoff;
    backoff_init(&backoff, 1);
    CU_ASSERT_FALSE(backoff_is_failing(&backoff));
    CU_ASSERT_FALSE(backoff_succeed(&backoff));
    for (int i = 0; i < 10; i++)
        backoff_fail(&backoff, i * 10000 * MS);
    CU_ASSERT(backoff_succeed(&backoff));
    CU_ASSERT_FALSE(backoff_is_failing(&backoff));
    CU_ASSERT_FALSE(backoff_is_pausing(&backoff, 0));
    CU_ASSERT(pause_us(&backoff, 200000 * MS) <= 63 * MS);
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"doubles up to the longest", doubles_up_to_the_longest},
        {"jitter spreads", jitter_spreads},
        {"failures in a pause are one", failures_in_a_pause_are_one},
        {"success begins anew", success_begins_anew},
    };
    return suite_main("pg_backoff", cases, SUITE_COUNT(cases), argc, argv);
}
