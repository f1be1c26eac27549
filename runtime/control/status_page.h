/*
 * status_page.h: the ways to show a snapshot. Each writes the body of an answer.
 */
#ifndef CONTROL_STATUS_PAGE_H
#define CONTROL_STATUS_PAGE_H

#include <stdio.h>

#include "control/snapshot.h"

/* status_page.c: HTML; the page fetches itself again. `nonce` is what its script and style are allowed by. */
void status_page_print(FILE *to, const struct snapshot *snapshot, const char *nonce);

/* status_json.c, status_metrics.c (OpenMetrics 1.0), status_text.c (for a terminal). */
void status_json_print(FILE *to, const struct snapshot *snapshot);
void status_metrics_print(FILE *to, const struct snapshot *snapshot);
void status_text_print(FILE *to, const struct snapshot *snapshot);

#define STATUS_THREADS_SHOWN 200 /* the others are counted */

/* What a state is called. */
static inline const char *status_state_name(enum scoreboard_state state)
{
    static const char *const names[] = {[SCOREBOARD_NONE] = "none",
                                        [SCOREBOARD_STARTING] = "starting",
                                        [SCOREBOARD_SERVING] = "serving",
                                        [SCOREBOARD_DRAINING] = "draining"};
    return names[state];
}

/* status_event.c: names of events, the same in every form; and what each counts. */
struct status_event {
    const char *name, *help;
};
extern const struct status_event status_events[LEDGER_EVENTS];

/* Sums over the workers. */
struct status_sums {
    int serving, threads, threads_busy, connections;
};
struct status_sums status_sum(const struct snapshot *snapshot);

#endif
