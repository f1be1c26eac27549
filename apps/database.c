/*
 * database.c: a page made from a query: the names of all divisions.
 *
 * Plain libpq, used from the threads that call the handler. A worker shares a pool of connections among them; nothing
 * is connected before the first request, so that neither a start nor a restart needs the database. While it is away,
 * requests are answered 503 at once and one of them at a time tries to connect, at growing intervals.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

#include <millrace.h>

#define QUERY     "SELECT name FROM division ORDER BY id"
#define STATEMENT "divisions"

enum {
    CONNECTIONS_DEFAULT = 8, /* of each worker; all workers together must stay below the server's max_connections */
    CONNECTIONS_MAX = 100,
    WAIT_LIMIT_MS = 2000,   /* for a connection of the pool */
    ANSWER_LIMIT_MS = 4000, /* for the server: above its own statement_timeout, for when it no longer keeps that */
    PAUSE_MIN_MS = 100,     /* between attempts to connect, doubled each time */
    PAUSE_MAX_MS = 1000,
    LOG_INTERVAL_MS = 1000,
};
#define CONNECT_LIMIT_S "2"
#define SERVER_OPTIONS  "-c statement_timeout=3000"

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

#define PUT(text, out) FCGX_PutStr(text, sizeof(text) - 1, out)

/* What the handlers of one worker share. `lock` guards everything below it. */
struct pool {
    const char *conninfo; /* owned by the runtime */
    int limit;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a connection came back, or its place became free */
    int used;               /* places taken: idle, lent, or about to be connected */
    int idle_count;
    int64_t pause_ms; /* 0 while the database is there */
    int64_t retry_at_ms;
    bool probing; /* one request tries whether the database is back */
    int64_t logged_at_ms;
    unsigned unlogged_count;
    PGconn *idle[CONNECTIONS_MAX];
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* -- Faults ------------------------------------------------------------------------------------------------------ */

/* Logs why requests are answered 503, at most once a second: the first line of `why` says it. */
static void report(struct pool *pool, const FCGX_Request *req, const char *what, const char *why)
{
    int64_t now = now_ms();
    pthread_mutex_lock(&pool->lock);
    unsigned before = pool->unlogged_count;
    bool due = now - pool->logged_at_ms >= LOG_INTERVAL_MS;
    if (due)
        pool->logged_at_ms = now;
    pool->unlogged_count = due ? 0 : before + 1;
    pthread_mutex_unlock(&pool->lock);
    if (!due)
        return;
    int length = (int)strcspn(why, "\n");
    if (before > 0)
        mr_log(req, "%s: %.*s (and %u times since the line before)", what, length, why, before);
    else
        mr_log(req, "%s: %.*s", what, length, why);
}

/* Gives up idle connections: those of a server that is away are as dead as the one that was found out. */
static void drop_idle(struct pool *pool)
{
    PGconn *dropped[CONNECTIONS_MAX];
    pthread_mutex_lock(&pool->lock);
    int count = pool->idle_count;
    memcpy(dropped, pool->idle, (size_t)count * sizeof *dropped);
    pool->idle_count = 0;
    pool->used -= count;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < count; i++)
        PQfinish(dropped[i]);
}

static void note_away(struct pool *pool)
{
    int64_t now = now_ms();
    pthread_mutex_lock(&pool->lock);
    if (pool->pause_ms == 0 || now >= pool->retry_at_ms) { /* several that fail at the same time count as one */
        pool->pause_ms = pool->pause_ms == 0 ? PAUSE_MIN_MS : pool->pause_ms * 2;
        if (pool->pause_ms > PAUSE_MAX_MS)
            pool->pause_ms = PAUSE_MAX_MS;
        pool->retry_at_ms = now + pool->pause_ms;
    }
    pthread_mutex_unlock(&pool->lock);
}

static void note_present(struct pool *pool, const FCGX_Request *req)
{
    pthread_mutex_lock(&pool->lock);
    bool was_away = pool->pause_ms != 0;
    pool->pause_ms = 0;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    if (was_away)
        mr_log(req, "the database is there again");
}

/* -- Connections ------------------------------------------------------------------------------------------------- */

/* Waits until a result can be taken without blocking. Returns false when that takes too long. */
static bool await_ready(PGconn *connection, int64_t end_ms)
{
    while (PQisBusy(connection)) {
        int64_t left_ms = end_ms - now_ms();
        struct pollfd readable = {.fd = PQsocket(connection), .events = POLLIN};
        if (left_ms <= 0)
            return false;
        if (poll(&readable, 1, (int)left_ms) > 0 && !PQconsumeInput(connection))
            return true; /* the connection is lost: PQgetResult has the server's last words, if there are any */
    }
    return true;
}

/* Waits for the result of what was sent and for the end of it, so that the connection can be used again. NULL when the
 * server did not answer in time. The caller clears the result. */
