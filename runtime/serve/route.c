/*
 * route.c: loads applications and finds the one for a path. Loading runs on a worker's first thread (and in the
 * process that checks a configuration), finding on every lane; the table does not change meanwhile.
 */
#include "serve/route.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "serve/lane.h"

static int longest_first(const void *a, const void *b)
{
    const struct mr_route *left = a, *right = b;
    return (left->path_length < right->path_length) - (left->path_length > right->path_length);
}

int route_table_init(struct route_table *table, const struct settings *settings)
{
    table->count = settings->route_count;
    table->routes = calloc(table->count + 1, sizeof *table->routes);
    if (table->routes == NULL)
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        table->routes[i].settings = &settings->routes[i];
        table->routes[i].number = (int)i;
        table->routes[i].path_length = strlen(settings->routes[i].path);
    }
    qsort(table->routes, table->count, sizeof *table->routes, longest_first);
    return 0;
}

/* The objects stay loaded: code of a library that an application used may be needed by exit handlers. */
void route_table_fini(struct route_table *table)
{
    free(table->routes);
    *table = (struct route_table){0};
}

/* Returns NULL or why the application cannot be served. */
static const char *find_fault(const struct mr_app *app)
{
    if (app->abi != MR_ABI_VERSION)
        return "was built for another ABI of millrace.h: build it again";
    if (app->size < offsetof(struct mr_app, start) || app->size > sizeof *app)
        return "was built against a newer millrace.h than this server's: build it again";
    if (app->name == NULL || app->handle == NULL)
        return "has no name or no handler in its mr_app";
    return NULL;
}

/* The loader's words without the name of the private copy in front. */
static const char *without_path(const char *text, const char *path)
{
    size_t length = strlen(path);
    if (strncmp(text, path, length) != 0)
        return text;
    text += length;
    return text + strspn(text, ": ");
}

int route_open(struct mr_route *route, char why[ROUTE_WHY_BYTES])
{
    const char *where = route->settings->where, *file = route->settings->file;
    char copy[64];
    /* By the process's number, so that a debugger finds it as well. */
    snprintf(copy, sizeof copy, "/proc/%d/fd/%d", (int)getpid(), route->settings->object_fd);
    route->object = dlopen(route->settings->object_fd >= 0 ? copy : file, RTLD_NOW | RTLD_LOCAL);
    if (route->object == NULL) {
        snprintf(why, ROUTE_WHY_BYTES, "%.100s: route %.100s: cannot open the application %.120s: %.120s", where,
                 route->settings->path, file, without_path(dlerror(), copy));
        return -1;
    }
    route->app = dlsym(route->object, "mr_app");
    const char *fault = route->app == NULL ? "does not export `mr_app`: see millrace.h" : find_fault(route->app);
    if (fault == NULL)
        return 0;
    snprintf(why, ROUTE_WHY_BYTES, "%.100s: route %.100s: %.200s %s", where, route->settings->path, file, fault);
    return -1;
}

/* Members that an older application does not have count as absent. */
static bool app_has(const struct mr_app *app, size_t offset)
{
    return app->size >= offset + sizeof(void (*)(void));
}

int route_start(struct mr_route *route)
{
    const struct mr_app *app = route->app;
    if (app_has(app, offsetof(struct mr_app, start)) && app->start != NULL) {
        int result = app->start(route);
        if (result != 0)
            return result;
    }
    route->started = true;
    return 0;
}

void route_stop(struct mr_route *route)
{
    const struct mr_app *app = route->app;
    if (route->started && app_has(app, offsetof(struct mr_app, stop)) && app->stop != NULL)
        app->stop(route);
    route->started = false;
}

int route_start_lane(struct mr_lane *part)
{
    const struct mr_app *app = part->route->app;
    if (app_has(app, offsetof(struct mr_app, lane_start)) && app->lane_start != NULL) {
        int result = app->lane_start(part);
        if (result != 0)
            return result;
    }
    part->started = true;
    return 0;
}

void route_stop_lane(struct mr_lane *part)
{
    const struct mr_app *app = part->route->app;
    if (part->started && app_has(app, offsetof(struct mr_app, lane_stop)) && app->lane_stop != NULL)
        app->lane_stop(part);
    part->started = false;
}

static bool is_prefix(const struct mr_route *route, struct span path)
{
    size_t length = route->path_length;
    if (path.length < length || memcmp(path.at, route->settings->path, length) != 0)
        return false;
    return length == 1 || path.length == length || path.at[length] == '/'; /* "/" is a prefix of everything */
}

struct mr_route *route_find(const struct route_table *table, struct span path)
{
    for (size_t i = 0; i < table->count; i++)
        if (is_prefix(&table->routes[i], path))
            return &table->routes[i];
    return NULL;
}

bool route_enter(struct mr_route *route)
{
    int most = route->settings->max_busy;
    if (most == 0 || atomic_fetch_add(&route->busy, 1) < most)
        return true;
    atomic_fetch_sub(&route->busy, 1);
    return false;
}

bool route_leave(struct mr_route *route)
{
    if (route->settings->max_busy == 0)
        return false;
    atomic_fetch_sub(&route->busy, 1);
    return true;
}

struct mr_route *route_by_number(const struct route_table *table, int number)
{
    struct mr_route *route = table->routes;
    while (route->number != number)
        route++;
    return route;
}

const char *route_option(const struct mr_route *route, const char *name)
{
    for (size_t i = 0; i < route->settings->option_count; i++)
        if (strcmp(route->settings->options[i].name, name) == 0)
            return route->settings->options[i].value;
    return NULL;
}
