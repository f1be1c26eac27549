/*
 * race.c: holds threads at points of hand-over, for tests. Any thread. Empty unless built with MR_RACES.
 */
#include "base/race.h"

#ifdef MR_RACES

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

#define HOLD_ONE_OF 4
#define HOLD_MAX_NS 3000000

#define RACE_TEXT(name) #name,
static const char *const names[] = {RACE_POINTS(RACE_TEXT)};
static _Atomic uint64_t passed, held;

/* Returns RACE_COUNT when none is chosen. */
static enum race_point chosen_point(void)
{
    const char *name = getenv("MILLRACE_RACE");
    int point = 0;
    while (point < RACE_COUNT && (name == NULL || strcmp(name, names[point]) != 0))
        point++;
    return (enum race_point)point;
}

/* Good enough to be different each time; a generator of its own for each thread, so that it orders nothing. */
static uint32_t next_random(void)
{
    static __thread uint32_t state;
    if (state == 0)
        state = (uint32_t)(uintptr_t)&state >> 4 | 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

void race_point(enum race_point point)
{
    static _Atomic int chosen = -1;
    int wanted = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (wanted < 0)
        atomic_store_explicit(&chosen, wanted = (int)chosen_point(), memory_order_relaxed);
    if ((int)point != wanted)
        return;
    bool first = atomic_fetch_add_explicit(&passed, 1, memory_order_relaxed) == 0;
    if (!first && next_random() % HOLD_ONE_OF != 0)
        return;
    atomic_fetch_add_explicit(&held, 1, memory_order_relaxed);
    nanosleep(&(struct timespec){.tv_nsec = next_random() % HOLD_MAX_NS}, NULL);
}

void race_report(void)
{
    enum race_point point = chosen_point();
    if (point != RACE_COUNT)
        log_info("race", "%s: passed %llu times, held %llu times", names[point],
                 (unsigned long long)atomic_load(&passed), (unsigned long long)atomic_load(&held));
}

#endif
