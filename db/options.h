/*
 * options.h: the route's options of millrace_pg.h, read and checked.
 */
#ifndef DB_OPTIONS_H
#define DB_OPTIONS_H

#include <stdbool.h>

#include <libpq-fe.h>

#include <millrace.h>

struct options {
    PQconninfoOption *conninfo; /* as libpq takes it apart; owned */
    int connect_timeout_ms;     /* of each host */
    int connections, pool, queue;
    int query_timeout_ms;
    bool prepare;
};

/* Returns 0. Returns −1 when something is wrong, with a line in the log for each fault, and then holds nothing. */
int options_read(struct options *options, const struct mr_route *route) MR_MUST_CHECK;
void options_fini(struct options *options);

/* A value of the connection string, NULL when it has none. Owned by the options. */
const char *options_conninfo(const struct options *options, const char *keyword);

#endif
