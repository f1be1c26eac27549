/*
 * status_json.c: a snapshot as JSON, with jansson. What memory is too short for is left out.
 */
#include <jansson.h>

#include "base/clock.h"
#include "control/rates.h"
#include "control/status_page.h"
#include "control/visible.h"

#define DIGITS 15 /* a double's: what was whole microseconds stays so */

static void put(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

static void put_count(json_t *object, const char *name, uint64_t count)
{
    put(object, name, json_integer((json_int_t)count));
}

/* JSON is UTF-8; a URI is bytes. */
static void put_text(json_t *object, const char *name, const char *bytes)
{
    char text[VISIBLE_ROOM(SETTINGS_PATH_BYTES)];
    put(object, name, json_string(visible_copy(text, sizeof text, bytes)));
}

static void put_seconds(json_t *object, const char *name, int64_t time_us)
{
    put(object, name, json_real((double)(time_us / CLOCK_MS) / 1000));
}

static void put_ms(json_t *object, const char *name, uint64_t time_us)
{
    put(object, name, json_real((double)time_us / CLOCK_MS));
}

static json_t *quantiles_of(const struct histogram *histogram)
{
    json_t *quantiles = json_object();
    put_ms(quantiles, "p50", histogram_quantile_us(histogram, 0.5));
    put_ms(quantiles, "p99", histogram_quantile_us(histogram, 0.99));
    put_ms(quantiles, "p999", histogram_quantile_us(histogram, 0.999));
    return quantiles;
}

static json_t *figures_of(const struct snapshot_route *route)
{
    json_t *figures = json_object();
    for (int i = 0; i < route->figure_count; i++)
        put(figures, route->figures[i].is.name, json_integer(route->figures[i].is.value));
    return figures;
}

static json_t *route_of(const struct snapshot *snapshot, const struct snapshot_route *route)
{
    json_t *object = json_object();
    double rate = rates_of(snapshot, route);
    put_text(object, "route", route->path);
    put_count(object, "requests", route->requests);
    put_count(object, "errors", route->errors);
    put_count(object, "refused", route->refused);
    put(object, "rate", rate < 0 ? json_null() : json_real(rate));
    put(object, "queue_ms", quantiles_of(&route->queue));
    put(object, "handler_ms", quantiles_of(&route->handler));
    put(object, "figures", figures_of(route));
    return object;
}

static json_t *worker_of(const struct snapshot_worker *worker)
{
    json_t *object = json_object();
    put(object, "pid", json_integer(worker->pid));
    put(object, "number", json_integer(worker->number));
    put(object, "generation", json_integer(worker->generation));
    put(object, "state", json_string(status_state_name(worker->state)));
    put_seconds(object, "uptime_s", worker->uptime_us);
    put(object, "threads", json_integer(worker->threads));
    put(object, "threads_busy", json_integer(worker->threads_busy));
    put(object, "connections", json_integer(worker->connections));
    put(object, "idle", json_integer(worker->idle));
    put(object, "queued", json_integer(worker->queued));
    put_count(object, "requests", worker->requests);
    return object;
}

static json_t *thread_of(const struct snapshot *snapshot, const struct snapshot_thread *thread)
{
    json_t *object = json_object();
    put(object, "worker", json_integer(snapshot->workers[thread->worker].pid));
    put(object, "thread", json_integer(thread->number));
    put_count(object, "request", thread->request);
    put_text(object, "route", thread->route);
    put_text(object, "method", thread->method);
    put_text(object, "uri", thread->uri);
    put_ms(object, "elapsed_ms", (uint64_t)thread->elapsed_us);
    return object;
}

static void put_lists(json_t *all, const struct snapshot *snapshot)
{
    json_t *routes = json_array(), *workers = json_array(), *threads = json_array();
    int shown = snapshot->thread_count < STATUS_THREADS_SHOWN ? snapshot->thread_count : STATUS_THREADS_SHOWN;
    for (int i = 0; i < snapshot->route_count; i++)
        json_array_append_new(routes, route_of(snapshot, &snapshot->routes[i]));
    for (int i = 0; i < snapshot->worker_count; i++)
        json_array_append_new(workers, worker_of(&snapshot->workers[i]));
    for (int i = 0; i < shown; i++)
        json_array_append_new(threads, thread_of(snapshot, &snapshot->threads[i]));
    put(all, "routes", routes);
    put(all, "workers", workers);
    put(all, "threads", threads);
    put(all, "threads_more", json_integer(snapshot->thread_count - shown));
}

void status_json_print(FILE *to, const struct snapshot *snapshot)
{
    json_t *all = json_object(), *connections = json_object();
    put(all, "version", json_string(MR_VERSION));
    put(all, "master", json_integer(snapshot->master));
    put(all, "generation", json_integer(snapshot->generation));
    put_seconds(all, "uptime_s", snapshot->uptime_us);
    for (int i = 0; i < LEDGER_EVENTS; i++)
        put_count(all, status_events[i].name, snapshot->events[i]);
    put_lists(all, snapshot);
    put(connections, "idle", json_integer(snapshot->idle));
    put(connections, "suspended", json_integer(snapshot->suspended));
    put(all, "connections", connections);
    put(all, "queued", json_integer(snapshot->queued));
    json_dumpf(all, to, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    fputc('\n', to);
    json_decref(all);
}