static PGresult *await_result(PGconn *connection)
{
    int64_t end_ms = now_ms() + ANSWER_LIMIT_MS;
    PGresult *first = NULL;
    while (await_ready(connection, end_ms)) {
        PGresult *next = PQgetResult(connection);
        if (next == NULL)
            return first;
        if (first == NULL)
            first = next;
        else
            PQclear(next);
    }
    PQclear(first);
    return NULL;
}

/* The statement lives in the server's session and has to be prepared on each new connection. */
static bool prepare(PGconn *connection)
{
    if (!PQsendPrepare(connection, STATEMENT, QUERY, 0, NULL))
        return false;
    PGresult *result = await_result(connection);
    bool prepared = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return prepared;
}

/* Blocks up to the connect limit. Returns NULL when the database is away, cannot be used, or lacks the table. */
static PGconn *connect_new(struct pool *pool, const FCGX_Request *req)
{
    /* What stands before dbname is a default, what stands behind it is final: the page is UTF-8. */
    const char *const names[] = {"connect_timeout", "options",         "fallback_application_name",
                                 "dbname",          "client_encoding", NULL};
    const char *const values[] = {CONNECT_LIMIT_S, SERVER_OPTIONS, "millrace", pool->conninfo, "UTF8", NULL};
    PGconn *connection = PQconnectdbParams(names, values, 1);
    if (PQstatus(connection) == CONNECTION_OK && prepare(connection)) {
        note_present(pool, req);
        return connection;
    }
    const char *why = PQerrorMessage(connection);
    report(pool, req, "cannot use the database", *why != '\0' ? why : "it does not answer");
    PQfinish(connection);
    note_away(pool);
    return NULL;
}

enum turn { TURN_IDLE, TURN_CONNECT, TURN_WAIT, TURN_AWAY };

/* What a request that wants a connection does now. Under the lock. */
static enum turn next_turn(const struct pool *pool)
{
    if (pool->idle_count > 0)
        return TURN_IDLE;
    bool has_place = pool->used < pool->limit;
    if (pool->pause_ms == 0)
        return has_place ? TURN_CONNECT : TURN_WAIT;
    if (has_place && !pool->probing && now_ms() >= pool->retry_at_ms)
        return TURN_CONNECT;
    /* Other connections may well work: the server has refused only a further one, perhaps. */
    return pool->used > (pool->probing ? 1 : 0) ? TURN_WAIT : TURN_AWAY;
}

static struct timespec after_ms(int64_t ms)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += ms / 1000;
    time.tv_nsec += ms % 1000 * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

/* Waits for the request's turn; takes a place for TURN_CONNECT, the connection for TURN_IDLE. */
static enum turn take_turn(struct pool *pool, PGconn **connection, bool *probes)
{
    struct timespec end = after_ms(WAIT_LIMIT_MS);
    enum turn turn;
    pthread_mutex_lock(&pool->lock);
    while ((turn = next_turn(pool)) == TURN_WAIT) {
        if (pthread_cond_timedwait(&pool->changed, &pool->lock, &end) != 0)
            break;
    }
    if (turn == TURN_IDLE) {
        *connection = pool->idle[--pool->idle_count];
    } else if (turn == TURN_CONNECT) {
        pool->used++;
        *probes = pool->pause_ms != 0;
        pool->probing = pool->probing || *probes;
    }
    pthread_mutex_unlock(&pool->lock);
    return turn;
}

