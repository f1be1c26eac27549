/*
 * status_text.c: a snapshot for a terminal: what `millrace status` prints.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "control/rates.h"
#include "control/status_page.h"

#define THREADS_MAX 50

/* What came from outside must not command the terminal. */
static void put_text(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte >= 0x20 && byte < 0x7f)
            fputc(*text, to);
        else
            fprintf(to, "\\x%02x", byte);
    }
}

static void put_head(FILE *to, const struct snapshot *snapshot)
{
    fprintf(to, "millrace %s, process %d, up %.0f s, generation %d\n", MR_VERSION, (int)snapshot->master,
            (double)snapshot->uptime_us / CLOCK_SECOND, snapshot->generation);
    for (int i = 0; i < LEDGER_EVENTS; i++)
        fprintf(to, "%s%s %" PRIu64, i == 0 ? "" : ", ", status_events[i].name, snapshot->events[i]);
    fprintf(to, "\nconnections idle %d, suspended %d; requests queued %d\n\n", snapshot->idle, snapshot->suspended,
            snapshot->queued);
}

static void put_workers(FILE *to, const struct snapshot *snapshot)
{
    fprintf(to, "%8s %6s %10s %-9s %8s %9s %11s %6s %6s %12s\n", "process", "worker", "generation", "state", "up s",
            "busy", "connections", "idle", "queued", "requests");
    for (int i = 0; i < snapshot->worker_count; i++) {
        const struct snapshot_worker *worker = &snapshot->workers[i];
        fprintf(to, "%8d %6d %10d %-9s %8.0f %4d/%-4d %11d %6d %6d %12" PRIu64 "\n", (int)worker->pid, worker->number,
                worker->generation, status_state_name(worker->state), (double)worker->uptime_us / CLOCK_SECOND,
                worker->threads_busy, worker->threads, worker->connections, worker->idle, worker->queued,
                worker->requests);
    }
}

static void put_times(FILE *to, const struct histogram *histogram)
{
    static const double shares[] = {0.5, 0.99, 0.999};
    for (int i = 0; i < 3; i++)
        fprintf(to, " %9.3f", (double)histogram_quantile_us(histogram, shares[i]) / 1000);
}

static void put_routes(FILE *to, const struct snapshot *snapshot)
{
    fprintf(to, "\n%-20s %12s %8s %8s %8s  queue ms: 50 %%     99 %%    99.9 %%  handler: 50 %%     99 %%    99.9 %%\n",
            "route", "requests", "per s", "errors", "refused");
    for (int i = 0; i < snapshot->route_count; i++) {
        const struct snapshot_route *route = &snapshot->routes[i];
        double rate = rates_of(snapshot, route);
        char per_second[24] = "-";
        if (rate >= 0)
            snprintf(per_second, sizeof per_second, "%.0f", rate);
        fprintf(to, "%-20s %12" PRIu64 " %8s %8" PRIu64 " %8" PRIu64 "      ",
                route->path[0] ? route->path : "(no route)", route->requests, per_second, route->errors,
                route->refused);
        put_times(to, &route->queue);
        fputs("     ", to);
        put_times(to, &route->handler);
        fputc('\n', to);
    }
}

static void put_threads(FILE *to, const struct snapshot *snapshot)
{
    if (snapshot->thread_count == 0)
        return;
    fprintf(to, "\n%8s %6s %10s %10s  %s\n", "process", "thread", "request", "ms", "what it is doing");
    for (int i = 0; i < snapshot->thread_count && i < THREADS_MAX; i++) {
        const struct snapshot_thread *thread = &snapshot->threads[i];
        fprintf(to, "%8d %6d %10" PRIu64 " %10.1f  ", (int)snapshot->workers[thread->worker].pid, thread->number,
                thread->request, (double)thread->elapsed_us / 1000);
        put_text(to, thread->method);
        fputc(' ', to);
        put_text(to, thread->uri);
        fprintf(to, " (%s)\n", thread->route);
    }
    if (snapshot->thread_count > THREADS_MAX)
        fprintf(to, "and %d more\n", snapshot->thread_count - THREADS_MAX);
}

void status_text_print(FILE *to, const struct snapshot *snapshot)
{
    put_head(to, snapshot);
    put_workers(to, snapshot);
    put_routes(to, snapshot);
    put_threads(to, snapshot);
}
