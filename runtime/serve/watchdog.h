/*
 * watchdog.h: takes lanes away from handlers that have been running for more than a millisecond.
 */
#ifndef SERVE_WATCHDOG_H
#define SERVE_WATCHDOG_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lane;

struct watchdog {
    struct lane *lanes;
    int lane_count;
    uint64_t *seen; /* each lane's call at the last look */
    _Atomic bool asleep;
    _Atomic bool stopping;
    sem_t wake;
    pthread_t id;
};

/* Returns 0, −1 with errno. */
int watchdog_start(struct watchdog *watchdog, struct lane *lanes, int lane_count) __attribute__((warn_unused_result));
void watchdog_stop(struct watchdog *watchdog);

/* A lane has begun to work: the watchdog looks after it. Never blocks. */
void watchdog_notice(struct watchdog *watchdog);

#endif