static void free_place(struct pool *pool, bool probed)
{
    pthread_mutex_lock(&pool->lock);
    pool->used--;
    pool->probing = pool->probing && !probed;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* Lends a connection, to be given back with pool_return or pool_discard. NULL when there is none in time; `fresh` tells
 * whether it was connected just now. */
static PGconn *pool_borrow(struct pool *pool, const FCGX_Request *req, bool *fresh)
{
    PGconn *connection = NULL;
    bool probes = false;
    enum turn turn = take_turn(pool, &connection, &probes);
    *fresh = turn == TURN_CONNECT;
    if (turn == TURN_WAIT)
        report(pool, req, "no connection to the database became free in time", "raise `connections` or ask less");
    if (turn != TURN_CONNECT)
        return connection;
    connection = connect_new(pool, req);
    if (connection == NULL) {
        free_place(pool, probes);
    } else if (probes) {
        pthread_mutex_lock(&pool->lock);
        pool->probing = false;
        pthread_mutex_unlock(&pool->lock);
    }
    return connection;
}

static void pool_return(struct pool *pool, PGconn *connection)
{
    pthread_mutex_lock(&pool->lock);
    pool->idle[pool->idle_count++] = connection;
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

static void pool_discard(struct pool *pool, PGconn *connection)
{
    PQfinish(connection);
    free_place(pool, false);
}

/* -- The query --------------------------------------------------------------------------------------------------- */

enum outcome { OUTCOME_ROWS, OUTCOME_REPEAT, OUTCOME_FAILED, OUTCOME_SILENT };

/* Whether another connection may do better: this one is lost, or its session does not fit the tables any more. */
static bool is_worth_repeating(const PGconn *connection, const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (PQstatus(connection) != CONNECTION_OK)
        return true;
    if (severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        return true;
    return state != NULL && (strcmp(state, "26000") == 0 || strcmp(state, "0A000") == 0);
}

/* The caller clears the result, which belongs to no connection. */
static enum outcome ask(PGconn *connection, PGresult **result)
{
    *result = NULL;
    if (!PQsendQueryPrepared(connection, STATEMENT, 0, NULL, NULL, NULL, 0))
        return OUTCOME_REPEAT;
    *result = await_result(connection);
    if (PQresultStatus(*result) == PGRES_TUPLES_OK)
        return OUTCOME_ROWS;
    if (*result == NULL && PQstatus(connection) == CONNECTION_OK)
        return OUTCOME_SILENT;
    return is_worth_repeating(connection, *result) ? OUTCOME_REPEAT : OUTCOME_FAILED;
}

/* A NULL is not an empty name. */
static void put_page(FCGX_Stream *out, const PGresult *rows)
{
    PUT(PAGE_HEADER PAGE_START, out);
    for (int i = 0; i < PQntuples(rows); i++) {
        PUT("<li>", out);
        if (PQgetisnull(rows, i, 0))
            PUT("<em>no name</em>", out);
        else
            mr_html(out, PQgetvalue(rows, i, 0), (size_t)PQgetlength(rows, i, 0));
        PUT("</li>\n", out);
    }
    PUT(PAGE_END, out);
}

/* One attempt on a connection of the pool. */
static enum outcome attempt(struct pool *pool, const FCGX_Request *req, PGresult **rows, bool *fresh)
{
    PGconn *connection = pool_borrow(pool, req, fresh);
    if (connection == NULL)
        return OUTCOME_FAILED;
    enum outcome outcome = ask(connection, rows);
    if (outcome == OUTCOME_ROWS) {
        pool_return(pool, connection);
        return outcome;
    }
    if (outcome == OUTCOME_SILENT)
        report(pool, req, "the database did not answer in time", QUERY);
    else if (outcome == OUTCOME_FAILED || *fresh)
        report(pool, req, "the query failed", PQerrorMessage(connection));
    pool_discard(pool, connection);
    PQclear(*rows);
    *rows = NULL;
    if (outcome == OUTCOME_SILENT)
        note_away(pool);
    if (outcome != OUTCOME_FAILED)
        drop_idle(pool);
    return outcome;
}

static int database(FCGX_Request *req)
{
    struct pool *pool = mr_state(req);
    PGresult *rows = NULL;
    bool fresh = false;
    enum outcome outcome;
    do { /* it only reads: asking again does no harm */
        outcome = attempt(pool, req, &rows, &fresh);
    } while (outcome == OUTCOME_REPEAT && !fresh);
    if (outcome == OUTCOME_ROWS)
        put_page(req->out, rows);
    else
        PUT(AWAY, req->out);
    PQclear(rows);
    return 0;
}

/* -- Start and stop ---------------------------------------------------------------------------------------------- */

static bool read_limit(struct mr_route *route, int *limit)
{
    const char *text = mr_route_option(route, "connections");
    char *end;
    *limit = CONNECTIONS_DEFAULT;
    if (text == NULL)
        return true;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value > CONNECTIONS_MAX) {
        mr_route_log(route, "option `connections` is '%s': give a number from 1 to %d", text, CONNECTIONS_MAX);
        return false;
    }
    *limit = (int)value;
    return true;
}

/* Checks the form alone: the database may come later. */
static bool read_conninfo(struct mr_route *route, const char **conninfo)
{
    char *why = NULL;
    *conninfo = mr_route_option(route, "conninfo");
    if (*conninfo == NULL) {
        mr_route_log(route,
                     "option `conninfo` is missing: give libpq's, like \"host=/run/postgresql dbname=millrace\"");
        return false;
    }
    PQconninfoOption *parsed = PQconninfoParse(*conninfo, &why);
    if (parsed == NULL)
        mr_route_log(route, "option `conninfo` is no connection string: %.*s",
                     why == NULL ? 0 : (int)strcspn(why, "\n"), why == NULL ? "" : why);
    PQconninfoFree(parsed);
    PQfreemem(why);
    return parsed != NULL;
}

static int start(struct mr_route *route)
{
    const char *conninfo;
    int limit;
    if (!read_conninfo(route, &conninfo) || !read_limit(route, &limit))
        return -1;
    struct pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        mr_route_log(route, "no memory for the pool of connections");
        return -1;
    }
    pool->conninfo = conninfo;
    pool->limit = limit;
    pool->logged_at_ms = now_ms() - LOG_INTERVAL_MS;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    mr_route_set_state(route, pool);
    return 0;
}

static void stop(struct mr_route *route)
{
    struct pool *pool = mr_route_state(route);
    drop_idle(pool);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
    mr_route_set_state(route, NULL);
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "database", .handle = database, .start = start, .stop = stop};
