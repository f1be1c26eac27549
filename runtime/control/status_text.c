/*
 * status_text.c: a snapshot for a terminal: what `millrace status` prints.
 */
#include <inttypes.h>
#include <string.h>

#include "control/figure.h"
#include "control/rates.h"
#include "control/status_page.h"

#define THREADS_SHOWN 50
#define ROUTE_COLUMNS 16 /* at least */

static const double shares[] = {0.5, 0.99, 0.999};

/* What came from outside must neither command the terminal nor move what stands behind it: nothing but ASCII, the rest
 * as in a URI. */
static void put_text(FILE *to, const char *bytes)
{
    for (; *bytes != '\0'; bytes++) {
        unsigned char byte = (unsigned char)*bytes;
        if (byte >= 0x20 && byte < 0x7f)
            fputc(byte, to);
        else
            fprintf(to, "%%%02X", byte);
    }
}

static void put_head(FILE *to, const struct snapshot *snapshot)
{
    struct status_sums sums = status_sum(snapshot);
    fprintf(to, "millrace %s, process %d, generation %d, up %s\n", MR_VERSION, (int)snapshot->master,
            snapshot->generation, figure_age(snapshot->uptime_us).text);
    fprintf(to, "workers serving %d, threads busy %d of %d, requests queued %d, suspended %d\n", sums.serving,
            sums.threads_busy, sums.threads, snapshot->queued, snapshot->suspended);
    fprintf(to, "connections %d, idle %d\n", sums.connections, snapshot->idle);
    for (int i = 0; i < LEDGER_EVENTS; i++) {
        fputs(i == 0 ? "" : ", ", to);
        for (const char *at = status_events[i].name; *at != '\0'; at++)
            fputc(*at == '_' ? ' ' : *at, to);
        fprintf(to, " %" PRIu64, snapshot->events[i]);
    }
    fputs("\n\n", to);
}

static void put_workers(FILE *to, const struct snapshot *snapshot)
{
    fprintf(to, "%8s %7s %11s  %-9s %12s %9s %12s %6s %7s %12s\n", "PROCESS", "WORKER", "GENERATION", "STATE", "UP",
            "BUSY", "CONNECTIONS", "IDLE", "QUEUED", "REQUESTS");
    for (int i = 0; i < snapshot->worker_count; i++) {
        const struct snapshot_worker *worker = &snapshot->workers[i];
        char busy[32];
        snprintf(busy, sizeof busy, "%d/%d", worker->threads_busy, worker->threads);
        fprintf(to, "%8d %7d %11d  %-9s %12s %9s %12d %6d %7d %12" PRIu64 "\n", (int)worker->pid, worker->number,
                worker->generation, status_state_name(worker->state), figure_age(worker->uptime_us).text, busy,
                worker->connections, worker->idle, worker->queued, worker->requests);
    }
}

static const char *name_of(const struct snapshot_route *route)
{
    return route->path[0] != '\0' ? route->path : "(no route)";
}

static void put_times(FILE *to, const struct histogram *histogram)
{
    bool is_empty = histogram_count(histogram) == 0;
    for (int i = 0; i < 3; i++)
        fprintf(to, " %8s", is_empty ? "-" : figure_ms(histogram_quantile_us(histogram, shares[i])).text);
}

static void put_route(FILE *to, const struct snapshot *snapshot, const struct snapshot_route *route, int columns)
{
    double rate = rates_of(snapshot, route);
    int left = columns - (int)strlen(name_of(route));
    put_text(to, name_of(route));
    fprintf(to, "%*s %12" PRIu64 " %8s %8" PRIu64 " %8" PRIu64 "  ", left > 0 ? left : 0, "", route->requests,
            rate < 0 ? "-" : figure_number(rate).text, route->errors, route->refused);
    put_times(to, &route->queue);
    fputs("  ", to);
    put_times(to, &route->handler);
    fputc('\n', to);
}

static void put_routes(FILE *to, const struct snapshot *snapshot)
{
    int columns = ROUTE_COLUMNS;
    for (int i = 0; i < snapshot->route_count; i++) {
        int length = (int)strlen(name_of(&snapshot->routes[i]));
        columns = length > columns ? length : columns;
    }
    fprintf(to, "\n%*s   %26s   %26s\n", columns + 40, "", "QUEUE, ms", "HANDLER, ms");
    fprintf(to, "%-*s %12s %8s %8s %8s   %8s %8s %8s   %8s %8s %8s\n", columns, "ROUTE", "REQUESTS", "PER S", "ERRORS",
            "REFUSED", "50 %", "99 %", "99.9 %", "50 %", "99 %", "99.9 %");
    for (int i = 0; i < snapshot->route_count; i++)
        put_route(to, snapshot, &snapshot->routes[i], columns);
}

static void put_figures(FILE *to, const struct snapshot_route *route)
{
    if (route->figure_count == 0)
        return;
    fputc('\n', to);
    put_text(to, name_of(route));
    fputc('\n', to);
    for (int i = 0; i < route->figure_count; i++) {
        const struct app_figure *figure = &route->figures[i].is;
        fprintf(to, "  %-*s %20" PRId64 "  ", APP_FIGURE_NAME_BYTES - 1, figure->name, figure->value);
        put_text(to, figure->help);
        fputc('\n', to);
    }
}

static void put_threads(FILE *to, const struct snapshot *snapshot)
{
    int shown = snapshot->thread_count < THREADS_SHOWN ? snapshot->thread_count : THREADS_SHOWN;
    if (shown == 0)
        return;
    fprintf(to, "\n%8s %7s %11s %12s  %s\n", "PROCESS", "THREAD", "REQUEST", "FOR", "WHAT IT IS DOING");
    for (int i = 0; i < shown; i++) {
        const struct snapshot_thread *thread = &snapshot->threads[i];
        fprintf(to, "%8d %7d %11" PRIu64 " %12s  ", (int)snapshot->workers[thread->worker].pid, thread->number,
                thread->request, figure_elapsed(thread->elapsed_us).text);
        put_text(to, thread->method);
        fputc(' ', to);
        put_text(to, thread->uri);
        fputs(" (", to);
        put_text(to, thread->route);
        fputs(")\n", to);
    }
    if (snapshot->thread_count > shown)
        fprintf(to, "and %d more\n", snapshot->thread_count - shown);
}

void status_text_print(FILE *to, const struct snapshot *snapshot)
{
    put_head(to, snapshot);
    put_workers(to, snapshot);
    put_routes(to, snapshot);
    for (int i = 0; i < snapshot->route_count; i++)
        put_figures(to, &snapshot->routes[i]);
    put_threads(to, snapshot);
}
