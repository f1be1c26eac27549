/* options.c: see options.h. Runs in the route's start. */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_TIMEOUT_S = 3 };

static int read_number(const struct mr_route *route, const char *name, int least, int most, int usual, int *value)
{
    const char *text = mr_route_option(route, name);
    *value = usual;
    if (text == NULL)
        return 0;
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < least || number > most) {
        mr_route_log(route, "option `%s` is '%s': give a number from %d to %d, or leave it out for %d", name, text,
                     least, most, usual);
        return -1;
    }
    *value = (int)number;
    return 0;
}

static int read_prepare(const struct mr_route *route, bool *prepare)
{
    const char *text = mr_route_option(route, "prepare");
    *prepare = text == NULL || strcmp(text, "yes") == 0;
    if (*prepare || strcmp(text, "no") == 0)
        return 0;
    mr_route_log(route, "option `prepare` is '%s': give yes, or no for pgbouncer in transaction mode", text);
    return -1;
}

/* Checks the form alone: the server may come later. */
static int read_conninfo(const struct mr_route *route, struct options *options)
{
    const char *text = mr_route_option(route, "conninfo");
    if (text == NULL) {
        mr_route_log(route,
                     "option `conninfo` is missing: give libpq's, like \"host=/run/postgresql dbname=millrace\"");
        return -1;
    }
    char *why = NULL;
    options->conninfo = PQconninfoParse(text, &why);
    if (options->conninfo == NULL)
        mr_route_log(route,
                     "option `conninfo` is no connection string: %.*s: see \"Connection Strings\" in libpq's manual",
                     why == NULL ? 0 : (int)strcspn(why, "\n"), why == NULL ? "" : why);
    PQfreemem(why);
    return options->conninfo == NULL ? -1 : 0;
}

/* 0 and less mean no limit, as for libpq: the query's is left. */
static int read_connect_timeout(const struct mr_route *route, struct options *options)
{
    options->connect_timeout_ms = CONNECT_TIMEOUT_S * 1000;
    const char *text = options->conninfo == NULL ? NULL : options_conninfo(options, "connect_timeout");
    if (text == NULL)
        return 0;
    char *end;
    long seconds = strtol(text, &end, 10);
    if (end == text || *end != '\0' || seconds > 3600) {
        mr_route_log(route, "option `conninfo`: connect_timeout is '%s': give seconds, at most 3600", text);
        return -1;
    }
    options->connect_timeout_ms = seconds <= 0 ? options->query_timeout_ms : (int)seconds * 1000;
    return 0;
}

int options_read(struct options *options, const struct mr_route *route)
{
    *options = (struct options){0};
    int faults = read_conninfo(route, options);
    faults += read_number(route, "connections", 1, 100, 2, &options->connections);
    faults += read_number(route, "pool", 1, 1000, 8, &options->pool);
    faults += read_number(route, "queue", 1, 1000000, 1024, &options->queue);
    faults += read_number(route, "query_timeout_ms", 1, 3600000, 5000, &options->query_timeout_ms);
    faults += read_prepare(route, &options->prepare);
    faults += read_connect_timeout(route, options);
    if (faults == 0)
        return 0;
    options_fini(options);
    return -1;
}

void options_fini(struct options *options)
{
    PQconninfoFree(options->conninfo);
    options->conninfo = NULL;
}

const char *options_conninfo(const struct options *options, const char *keyword)
{
    for (const PQconninfoOption *option = options->conninfo; option->keyword != NULL; option++)
        if (strcmp(option->keyword, keyword) == 0)
            return option->val;
    return NULL;
}
