/*
 * route.h: which application answers which path.
 */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "millrace.h"
#include "serve/app_figure.h"
#include "serve/settings.h"

/* One `app` block inside one process: the struct that applications know by name. */
struct mr_route {
    const struct settings_route *settings;
    size_t path_length;
    int number; /* its place in the configuration */
    _Atomic int busy; /* handlers that run, when the route has a limit of its own */
    void *object;
    const struct mr_app *app;
    void *state;
    struct app_figures figures; /* its own numbers, on this worker's part of the scoreboard */
    bool started;
};

struct route_table {
    struct mr_route *routes; /* longest path first */
    size_t count;
};

#define ROUTE_WHY_BYTES 512

/* Makes the table; opens nothing. Returns 0, −1 with errno. */
int route_table_init(struct route_table *table, const struct settings *settings) __attribute__((warn_unused_result));
void route_table_fini(struct route_table *table);

/* Loads the route's shared object and checks what it exports: its constructors run. Returns 0, or −1 with one line. */
int route_open(struct mr_route *route, char why[ROUTE_WHY_BYTES]) __attribute__((warn_unused_result));

/* Calls the application's start hook; returns what it returned. Stop is called for what was started. */
int route_start(struct mr_route *route) __attribute__((warn_unused_result));
void route_stop(struct mr_route *route);

/* The same for one lane. */
int route_start_lane(struct mr_lane *part) __attribute__((warn_unused_result));
void route_stop_lane(struct mr_lane *part);

/* The longest route that is a prefix of `path` and ends where a segment ends; NULL when there is none. */
struct mr_route *route_find(const struct route_table *table, struct span path);

/* The route at this place of the configuration. */
struct mr_route *route_by_number(const struct route_table *table, int number);

/* Around a handler's call. route_enter returns false when the route has as many handlers running as it may; route_leave
 * returns true when one more may run now. Any thread. */
bool route_enter(struct mr_route *route) __attribute__((warn_unused_result));
bool route_leave(struct mr_route *route);

const char *route_option(const struct mr_route *route, const char *name);

#endif
