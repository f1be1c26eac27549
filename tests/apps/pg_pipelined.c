/*
 * pg_pipelined.c: what handlers ask with pg_query: /ROUTE/NAME?v=VALUE executes the statement that is called so below
 * and answers with its first value, "null", "done" where there is no row, or what became of it, and the SQLSTATE, in
 * words. VALUE's %XX are decoded; without it the value is NULL.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <millrace_pg.h>

enum { BYTEA = 17 }; /* its OID */

static const Oid bytes_types[] = {BYTEA};

enum { DIVISIONS, TEXT, BYTES, NUMBER, SLEEP, TOKEN, LATER, MISSING, SHAPE, PID, COUNT };
static const struct pg_statement statements[] = {
    [DIVISIONS] = {.sql = "SELECT count(name) FROM division", .read_only = true},
    [TEXT] = {.sql = "SELECT $1::text", .parameters = 1, .read_only = true},
    [BYTES] = {.sql = "SELECT $1", .types = bytes_types, .parameters = 1, .read_only = true, .binary = true},
    [NUMBER] = {.sql = "SELECT $1::text::int", .parameters = 1, .read_only = true},
    [SLEEP] = {.sql = "SELECT $1::text FROM pg_sleep($1::float)", .parameters = 1, .read_only = true},
    [TOKEN] = {.sql = "INSERT INTO token (name) VALUES ($1)", .parameters = 1},
    [LATER] = {.sql = "INSERT INTO pair (name, other) VALUES ($1, $1 || '!') RETURNING name", .parameters = 1},
    [MISSING] = {.sql = "SELECT count(*) FROM later", .read_only = true},
    [SHAPE] = {.sql = "SELECT * FROM shape", .read_only = true},
    [PID] = {.sql = "SELECT pg_backend_pid()", .read_only = true},
};
static const char *const names[] = {
    [DIVISIONS] = "divisions", [TEXT] = "text",      [BYTES] = "bytes",     [NUMBER] = "number", [SLEEP] = "sleep",
    [TOKEN] = "token",         [LATER] = "deferred", [MISSING] = "missing", [SHAPE] = "shape",   [PID] = "pid"};
static const char *const outcomes[] = {[PG_DONE] = "done", [PG_REFUSED] = "refused", [PG_AWAY] = "away",
                                       [PG_FULL] = "full", [PG_LATE] = "late",       [PG_GONE] = "gone"};

static int hex(int digit)
{
    const char *digits = "0123456789abcdef", *at = digit == '\0' ? NULL : strchr(digits, digit);
    return at == NULL ? 0 : (int)(at - digits);
}

/* Decodes what stands behind the `=` in place. NULL where there is none. */
static char *value_of(FCGX_Request *req, int *length)
{
    char *value = strchr(FCGX_GetParam("QUERY_STRING", req->envp), '='), *to;
    *length = 0;
    if (value == NULL)
        return NULL;
    to = ++value;
    for (const char *at = value; *at != '\0'; at++) {
        bool escaped = *at == '%' && at[1] != '\0' && at[2] != '\0';
        *to++ = (char)(escaped ? hex(at[1]) * 16 + hex(at[2]) : *at);
        at += escaped ? 2 : 0;
    }
    *to = '\0';
    *length = (int)(to - value);
    return value;
}

static int on_result(FCGX_Request *req, const struct pg_result *result, void *arg)
{
    const PGresult *rows = result->rows;
    (void)arg;
    if (result->outcome == PG_GONE)
        mr_log(req, "told that its client has gone");
    FCGX_PutS("Content-Type: application/octet-stream\r\n\r\n", req->out);
    if (result->outcome != PG_DONE || PQntuples(rows) == 0)
        return mr_printf(req->out, "%s%s%s", outcomes[result->outcome], result->sqlstate[0] ? " " : "",
                         result->sqlstate) < 0;
    if (PQgetisnull(rows, 0, 0))
        FCGX_PutS("null", req->out);
    else
        FCGX_PutStr(PQgetvalue(rows, 0, 0), PQgetlength(rows, 0, 0), req->out);
    return 0;
}

static int ask(FCGX_Request *req, int number, int (*then)(FCGX_Request *, const struct pg_result *, void *))
{
    int length;
    char *text = value_of(req, &length);
    struct pg_value value = number == BYTES ? pg_binary(text, length) : pg_text(text);
    return pg_query(req, &statements[number], statements[number].parameters, &value, then, NULL);
}

/* A second query in answer to the first. */
static int on_first(FCGX_Request *req, const struct pg_result *result, void *arg)
{
    return result->outcome == PG_DONE ? ask(req, TEXT, on_result) : on_result(req, result, arg);
}

static int pg_pipelined(FCGX_Request *req)
{
    const char *name = FCGX_GetParam("PATH_INFO", req->envp) + 1;
    struct timespec pause = {.tv_nsec = 10000000};
    if (strcmp(name, "chain") == 0)
        return ask(req, DIVISIONS, on_first);
    if (strcmp(name, "asleep") == 0) { /* the lane goes on without this thread */
        nanosleep(&pause, NULL);
        return ask(req, TEXT, on_result);
    }
    if (strcmp(name, "foreign") == 0) {
        static const struct pg_statement foreign = {.sql = "SELECT 1"};
        return pg_query(req, &foreign, 0, NULL, on_result, NULL);
    }
    for (int i = 0; i < COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return ask(req, i, on_result);
    return 1;
}

static int start(struct mr_route *route)
{
    return pg_start(route, statements, COUNT);
}

const struct mr_app mr_app = {
    .abi = MR_ABI, .name = "pg_pipelined", .handle = pg_pipelined, .start = start, .stop = pg_stop};
