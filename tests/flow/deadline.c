/* deadline.c: monotonic time, and polling a condition with a limit. */
#include "deadline.h"

#include <poll.h>
#include <stddef.h>
#include <time.h>

int64_t deadline_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

int deadline_left_ms(int64_t end_ms)
{
    int64_t left = end_ms - deadline_now_ms();

    return left > 0 ? (int)left : 0;
}

bool deadline_wait(int limit_ms, bool (*holds)(void *context), void *context)
{
    int64_t end_ms = deadline_now_ms() + limit_ms;

    while (!holds(context)) {
        if (deadline_left_ms(end_ms) == 0)
            return holds(context);
        poll(NULL, 0, 5);
    }
    return true;
}
