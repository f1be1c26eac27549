/*
 * backoff.h: when to try again what has failed. Pure: the caller brings the time and guards it.
 */
#ifndef DB_BACKOFF_H
#define DB_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum { BACKOFF_FIRST_MS = 50, BACKOFF_LAST_MS = 1000, BACKOFF_JITTER_PERCENT = 25 };

struct backoff {
    int pause_ms;     /* the last one's length before jitter; 0: nothing has failed since the last success */
    int64_t until_us; /* the present one's end */
    unsigned seed;
};

void backoff_init(struct backoff *backoff, unsigned seed);

/* A failure begins a pause, twice as long as the one before it, up to the longest, a quarter more or less by chance. Those
 * that come while a pause lasts belong to the failure that began it, and change nothing. */
void backoff_fail(struct backoff *backoff, int64_t now_us);

/* Returns whether it was failing. */
bool backoff_succeed(struct backoff *backoff);

static inline bool backoff_is_failing(const struct backoff *backoff)
{
    return backoff->pause_ms != 0;
}

static inline bool backoff_is_pausing(const struct backoff *backoff, int64_t now_us)
{
    return backoff_is_failing(backoff) && now_us < backoff->until_us;
}

#endif
