/*
 * millrace_pg.h: PostgreSQL for applications, in two styles, on the calls of millrace.h and libpq alone.
 *
 * pg_query is the fast one: the request is suspended, its query travels with those of other requests on the lane's connection
 * (libpq's pipeline mode), no thread waits. pg_connection is the simple one: a connection of the worker's pool, the handler's
 * own until it returns, for transactions and everything else that libpq can do.
 *
 * An application has a table of its statements and hands it over in its hooks:
 *
 *     static const struct pg_statement statements[] = {{.sql = "SELECT name FROM division", .read_only = true}};
 *     static int start(struct mr_route *route) { return pg_start(route, statements, 1); }
 *     const struct mr_app mr_app = {.abi = MR_ABI, .name = "...", .handle = ..., .start = start, .stop = pg_stop};
 *
 * Options of the route (all but the first may be left out):
 *
 *     conninfo           libpq's connection string: several hosts, target_session_attrs, TLS as libpq does it; connect_timeout is
 *                        3 s unless given
 *     connections        most connections of each lane for pg_query (2; from the second on used when a query is slow)
 *     pool               most connections of the worker for pg_connection (8)
 *     queue              most queries of each lane that wait or run (1024): one more is answered at once
 *     query_timeout_ms   from pg_query to its result, or to a connection of pg_connection and for each of its statements (5000)
 *     prepare            no: send each statement's text with each query, for pgbouncer in transaction mode (yes)
 *
 * Nothing is cached and nothing is shared: each pg_query is one execution on the server. Connections are opened when first
 * needed, again after they were lost (back-off from 50 ms to 1 s with jitter, while requests ask), and with them the
 * statements are prepared again. While the server is away, queries fail at once. Failures are logged once a second at most.
 */
#ifndef MILLRACE_PG_H
#define MILLRACE_PG_H

#include <stdbool.h>

#include <libpq-fe.h>

#include <millrace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pg_statement {
    const char *sql;  /* one statement, with $1, $2, ... */
    const Oid *types; /* of its parameters, one each; NULL: the server infers them */
    int parameters;   /* how many */
    bool read_only;   /* it changes nothing: it may share an implicit transaction with queries of others, and be sent again */
    bool binary;      /* its result in binary */
};

struct pg_value {
    const char *bytes; /* NULL: the SQL NULL. A text ends with a NUL */
    int length;        /* of binary bytes */
    bool binary;
};

static inline struct pg_value pg_text(const char *text) /* NULL becomes NULL, "" the empty text */
{
    struct pg_value value = {text, 0, false};
    return value;
}

static inline struct pg_value pg_binary(const void *bytes, int length)
{
    struct pg_value value = {(const char *)bytes, length, true};
    return value;
}

enum pg_outcome {
    PG_DONE,    /* `rows` holds what the statement gave */
    PG_REFUSED, /* the server refused it: `sqlstate` says why; it has changed nothing */
    PG_AWAY,    /* there is no connection, or it was lost: a statement that is not read_only may have been executed */
    PG_FULL,    /* as many queries wait as may, or no connection of the pool became free in time */
    PG_LATE,    /* its time was over; it was cancelled, or not sent at all; may have been executed like with PG_AWAY */
    PG_GONE,    /* the client has gone: nothing that is written will be sent */
};

struct pg_result {
    enum pg_outcome outcome;
    const PGresult *rows; /* NULL unless PG_DONE; owned by the library, until on_result returns */
    char sqlstate[6];     /* "" unless PG_REFUSED */
};

/* Hooks of the application, or called from its own. pg_start reads the options and opens no connection; where they are wrong it
 * says so in the log and returns -1, else 0. `statements` must live as long as the route (a static table). The route's and
 * lane's state pointers stay the application's. */
int pg_start(struct mr_route *route, const struct pg_statement *statements, int count);
void pg_stop(struct mr_route *route);

/* Suspends the request and executes a statement of the table; `on_result` is called once, on the lane, as a handler is, with
 * what became of it, and may call pg_query again. Returns 0 for the handler to return, in every case: failures reach
 * on_result. `count` is the number of values; they are copied. From inside a handler or on_result, as its last act. Never
 * blocks. */
int pg_query(FCGX_Request *req, const struct pg_statement *statement, int count, const struct pg_value *values,
             int (*on_result)(FCGX_Request *req, const struct pg_result *result, void *arg), void *arg) MR_MUST_CHECK;

/* Answers a request whose query did not succeed: 503 with Retry-After, without a word of the server's; 400 where a value was
 * one that the database cannot store (SQLSTATE class 22). Nothing may have been written before. Returns 0, to be returned. */
int pg_unavailable(FCGX_Request *req, const struct pg_result *result);

/* Borrows a connection of the worker's pool until the handler returns: connected, idle, outside of a transaction, the
 * statements prepared. Asked again in the same request, the same one. NULL when there is none within query_timeout_ms, or at
 * once when as many wait as `pool` says and none has been lent for 100 ms; then answer with pg_unavailable(req, NULL). Blocks.
 * The connection stays the library's. statement_timeout is query_timeout_ms.
 *
 * When the handler has returned for good, a command that still runs is cancelled and an open transaction rolled back: nobody is
 * ever lent a connection inside one. After a command that may have changed what the session remembers, by its tag (SET, LISTEN,
 * PREPARE, DECLARE, CREATE, DO, CALL and all others but queries, changes of data and the words of transactions), the session
 * is reset by DISCARD ALL. What cannot be done within a second closes the connection. Not undone is what a function that
 * a query calls has changed for the session: use set_config(..., true) and pg_advisory_xact_lock, which end with the
 * transaction. With prepare = no nothing but transactions is undone: sessions are pgbouncer's. */
PGconn *pg_connection(FCGX_Request *req) MR_MUST_CHECK;

/* Executes a statement of the table on a borrowed connection. Returns the result, to be freed with PQclear; never NULL when
 * memory lasts (see PQresultStatus). One that failed is logged, without its values. Blocks for at most query_timeout_ms, or
 * until the client has gone: then the statement is cancelled. */
PGresult *pg_execute(FCGX_Request *req, PGconn *connection, const struct pg_statement *statement, int count,
                     const struct pg_value *values) MR_MUST_CHECK;

/* What became of a statement of pg_execute, for pg_unavailable: PG_DONE, PG_REFUSED with its SQLSTATE (57014 also when its time
 * was over), or PG_AWAY. `rows` is borrowed from the result. */
struct pg_result pg_result_of(const PGresult *result);

#ifdef __cplusplus
}
#endif

#endif
