/*
 * rates.c: a ring of earlier looks. Runs in the status process.
 */
#include "control/rates.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define LOOKS      16
#define LEAST_US   (900 * CLOCK_MS) /* between the two looks that make a rate */
#define MOST_US    (10 * CLOCK_SECOND)
#define CLOSEST_US (500 * CLOCK_MS) /* looks that follow faster are not kept: many may look at once */

struct seen {
    char path[SETTINGS_PATH_BYTES];
    uint64_t requests;
};

static struct look {
    int64_t at_us;
    struct seen *seen;
    int count;
} looks[LOOKS];
static int looks_next;

void rates_add(const struct snapshot *snapshot)
{
    const struct look *last = &looks[(looks_next + LOOKS - 1) % LOOKS];
    if (last->seen != NULL && snapshot->taken_us - last->at_us < CLOSEST_US)
        return;
    struct look *look = &looks[looks_next];
    free(look->seen);
    *look = (struct look){.at_us = snapshot->taken_us};
    look->seen = calloc((size_t)snapshot->route_count, sizeof *look->seen);
    if (look->seen == NULL)
        return;
    for (; look->count < snapshot->route_count; look->count++) {
        memcpy(look->seen[look->count].path, snapshot->routes[look->count].path, SETTINGS_PATH_BYTES);
        look->seen[look->count].requests = snapshot->routes[look->count].requests;
    }
    looks_next = (looks_next + 1) % LOOKS;
}

/* Routes are only ever added, so a route's place then is its place now or one before it. */
static uint64_t requests_then(const struct look *look, const char *path, int place)
{
    for (int i = 0; i < look->count; i++) {
        const struct seen *seen = &look->seen[((place - i) % look->count + look->count) % look->count];
        if (strcmp(seen->path, path) == 0)
            return seen->requests;
    }
    return 0;
}

/* The latest look that is old enough. */
double rates_of(const struct snapshot *snapshot, const struct snapshot_route *route)
{
    const struct look *best = NULL;
    for (int i = 0; i < LOOKS; i++) {
        int64_t age_us = snapshot->taken_us - looks[i].at_us;
        if (looks[i].seen != NULL && age_us >= LEAST_US && age_us <= MOST_US &&
            (best == NULL || looks[i].at_us > best->at_us))
            best = &looks[i];
    }
    if (best == NULL)
        return -1;
    uint64_t before = requests_then(best, route->path, (int)(route - snapshot->routes));
    if (route->requests < before) /* an older program's counts are gone */
        return -1;
    return (double)(route->requests - before) * CLOCK_SECOND / (double)(snapshot->taken_us - best->at_us);
}
