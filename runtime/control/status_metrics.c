/*
 * status_metrics.c: a snapshot as OpenMetrics, which Prometheus reads.
 * Source: OpenMetrics 1.0.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "control/status_page.h"
#include "control/visible.h"

#define LAST_EDGE 26 /* 2^26 µs, 67 s; what took longer is in +Inf alone */

static void put_family(FILE *to, const char *name, const char *type, const char *unit, const char *help)
{
    fprintf(to, "# TYPE millrace_%s %s\n", name, type);
    if (unit != NULL)
        fprintf(to, "# UNIT millrace_%s %s\n", name, unit);
    fprintf(to, "# HELP millrace_%s %s.\n", name, help);
}

/* Text from outside in quotes or after HELP: \ and " are escaped. Line ends are not visible, and so are not here. */
struct escaped {
    char text[2 * VISIBLE_ROOM(SETTINGS_PATH_BYTES)];
};

static struct escaped escape(const char *bytes)
{
    char visible[VISIBLE_ROOM(SETTINGS_PATH_BYTES)];
    struct escaped escaped;
    char *to = escaped.text;
    for (const char *at = visible_copy(visible, sizeof visible, bytes); *at != '\0'; at++) {
        if (*at == '\\' || *at == '"')
            *to++ = '\\';
        *to++ = *at;
    }
    *to = '\0';
    return escaped;
}

/* -- a family a figure, a sample a route ----------------------------------------------------------------------------
 */

static void put_count(FILE *to, const char *name, const struct snapshot_route *route, uint64_t count)
{
    fprintf(to, "millrace_%s_total{route=\"%s\"} %" PRIu64 "\n", name, escape(route->path).text, count);
}

/* The samples of a family stand together. */
static void put_counters(FILE *to, const struct snapshot *snapshot)
{
    const struct snapshot_route *end = snapshot->routes + snapshot->route_count;
    put_family(to, "requests", "counter", NULL, "Requests answered");
    for (const struct snapshot_route *route = snapshot->routes; route < end; route++)
        put_count(to, "requests", route, route->requests);
    put_family(to, "errors", "counter", NULL, "Requests answered with a status of 500 or more");
    for (const struct snapshot_route *route = snapshot->routes; route < end; route++)
        put_count(to, "errors", route, route->errors);
    put_family(to, "refused", "counter", NULL, "Requests answered 503 because no thread was free");
    for (const struct snapshot_route *route = snapshot->routes; route < end; route++)
        put_count(to, "refused", route, route->refused);
}

/* Edges are powers of two. A time of n µs by the clock took less than n + 1 µs: what is below an edge is all that did
 * not take longer. */
