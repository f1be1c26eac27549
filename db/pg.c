/*
 * pg.c: the calls of millrace_pg.h that belong to neither style.
 */
#include "millrace_pg.h"

#include <stdio.h>
#include <string.h>

#include "dispatcher.h"
#include "pool.h"

/* What the server has to say about itself is for the log, not for visitors. */
#define AWAY                                                                                                           \
    "Status: 503 Service Unavailable\r\n"                                                                              \
    "Retry-After: 1\r\n"                                                                                               \
    "Content-Type: text/html; charset=utf-8\r\n"                                                                       \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"                                                                                                             \
    "<!DOCTYPE html>\n"                                                                                                \
    "<title>Service unavailable</title>\n"                                                                             \
    "<h1>The database is not available</h1>\n"                                                                         \
    "<p>Please try again in a moment.</p>\n"
#define WRONG                                                                                                          \
    "Status: 400 Bad Request\r\n"                                                                                      \
    "Content-Type: text/html; charset=utf-8\r\n"                                                                       \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"                                                                                                             \
    "<!DOCTYPE html>\n"                                                                                                \
    "<title>Bad request</title>\n"                                                                                     \
    "<h1>This cannot be stored</h1>\n"                                                                                 \
    "<p>One of the values has characters, a length or a form that the database does not take.</p>\n"

int pg_start(struct mr_route *route, const struct pg_statement *statements, int count)
{
    struct service *service = service_new(route, statements, count);
    if (service == NULL)
        return -1;
    service->pool = pool_new(service);
    service->dispatchers = dispatchers_new(service);
    if (service->pool != NULL && service->dispatchers != NULL)
        return 0;
    mr_route_log(route, "no memory for the database");
    dispatchers_free(service->dispatchers);
    pool_free(service->pool);
    service_free(service);
    return -1;
}

void pg_stop(struct mr_route *route)
{
    struct service *service = service_of(route);
    if (service == NULL)
        return;
    dispatchers_free(service->dispatchers);
    pool_free(service->pool);
    service_free(service);
}

struct pg_result pg_result_of(const PGresult *rows)
{
    struct pg_result result = {.outcome = PG_DONE, .rows = rows};
    ExecStatusType status = PQresultStatus(rows); /* of NULL: PGRES_FATAL_ERROR */
    if (status != PGRES_FATAL_ERROR && status != PGRES_BAD_RESPONSE)
        return result;
    const char *sqlstate = PQresultErrorField(rows, PG_DIAG_SQLSTATE);
    result.rows = NULL;
    result.outcome = sqlstate == NULL || session_fault_of(PQresultErrorField(rows, PG_DIAG_SEVERITY_NONLOCALIZED),
                                                          sqlstate, NULL) == SESSION_LOST
                         ? PG_AWAY
                         : PG_REFUSED;
    if (result.outcome == PG_REFUSED)
        snprintf(result.sqlstate, sizeof result.sqlstate, "%s", sqlstate);
    return result;
}

int pg_unavailable(FCGX_Request *req, const struct pg_result *result)
{
    bool wrong = result != NULL && result->outcome == PG_REFUSED && strncmp(result->sqlstate, "22", 2) == 0;
    FCGX_PutS(wrong ? WRONG : AWAY, req->out);
    return 0;
}
