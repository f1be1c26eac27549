/*
 * pg_queries.c: one query, or two, for each request, in the pipelined style: `kind=K&token=T`, K one of the names
 * below. What is answered holds the token as the server has given it back: 200 with the token, or 409 with the
 * SQLSTATE, a space and the token where the server refused the statement for its values (classes 22 and 23); else what
 * pg_unavailable says. Without a kind: the names of the divisions, a line each.
 */
#include <string.h>

#include <millrace_pg.h>

enum { DIVISIONS, FAST, SLOW, CHAIN, DIVIDE, CAST, CLASH, INSERT, PLAIN };

/* `entry` has a unique `slot`, of which 0 is taken. */
static const struct pg_statement statements[] = {
    [DIVISIONS] = {.sql = "SELECT name FROM division ORDER BY id", .read_only = true},
    [FAST] = {.sql = "SELECT $1::text", .parameters = 1, .read_only = true},
    [SLOW] = {.sql = "SELECT $1::text FROM pg_sleep(0.03)", .parameters = 1, .read_only = true},
    [CHAIN] = {.sql = "SELECT '+' || $1::text", .parameters = 1, .read_only = true},
    [DIVIDE] = {.sql = "SELECT $1::text, 1 / (length($1::text) * 0)", .parameters = 1, .read_only = true},
    [CAST] = {.sql = "SELECT $1::text::int", .parameters = 1, .read_only = true},
    [CLASH] = {.sql = "INSERT INTO entry (token, slot) VALUES ($1, 0) RETURNING token", .parameters = 1},
    [INSERT] = {.sql = "INSERT INTO entry (token) VALUES ($1) RETURNING token", .parameters = 1},
    [PLAIN] = {.sql = "INSERT INTO entry (token) VALUES ($1)", .parameters = 1},
};

static const char *const names[] = {[FAST] = "fast", [SLOW] = "slow",   [CHAIN] = "chain",   [DIVIDE] = "divide",
                                    [CAST] = "cast", [CLASH] = "clash", [INSERT] = "insert", [PLAIN] = "plain"};

enum { COUNT = sizeof statements / sizeof statements[0] };

static int put_rows(FCGX_Request *req, const PGresult *rows)
{
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    for (int i = 0; i < PQntuples(rows); i++)
        mr_printf(req->out, "%s\n", PQgetvalue(rows, i, 0));
    return 0;
}

static int put_refusal(FCGX_Request *req, const char *sqlstate, const char *token)
{
    mr_printf(req->out, "Status: 409 Conflict\r\nContent-Type: text/plain\r\n\r\n%s %s\n", sqlstate, token);
    return 0;
}

/* `arg`: the request's own token, which outlives the query. */
static int on_result(FCGX_Request *req, const struct pg_result *result, void *arg)
{
    const char *token = arg;
    bool by_value = strncmp(result->sqlstate, "22", 2) == 0 || strncmp(result->sqlstate, "23", 2) == 0;
    if (result->outcome == PG_REFUSED && by_value && token != NULL)
        return put_refusal(req, result->sqlstate, token);
    return result->outcome == PG_DONE ? put_rows(req, result->rows) : pg_unavailable(req, result);
}

/* An INSERT that gives no row: the token is the request's. */
static int on_plain(FCGX_Request *req, const struct pg_result *result, void *arg)
{
    if (result->outcome != PG_DONE)
        return on_result(req, result, arg);
    mr_printf(req->out, "Content-Type: text/plain\r\n\r\n%s\n", (const char *)arg);
    return 0;
}

/* The second query is made of what the first one gave. */
static int on_first(FCGX_Request *req, const struct pg_result *result, void *arg)
{
    if (result->outcome != PG_DONE || PQntuples(result->rows) != 1)
        return on_result(req, result, arg);
    struct pg_value value = pg_text(PQgetvalue(result->rows, 0, 0));
    return pg_query(req, &statements[FAST], 1, &value, on_result, arg);
}

static int kind_of(const char *name)
{
    for (int i = FAST; i < COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static int handle(FCGX_Request *req)
{
    const char *name = mr_query(req, "kind"), *token = mr_query(req, "token");
    if (name == NULL)
        return pg_query(req, &statements[DIVISIONS], 0, NULL, on_result, NULL);
    int kind = kind_of(name);
    if (kind < 0 || token == NULL) {
        FCGX_PutS("Status: 400 Bad Request\r\n\r\n", req->out);
        return 0;
    }
    struct pg_value value = pg_text(token);
    return pg_query(req, &statements[kind], 1, &value,
                    kind == CHAIN   ? on_first
                    : kind == PLAIN ? on_plain
                                    : on_result,
                    (void *)token);
}

static int start(struct mr_route *route)
{
    return pg_start(route, statements, COUNT);
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "pg_queries", .handle = handle, .start = start, .stop = pg_stop};
