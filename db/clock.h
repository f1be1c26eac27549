/* clock.h: the time that everything here counts in: monotonic, microseconds. */
#ifndef DB_CLOCK_H
#define DB_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* What is left until `end_us`, for poll(2): rounded up, never negative. */
static inline int clock_left_ms(int64_t end_us)
{
    int64_t left_us = end_us - clock_now_us();
    return left_us <= 0 ? 0 : (int)((left_us + 999) / 1000);
}

#endif
