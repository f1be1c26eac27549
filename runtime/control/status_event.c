/*
 * status_event.c: what every form of the status calls the ledger's events, and sums that every form shows. Pure.
 */
#include "control/status_page.h"

const struct status_event status_events[LEDGER_EVENTS] = {
    [LEDGER_RESTARTS] = {"restarts", "Workers that ended without being asked and were replaced"},
    [LEDGER_CRASHES_SEEN] = {"crashes", "Workers ended by a signal"},
    [LEDGER_LOST] = {"lost", "Requests that ran in a worker which ended without being asked"},
    [LEDGER_RECYCLED] = {"recycled", "Workers replaced at max_requests or max_memory"},
    [LEDGER_OVERDUE] = {"overdue", "Workers replaced for a request past its hard time limit"},
    [LEDGER_SLOW] = {"slow", "Requests past request_timeout"},
    [LEDGER_RELOADS] = {"reloads", "Reloads that succeeded"},
    [LEDGER_RELOAD_FAILURES] = {"reload_failures", "Reloads and upgrades that failed"},
    [LEDGER_UPGRADES] = {"upgrades", "Changes of the program"},
};

struct status_sums status_sum(const struct snapshot *snapshot)
{
    struct status_sums sums = {0};
    for (int i = 0; i < snapshot->worker_count; i++) {
        const struct snapshot_worker *worker = &snapshot->workers[i];
        sums.serving += worker->state == SCOREBOARD_SERVING;
        sums.threads += worker->threads;
        sums.threads_busy += worker->threads_busy;
        sums.connections += worker->connections;
    }
    return sums;
}
