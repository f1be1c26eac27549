/*
 * status_metrics.c: a snapshot as OpenMetrics. Source: OpenMetrics 1.0.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "control/status_page.h"

#define FIRST_OCTAVE 3  /* 8 µs */
#define LAST_OCTAVE  26 /* 67 s */

/* Label values escape \, " and line ends. */
static void put_label(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"')
            fputc('\\', to);
        if (*text == '\n')
            fputs("\\n", to);
        else
            fputc(*text, to);
    }
}

static void put_head(FILE *to, const char *name, const char *type, const char *unit, const char *help)
{
    fprintf(to, "# TYPE millrace_%s %s\n", name, type);
    if (unit != NULL)
        fprintf(to, "# UNIT millrace_%s %s\n", name, unit);
    fprintf(to, "# HELP millrace_%s %s\n", name, help);
}

static void put_sample(FILE *to, const char *name, const char *suffix, const struct snapshot_route *route)
{
    fprintf(to, "millrace_%s%s{route=\"", name, suffix);
    put_label(to, route->path);
    fputc('"', to);
}

static void put_counters(FILE *to, const struct snapshot *snapshot)
{
    put_head(to, "requests", "counter", NULL, "Requests answered.");
    for (int i = 0; i < snapshot->route_count; i++) {
        put_sample(to, "requests", "_total", &snapshot->routes[i]);
        fprintf(to, "} %" PRIu64 "\n", snapshot->routes[i].requests);
    }
    put_head(to, "errors", "counter", NULL, "Requests answered with a status of 500 or more.");
    for (int i = 0; i < snapshot->route_count; i++) {
        put_sample(to, "errors", "_total", &snapshot->routes[i]);
        fprintf(to, "} %" PRIu64 "\n", snapshot->routes[i].errors);
    }
    put_head(to, "refused", "counter", NULL, "Requests answered 503 because no thread was free.");
    for (int i = 0; i < snapshot->route_count; i++) {
        put_sample(to, "refused", "_total", &snapshot->routes[i]);
        fprintf(to, "} %" PRIu64 "\n", snapshot->routes[i].refused);
    }
}

static void put_histogram(FILE *to, const char *name, const struct snapshot_route *route,
                          const struct histogram *histogram)
{
    uint64_t count = histogram_count(histogram);
    for (int octave = FIRST_OCTAVE; octave <= LAST_OCTAVE; octave++) {
        uint64_t end_us = UINT64_C(1) << octave;
        put_sample(to, name, "_bucket", route);
        fprintf(to, ",le=\"%g\"} %" PRIu64 "\n", (double)end_us / CLOCK_SECOND,
                histogram_count_below(histogram, end_us));
    }
    put_sample(to, name, "_bucket", route);
    fprintf(to, ",le=\"+Inf\"} %" PRIu64 "\n", count);
    put_sample(to, name, "_count", route);
    fprintf(to, "} %" PRIu64 "\n", count);
    put_sample(to, name, "_sum", route);
    fprintf(to, "} %.6f\n", (double)histogram->sum_us / CLOCK_SECOND);
}

static void put_histograms(FILE *to, const struct snapshot *snapshot)
{
    put_head(to, "queue_seconds", "histogram", "seconds", "From a request's arrival to its handler's call.");
    for (int i = 0; i < snapshot->route_count; i++)
        put_histogram(to, "queue_seconds", &snapshot->routes[i], &snapshot->routes[i].queue);
    put_head(to, "handler_seconds", "histogram", "seconds", "Time in the handler.");
    for (int i = 0; i < snapshot->route_count; i++)
        put_histogram(to, "handler_seconds", &snapshot->routes[i], &snapshot->routes[i].handler);
}

static void put_gauge(FILE *to, const char *name, const char *help, double value)
{
    put_head(to, name, "gauge", NULL, help);
    fprintf(to, "millrace_%s %.10g\n", name, value);
}

static void put_gauges(FILE *to, const struct snapshot *snapshot)
{
    int serving = 0, busy = 0, connections = 0;
    for (int i = 0; i < snapshot->worker_count; i++) {
        serving += snapshot->workers[i].state == SCOREBOARD_SERVING;
        busy += snapshot->workers[i].threads_busy;
        connections += snapshot->workers[i].connections;
    }
    put_gauge(to, "workers", "Worker processes.", snapshot->worker_count);
    put_gauge(to, "workers_serving", "Of those, ready and not draining.", serving);
    put_gauge(to, "threads_busy", "Threads that run a handler.", busy);
    put_gauge(to, "connections", "Connections from front ends.", connections);
    put_gauge(to, "connections_idle", "Of those, between two requests.", snapshot->idle);
    put_gauge(to, "requests_queued", "Requests that wait for a thread.", snapshot->queued);
    put_gauge(to, "requests_suspended", "Requests without a thread that will be answered later.", snapshot->suspended);
    put_gauge(to, "generation", "The generation that serves.", snapshot->generation);
    put_head(to, "uptime_seconds", "gauge", "seconds", "Since the server's start.");
    fprintf(to, "millrace_uptime_seconds %.3f\n", (double)snapshot->uptime_us / CLOCK_SECOND);
}

void status_metrics_print(FILE *to, const struct snapshot *snapshot)
{
    put_counters(to, snapshot);
    put_histograms(to, snapshot);
    put_gauges(to, snapshot);
    for (int i = 0; i < LEDGER_EVENTS; i++) {
        put_head(to, status_events[i].name, "counter", NULL, status_events[i].help);
        fprintf(to, "millrace_%s_total %" PRIu64 "\n", status_events[i].name, snapshot->events[i]);
    }
    fputs("# EOF\n", to);
}
