/*
 * tally.c: what is counted of an answered request. Runs on lanes.
 */
#include "serve/tally.h"

#include "serve/access.h"
#include "serve/lane.h"
#include "serve/limits.h"
#include "serve/request.h"
#include "serve/worker.h"

void tally_answer(struct lane *lane, const struct request *request)
{
    struct scoreboard_counts *counts = lane_counts(lane, request->route);
    scoreboard_add(&counts->requests, 1);
    if (request->status >= 500)
        scoreboard_add(&counts->errors, 1);
    if (request->refused)
        scoreboard_add(&counts->refused, 1);
    if (request->started_us != 0) {
        struct scoreboard_durations *durations = lane_durations(lane, request->route);
        scoreboard_add_time(&durations->queue, request->started_us - request->ready_us);
        scoreboard_add_time(&durations->handler, request->handler_us);
    }
    access_add(&lane->worker->access, &lane->access, request);
    limits_count(&lane->worker->limits, ++lane->answers);
}
