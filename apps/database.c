/*
 * database.c: a page made from a query: the names of all divisions.
 *
 * The example of the database library's pipelined style: the handler asks and returns, and is called back with the result.
 * Meanwhile no thread waits; the queries of many requests travel together. A connection is made with the first request, so
 * that neither a start nor a restart needs the database.
 */
#include <millrace_pg.h>

#define PAGE_HEADER                                                                                                    \
    "Content-Type: text/html; charset=utf-8\r\n"                                                                       \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"
#define PAGE_START                                                                                                     \
    "<!DOCTYPE html>\n"                                                                                                \
    "<html lang=\"en\">\n"                                                                                             \
    "<head>\n"                                                                                                         \
    "<meta charset=\"utf-8\">\n"                                                                                       \
    "<title>Divisions</title>\n"                                                                                       \
    "</head>\n"                                                                                                        \
    "<body>\n"                                                                                                         \
    "<h1>Divisions</h1>\n"                                                                                             \
    "<ul>\n"
#define PAGE_END                                                                                                       \
    "</ul>\n"                                                                                                          \
    "</body>\n"                                                                                                        \
    "</html>\n"

#define PUT(text, out) FCGX_PutStr(text, sizeof(text) - 1, out)

static const struct pg_statement divisions = {.sql = "SELECT name FROM division", .read_only = true};

/* A NULL is not an empty name. */
static int put_page(FCGX_Request *req, const struct pg_result *result, void *arg)
{
    FCGX_Stream *out = req->out;
    (void)arg;
    if (result->outcome != PG_DONE)
        return pg_unavailable(req, result);
    PUT(PAGE_HEADER PAGE_START, out);
    for (int i = 0; i < PQntuples(result->rows); i++) {
        PUT("<li>", out);
        if (PQgetisnull(result->rows, i, 0))
            PUT("<em>no name</em>", out);
        else
            mr_html(out, PQgetvalue(result->rows, i, 0), (size_t)PQgetlength(result->rows, i, 0));
        PUT("</li>\n", out);
    }
    PUT(PAGE_END, out);
    return 0;
}

static int database(FCGX_Request *req)
{
    return pg_query(req, &divisions, 0, NULL, put_page, NULL);
}

static int start(struct mr_route *route)
{
    return pg_start(route, &divisions, 1);
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "database", .handle = database, .start = start, .stop = pg_stop};
