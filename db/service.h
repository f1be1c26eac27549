/*
 * service.h: one route's use of the database in one worker: what both styles share.
 *
 * Made by the route's start, freed by its stop, unchanged between the two but for what guards itself. Each application has a
 * copy of the library of its own, and with it a table of its own routes.
 */
#ifndef DB_SERVICE_H
#define DB_SERVICE_H

#include <stdatomic.h>

#include "figures.h"
#include "hosts.h"
#include "millrace_pg.h"
#include "options.h"
#include "report.h"

struct pool;
struct dispatchers;

struct service {
    const struct mr_route *route;
    struct options options;
    struct hosts hosts;
    const struct pg_statement *statements; /* the application's */
    int statement_count;
    struct figures figures;
    struct report report;
    atomic_bool limits_asked; /* the server's max_connections were asked for, or are about to be */
    struct pool *pool;        /* of pg_connection */
    struct dispatchers *dispatchers;      /* of pg_query */
    struct service *next;
};

/* Returns the route's service, in the table; NULL after a line in the log. */
struct service *service_new(struct mr_route *route, const struct pg_statement *statements, int count) MR_MUST_CHECK;

/* When no request of the route runs any more and pool and lanes are gone. */
void service_free(struct service *service);

/* Any thread, without a lock. NULL when the route has none: pg_start was not called, or failed. */
struct service *service_of(const struct mr_route *route);
struct service *service_of_request(const FCGX_Request *req);

/* The statement's number in the table, −1 after a line in the log: it is not in it, or takes another number of values. */
int service_statement(struct service *service, const struct pg_statement *statement, int values);

#endif