static void put_histogram(FILE *to, const char *name, const struct snapshot_route *route,
                          const struct histogram *histogram)
{
    struct escaped label = escape(route->path);
    uint64_t count = histogram_count(histogram);
    for (int i = 0; i <= LAST_EDGE; i++) {
        uint64_t edge_us = UINT64_C(1) << i;
        fprintf(to, "millrace_%s_bucket{route=\"%s\",le=\"%.9g\"} %" PRIu64 "\n", name, label.text,
                (double)edge_us / CLOCK_SECOND, histogram_count_below(histogram, edge_us));
    }
    fprintf(to, "millrace_%s_bucket{route=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, label.text, count);
    fprintf(to, "millrace_%s_sum{route=\"%s\"} %.6f\n", name, label.text, (double)histogram->sum_us / CLOCK_SECOND);
    fprintf(to, "millrace_%s_count{route=\"%s\"} %" PRIu64 "\n", name, label.text, count);
}

static void put_histograms(FILE *to, const struct snapshot *snapshot)
{
    put_family(to, "queue_seconds", "histogram", "seconds", "From a request's arrival to its handler's call");
    for (int i = 0; i < snapshot->route_count; i++)
        put_histogram(to, "queue_seconds", &snapshot->routes[i], &snapshot->routes[i].queue);
    put_family(to, "handler_seconds", "histogram", "seconds", "Time in the handler");
    for (int i = 0; i < snapshot->route_count; i++)
        put_histogram(to, "handler_seconds", &snapshot->routes[i], &snapshot->routes[i].handler);
}

/* -- one sample a family --------------------------------------------------------------------------------------------
 */

static void put_gauge(FILE *to, const char *name, const char *help, int value)
{
    put_family(to, name, "gauge", NULL, help);
    fprintf(to, "millrace_%s %d\n", name, value);
}

static void put_workers(FILE *to, const struct snapshot *snapshot)
{
    int counts[SCOREBOARD_DRAINING + 1] = {0};
    for (int i = 0; i < snapshot->worker_count; i++)
        counts[snapshot->workers[i].state]++;
    put_family(to, "workers", "gauge", NULL, "Worker processes");
    for (int state = SCOREBOARD_STARTING; state <= SCOREBOARD_DRAINING; state++)
        fprintf(to, "millrace_workers{state=\"%s\"} %d\n", status_state_name((enum scoreboard_state)state),
                counts[state]);
}

static void put_gauges(FILE *to, const struct snapshot *snapshot)
{
    struct status_sums sums = status_sum(snapshot);
    put_workers(to, snapshot);
    put_gauge(to, "threads", "Threads for handlers, as configured", sums.threads);
    put_gauge(to, "threads_busy", "Threads that run a handler", sums.threads_busy);
    put_gauge(to, "connections", "Connections from front ends", sums.connections);
    put_gauge(to, "connections_idle", "Connections between two requests", snapshot->idle);
    put_gauge(to, "requests_queued", "Requests that wait for a thread", snapshot->queued);
    put_gauge(to, "requests_suspended", "Requests without a thread that will be answered later", snapshot->suspended);
    put_gauge(to, "generation", "The generation that serves", snapshot->generation);
    put_family(to, "uptime_seconds", "gauge", "seconds", "Since the server's start");
    fprintf(to, "millrace_uptime_seconds %.3f\n", (double)snapshot->uptime_us / CLOCK_SECOND);
}

static void put_events(FILE *to, const struct snapshot *snapshot)
{
    for (int i = 0; i < LEDGER_EVENTS; i++) {
        put_family(to, status_events[i].name, "counter", NULL, status_events[i].help);
        fprintf(to, "millrace_%s_total %" PRIu64 "\n", status_events[i].name, snapshot->events[i]);
    }
}

/* -- figures of applications ----------------------------------------------------------------------------------------
 */

struct app_sample {
    const struct snapshot_route *route;
    const struct app_figure *figure;
};

static int by_name(const void *a, const void *b)
{
    const struct app_sample *left = a, *right = b;
    int order = strcmp(left->figure->name, right->figure->name);
    return order != 0 ? order : (left->route > right->route) - (left->route < right->route);
}

/* What one route counts and another measures has no type in common. */
static const char *type_of(const struct app_sample *samples, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (samples[i].figure->counts != samples[0].figure->counts)
            return "unknown";
    return samples[0].figure->counts ? "counter" : "gauge";
}

/* Routes have a figure's name in common; the first one's help is shown. */
static void put_app_family(FILE *to, const struct app_sample *samples, size_t count)
{
    const char *name = samples[0].figure->name, *help = samples[0].figure->help;
    const char *type = type_of(samples, count);
    const char *suffix = strcmp(type, "counter") == 0 ? "_total" : "";
    fprintf(to, "# TYPE millrace_app_%s %s\n", name, type);
    if (help[0] != '\0')
        fprintf(to, "# HELP millrace_app_%s %s\n", name, escape(help).text);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "millrace_app_%s%s{route=\"%s\"} %" PRId64 "\n", name, suffix, escape(samples[i].route->path).text,
                samples[i].figure->value);
}

static size_t collect(struct app_sample *samples, const struct snapshot *snapshot)
{
    size_t count = 0;
    for (int i = 0; i < snapshot->route_count; i++) {
        const struct snapshot_route *route = &snapshot->routes[i];
        for (int j = 0; j < route->figure_count; j++, count++)
            if (samples != NULL)
                samples[count] = (struct app_sample){.route = route, .figure = &route->figures[j].is};
    }
    return count;
}

/* What memory is too short for is left out. */
static void put_app_figures(FILE *to, const struct snapshot *snapshot)
{
    size_t count = collect(NULL, snapshot), next;
    struct app_sample *samples = count == 0 ? NULL : calloc(count, sizeof *samples);
    if (samples == NULL)
        return;
    qsort(samples, collect(samples, snapshot), sizeof *samples, by_name);
    for (size_t i = 0; i < count; i = next) {
        for (next = i + 1; next < count && strcmp(samples[next].figure->name, samples[i].figure->name) == 0;)
            next++;
        put_app_family(to, &samples[i], next - i);
    }
    free(samples);
}

void status_metrics_print(FILE *to, const struct snapshot *snapshot)
{
    put_family(to, "build", "info", NULL, "The program");
    fprintf(to, "millrace_build_info{version=\"%s\"} 1\n", MR_VERSION);
    put_counters(to, snapshot);
    put_histograms(to, snapshot);
    put_gauges(to, snapshot);
    put_events(to, snapshot);
    put_app_figures(to, snapshot);
    fputs("# EOF\n", to);
}
