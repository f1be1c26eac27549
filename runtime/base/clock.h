/*
 * clock.h: time inside the server, in microseconds of the monotonic clock.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_MS INT64_C(1000)
#define CLOCK_SECOND INT64_C(1000000)

static inline int64_t clock_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec / 1000;
}

/* Milliseconds of a span for poll and epoll_wait: rounded up, so that nothing ends too early; 0 when it has passed. */
static inline int clock_ms_of(int64_t span_us)
{
    return span_us <= 0 ? 0 : (int)((span_us + CLOCK_MS - 1) / CLOCK_MS);
}

#endif
