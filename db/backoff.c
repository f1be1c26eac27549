/* backoff.c: see backoff.h. */
#include "backoff.h"

#include <stdlib.h>

void backoff_init(struct backoff *backoff, unsigned seed)
{
    *backoff = (struct backoff){.seed = seed};
}

/* From 75 to 125 of a hundred parts, evenly. */
static int64_t with_jitter_us(struct backoff *backoff, int pause_ms)
{
    int64_t pause_us = (int64_t)pause_ms * 1000;
    int64_t span_us = pause_us * BACKOFF_JITTER_PERCENT / 100;
    return pause_us - span_us + rand_r(&backoff->seed) % (2 * span_us + 1);
}

void backoff_fail(struct backoff *backoff, int64_t now_us)
{
    if (backoff_is_pausing(backoff, now_us))
        return;
    int pause_ms = backoff_is_failing(backoff) ? backoff->pause_ms * 2 : BACKOFF_FIRST_MS;
    backoff->pause_ms = pause_ms > BACKOFF_LAST_MS ? BACKOFF_LAST_MS : pause_ms;
    backoff->until_us = now_us + with_jitter_us(backoff, backoff->pause_ms);
}

bool backoff_succeed(struct backoff *backoff)
{
    bool was_failing = backoff_is_failing(backoff);
    backoff->pause_ms = 0;
    return was_failing;
}
