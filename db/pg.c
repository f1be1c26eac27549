/*
 * pg.c: the calls of millrace_pg.h that belong to neither style.
 */
#include "millrace_pg.h"

#include <string.h>

#include "service.h"

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
    return service_new(route, statements, count) == NULL ? -1 : 0;
}

void pg_stop(struct mr_route *route)
{
    struct service *service = service_of(route);
    if (service != NULL)
        service_free(service);
}

int pg_unavailable(FCGX_Request *req, const struct pg_result *result)
{
    bool wrong = result != NULL && result->outcome == PG_REFUSED && strncmp(result->sqlstate, "22", 2) == 0;
    FCGX_PutS(wrong ? WRONG : AWAY, req->out);
    return 0;
}
