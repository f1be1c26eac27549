/*
 * status_json.c: a snapshot as JSON, with jansson.
 */
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "control/rates.h"
#include "control/status_page.h"

#define THREADS_MAX 200

const struct status_event status_events[LEDGER_EVENTS] = {
    [LEDGER_RESTARTS] = {"restarts", "Workers that ended without being asked and were replaced"},
    [LEDGER_CRASHES_SEEN] = {"crashes", "Workers ended by a signal"},
    [LEDGER_RECYCLED] = {"recycled", "Workers replaced at max_requests or max_memory"},
    [LEDGER_OVERDUE] = {"overdue", "Workers replaced for a request past its hard time limit"},
    [LEDGER_SLOW] = {"slow", "Requests past request_timeout"},
    [LEDGER_RELOADS] = {"reloads", "Reloads that succeeded"},
    [LEDGER_RELOAD_FAILURES] = {"reload_failures", "Reloads and upgrades that failed"},
    [LEDGER_UPGRADES] = {"upgrades", "Changes of the program"},
};

/* JSON is UTF-8, and a URI is bytes: where they are not that, each byte is shown as the character of its number. */
static json_t *text(const char *bytes)
{
    json_t *value = json_string(bytes);
    char latin[2 * SETTINGS_PATH_BYTES + 1];
    size_t length = 0;
    if (value != NULL)
        return value;
    for (; *bytes != '\0' && length + 2 < sizeof latin; bytes++) {
        unsigned char byte = (unsigned char)*bytes;
        if (byte >= 0x80)
            latin[length++] = (char)(0xc0 | byte >> 6);
        latin[length++] = byte >= 0x80 ? (char)(0x80 | (byte & 0x3f)) : (char)byte;
    }
    return json_stringn(latin, length);
}

static json_t *seconds(int64_t time_us)
{
    return json_real((double)(time_us / CLOCK_MS) / 1000);
}

static json_t *quantiles(const struct histogram *histogram)
{
    return json_pack("{s:f, s:f, s:f}", "p50", (double)histogram_quantile_us(histogram, 0.5) / 1000, "p99",
                     (double)histogram_quantile_us(histogram, 0.99) / 1000, "p999",
                     (double)histogram_quantile_us(histogram, 0.999) / 1000);
}

static json_t *route_of(const struct snapshot *snapshot, const struct snapshot_route *route)
{
    double rate = rates_of(snapshot, route);
    return json_pack("{s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "route", text(route->path), "requests",
                     (json_int_t)route->requests, "errors", (json_int_t)route->errors, "refused",
                     (json_int_t)route->refused, "rate", rate < 0 ? json_null() : json_real(rate), "queue_ms",
                     quantiles(&route->queue), "handler_ms", quantiles(&route->handler));
}

static json_t *worker_of(const struct snapshot_worker *worker)
{
    return json_pack("{s:i, s:i, s:i, s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:I}", "pid", (int)worker->pid, "number",
                     worker->number, "generation", worker->generation, "state", status_state_name(worker->state),
                     "uptime_s", seconds(worker->uptime_us), "threads", worker->threads, "threads_busy",
                     worker->threads_busy, "connections", worker->connections, "idle", worker->idle, "queued",
                     worker->queued, "requests", (json_int_t)worker->requests);
}

static json_t *thread_of(const struct snapshot *snapshot, const struct snapshot_thread *thread)
{
    return json_pack("{s:i, s:i, s:I, s:o, s:o, s:o, s:f}", "worker", (int)snapshot->workers[thread->worker].pid,
                     "thread", thread->number, "request", (json_int_t)thread->request, "route", text(thread->route),
                     "method", text(thread->method), "uri", text(thread->uri), "elapsed_ms",
                     (double)thread->elapsed_us / 1000);
}

void status_json_print(FILE *to, const struct snapshot *snapshot)
{
    json_t *routes = json_array(), *workers = json_array(), *threads = json_array();
    int shown = snapshot->thread_count < THREADS_MAX ? snapshot->thread_count : THREADS_MAX;
    for (int i = 0; i < snapshot->route_count; i++)
        json_array_append_new(routes, route_of(snapshot, &snapshot->routes[i]));
    for (int i = 0; i < snapshot->worker_count; i++)
        json_array_append_new(workers, worker_of(&snapshot->workers[i]));
    for (int i = 0; i < shown; i++)
        json_array_append_new(threads, thread_of(snapshot, &snapshot->threads[i]));
    json_t *all = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:i, s:{s:i, s:i}, s:i}", "version", MR_VERSION,
                            "master", (int)snapshot->master, "generation", snapshot->generation, "uptime_s",
                            seconds(snapshot->uptime_us), "routes", routes, "workers", workers, "threads", threads,
                            "threads_more", snapshot->thread_count - shown, "connections", "idle", snapshot->idle,
                            "suspended", snapshot->suspended, "queued", snapshot->queued);
    for (int i = 0; i < LEDGER_EVENTS; i++)
        json_object_set_new(all, status_events[i].name, json_integer((json_int_t)snapshot->events[i]));
    json_dumpf(all, to, JSON_COMPACT | JSON_REAL_PRECISION(6));
    fputc('\n', to);
    json_decref(all);
}
