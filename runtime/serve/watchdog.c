/*
 * watchdog.c: one thread of the worker. While any lane works it looks once a millisecond, or, where no handler has kept
 * its lane for a second, every four: each look interrupts what runs on its CPU. When no lane has worked for a while it
 * sleeps until one begins, so that an idle server makes no wake-ups.
 */
#include "serve/watchdog.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/check.h"
#include "base/race.h"
#include "serve/lane.h"

#define LOOK_NS     1000000
#define LOOK_FAR_NS 4000000
#define ALERT_LOOKS 1000 /* after a lane was taken */
#define QUIET_LOOKS 10

/* Returns true while any lane works. */
static bool look(struct watchdog *watchdog, int *alert)
{
    bool working = false;
    *alert -= *alert > 0;
    for (int i = 0; i < watchdog->lane_count; i++) {
        struct lane *lane = &watchdog->lanes[i];
        uint64_t call = atomic_load_explicit(&lane->call, memory_order_acquire);
        if ((call & 1) && call == watchdog->seen[i]) {
            RACE_POINT(watchdog_looked);
            if (lane_take(lane, call))
                *alert = ALERT_LOOKS;
        }
        watchdog->seen[i] = call;
        working = working || (call & 1) || atomic_load(&lane->awake);
    }
    return working;
}

static bool any_awake(const struct watchdog *watchdog)
{
    for (int i = 0; i < watchdog->lane_count; i++)
        if (atomic_load(&watchdog->lanes[i].awake))
            return true;
    return false;
}

static void sleep_until_noticed(struct watchdog *watchdog)
{
    atomic_store(&watchdog->asleep, true);
    RACE_POINT(watchdog_tired);
    /* Pairs with the lane's store to `awake` before it calls watchdog_notice: one of the two sees the other. */
    if ((any_awake(watchdog) || atomic_load(&watchdog->stopping)) && atomic_exchange(&watchdog->asleep, false))
        return;
    while (sem_wait(&watchdog->wake) < 0)
        CHECK(errno == EINTR);
}

static void *watchdog_main(void *argument)
{
    struct watchdog *watchdog = argument;
    int quiet = 0, alert = 0;
    while (!atomic_load(&watchdog->stopping)) {
        quiet = look(watchdog, &alert) ? 0 : quiet + 1;
        const struct timespec pause = {.tv_nsec = alert > 0 ? LOOK_NS : LOOK_FAR_NS};
        if (quiet < QUIET_LOOKS) {
            nanosleep(&pause, NULL);
        } else {
            sleep_until_noticed(watchdog);
            quiet = 0;
        }
    }
    return NULL;
}

int watchdog_start(struct watchdog *watchdog, struct lane *lanes, int lane_count)
{
    watchdog->lanes = lanes;
    watchdog->lane_count = lane_count;
    watchdog->seen = calloc((size_t)lane_count, sizeof *watchdog->seen);
    atomic_init(&watchdog->asleep, false);
    atomic_init(&watchdog->stopping, false);
    sem_init(&watchdog->wake, 0, 0);
    if (watchdog->seen == NULL)
        return -1;
    int error = pthread_create(&watchdog->id, NULL, watchdog_main, watchdog);
    errno = error;
    return error == 0 ? 0 : -1;
}

void watchdog_stop(struct watchdog *watchdog)
{
    atomic_store(&watchdog->stopping, true);
    watchdog_notice(watchdog);
    pthread_join(watchdog->id, NULL);
    sem_destroy(&watchdog->wake);
    free(watchdog->seen);
}

void watchdog_notice(struct watchdog *watchdog)
{
    if (atomic_load(&watchdog->asleep) && atomic_exchange(&watchdog->asleep, false))
        sem_post(&watchdog->wake);
}
