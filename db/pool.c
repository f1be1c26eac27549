/* pool.c: see pool.h. Runs on the threads of handlers. */
#include "pool.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "backoff.h"
#include "clock.h"
#include "connector.h"
#include "traces.h"

enum { CLOSED_TRIES = 3, STUCK_MS = 100 };

enum turn {
    TURN_WAIT,
    TURN_TAKE,    /* the session is the borrower's */
    TURN_CONNECT, /* a place is: connect */
    TURN_AWAY,    /* the server was found away a moment ago */
    TURN_LATE,
    TURN_GONE
};

/* One who waits for his turn; on his stack. */
struct borrower {
    struct borrower *next;
    pthread_cond_t changed;
    enum turn turn;
    struct session *session;
    bool probes; /* whether the server is back */
};

/* `lock` guards what follows it. Nothing else is locked inside it, and nothing in it waits. */
struct pool {
    struct service *service;
    pthread_mutex_t lock;
    int places;   /* taken: idle, lent, or being connected */
    bool probing; /* one of them by the one who probes */
    struct backoff backoff;
    struct borrower *first, **last; /* waiting, in order */
    int waiting;                    /* how many */
    int64_t lent_us;                /* when a connection was last lent */
    int idle_count, loan_count;
    struct loan {
        const FCGX_Request *req;
        struct session *session;
    } * loans;
    struct session *idle[];
};

struct pool *pool_new(struct service *service)
{
    struct pool *pool = calloc(1, sizeof *pool + (size_t)service->options.pool * sizeof *pool->idle);
    if (pool == NULL)
        return NULL;
    pool->loans = calloc((size_t)service->options.pool, sizeof *pool->loans);
    if (pool->loans == NULL) {
        free(pool);
        return NULL;
    }
    pool->service = service;
    pool->last = &pool->first;
    pthread_mutex_init(&pool->lock, NULL);
    backoff_init(&pool->backoff, (unsigned)clock_now_us());
    return pool;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL)
        return;
    for (int i = 0; i < pool->idle_count; i++)
        session_free(pool->idle[i]);
    pthread_mutex_destroy(&pool->lock);
    free(pool->loans);
    free(pool);
}

/* -- Whose turn it is ------------------------------------------------------------------------------------------------
 */

/* What the first one who waits gets now. Under the lock, as all here. */
static enum turn next_turn(struct pool *pool)
{
    if (pool->idle_count > 0)
        return TURN_TAKE;
    bool has_place = pool->places < pool->service->options.pool;
    if (!backoff_is_failing(&pool->backoff))
        return has_place ? TURN_CONNECT : TURN_WAIT;
    if (has_place && !pool->probing && !backoff_is_pausing(&pool->backoff, clock_now_us()))
        return TURN_CONNECT;
    /* Connections that are lent may well work: the server has refused only a further one, perhaps. */
    return pool->places > (pool->probing ? 1 : 0) ? TURN_WAIT : TURN_AWAY;
}

static void give(struct pool *pool, struct borrower *borrower, enum turn turn)
{
    borrower->turn = turn;
    if (turn == TURN_TAKE) {
        borrower->session = pool->idle[--pool->idle_count];
    } else if (turn == TURN_CONNECT) {
        pool->places++;
        borrower->probes = backoff_is_failing(&pool->backoff);
        pool->probing = pool->probing || borrower->probes;
    }
    pthread_cond_signal(&borrower->changed);
}

/* After every change: gives what there is to those who wait. */
static void serve(struct pool *pool)
{
    enum turn turn;
    while (pool->first != NULL && (turn = next_turn(pool)) != TURN_WAIT) {
        struct borrower *borrower = pool->first;
        pool->first = borrower->next;
        pool->waiting--;
        if (pool->first == NULL)
            pool->last = &pool->first;
        give(pool, borrower, turn);
    }
}

static void leave_queue(struct pool *pool, struct borrower *borrower, enum turn turn)
{
    struct borrower **at = &pool->first;
    while (*at != borrower)
        at = &(*at)->next;
    *at = borrower->next;
    pool->waiting--;
    if (pool->last == &borrower->next)
        pool->last = at;
    borrower->turn = turn;
}

/* Nobody has got on for a while, and as many wait as there are connections: more of them would only hold threads that
 * other routes need. */
static bool is_stuck(const struct pool *pool)
{
    return pool->waiting >= pool->service->options.pool && clock_now_us() - pool->lent_us > STUCK_MS * 1000;
}

static struct timespec after_ms(int ms)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t nanoseconds = time.tv_nsec + (int64_t)ms * 1000000;
    time.tv_sec += nanoseconds / 1000000000;
    time.tv_nsec = nanoseconds % 1000000000;
    return time;
}

/* One slice of waiting; whoever wakes looks whether a pause is over, since nobody else does. */
static void wait_slice(struct pool *pool, struct borrower *borrower, const struct patience *patience)
{
    struct timespec end = after_ms(patience_slice_ms(patience));
    int error = pthread_cond_timedwait(&borrower->changed, &pool->lock, &end);
    if (borrower->turn != TURN_WAIT || error == 0)
        return;
    serve(pool);
    if (borrower->turn != TURN_WAIT)
        return;
    if (patience_slice_ms(patience) == 0)
        leave_queue(pool, borrower, TURN_LATE);
    else if (patience_is_gone(patience))
        leave_queue(pool, borrower, TURN_GONE);
}

static void take_turn(struct pool *pool, struct borrower *borrower, const struct patience *patience)
{
    const struct figures *figures = &pool->service->figures;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    *borrower = (struct borrower){.turn = TURN_WAIT};
    pthread_cond_init(&borrower->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);

    pthread_mutex_lock(&pool->lock);
    if (is_stuck(pool)) {
        borrower->turn = TURN_LATE;
    } else {
        *pool->last = borrower;
        pool->last = &borrower->next;
        pool->waiting++;
        serve(pool);
    }
    if (borrower->turn == TURN_WAIT) {
        figures_add(figures, FIGURE_WAITING, 1);
        while (borrower->turn == TURN_WAIT)
            wait_slice(pool, borrower, patience);
        figures_add(figures, FIGURE_WAITING, -1);
    }
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&borrower->changed);
}

/* -- Connecting
 * -------------------------------------------------------------------------------------------------------- */

static PGconn *connect_now(struct connector *connector, struct service *service, const struct patience *patience)
{
    enum connector_state state = connector_start(connector, service);
    enum patience_outcome outcome = PATIENCE_READY;
    while (outcome != PATIENCE_GONE && (state == CONNECTOR_READ || state == CONNECTOR_WRITE)) {
        struct patience host = *patience;
        if (connector->end_us < host.end_us)
            host.end_us = connector->end_us;
        outcome = patience_socket(&host, PQsocket(connector->connection), state == CONNECTOR_READ ? POLLIN : POLLOUT);
        if (outcome == PATIENCE_LATE && host.end_us == patience->end_us)
            break;
        if (outcome != PATIENCE_GONE)
            state = connector_step(connector);
    }
    if (state == CONNECTOR_DONE)
        return connector_take(connector);
    if (outcome == PATIENCE_LATE && state != CONNECTOR_FAILED)
        connector_note_silence(connector);
    connector_stop(connector);
    return NULL;
}

static int check_limits(struct session *session, const struct patience *patience)
{
    PGresult *result = NULL;
    if (!session_wants_limits(session->service))
        return 0;
    if (!PQsendQuery(session->connection, session_limits_query) ||
        patience_result(patience, session->connection, &result) != PATIENCE_READY)
        return -1;
    session_check_limits(session->service, result);
    PQclear(result);
    return 0;
}

/* `why` says what was wrong, "" when nobody waits any more. */
static struct session *make_session(struct pool *pool, const struct patience *patience, struct connector *connector)
{
    struct service *service = pool->service;
    PGconn *connection = connect_now(connector, service, patience);
    if (connection == NULL)
        return NULL;
    struct session *session = session_new(service, connection);
    if (session == NULL)
        return NULL;
    if (PQsetnonblocking(connection, 1) == 0 && traces_watch(session) == 0 && check_limits(session, patience) == 0)
        return session;
    snprintf(connector->why, sizeof connector->why, "%s", PQerrorMessage(connection));
    session_free(session);
    return NULL;
}

static void note_outcome(struct pool *pool, const struct borrower *borrower, bool connected, bool tried)
{
    bool was_away = false;
    pthread_mutex_lock(&pool->lock);
    if (borrower->probes)
        pool->probing = false;
    if (connected) {
        was_away = backoff_succeed(&pool->backoff);
    } else {
        pool->places--;
        if (tried)
            backoff_fail(&pool->backoff, clock_now_us());
    }
    serve(pool);
    pthread_mutex_unlock(&pool->lock);
    if (was_away)
        report_write(&pool->service->report, REPORT_BACK, "connected", "the server is there again");
}

static struct session *connect_in_place(struct pool *pool, const struct borrower *borrower,
                                        const struct patience *patience)
{
    struct connector connector;
    struct session *session = make_session(pool, patience, &connector);
    bool tried = session == NULL && connector.why[0] != '\0';
    if (tried)
        report_write(&pool->service->report, REPORT_CONNECT, "no connection", connector.why);
    note_outcome(pool, borrower, session != NULL, tried);
    return session;
}

/* -- Lending
 * --------------------------------------------------------------------------------------------------------------- */

static void close_session(struct pool *pool, struct session *session)
{
    session_free(session);
    pthread_mutex_lock(&pool->lock);
    pool->places--;
    serve(pool);
    pthread_mutex_unlock(&pool->lock);
}

/* Whether a connection that was idle is still one. The server says so unasked when it ends a session; that is read
 * here, and so is what else it wanted to say. */
static bool is_alive(const struct session *session)
{
    struct pollfd readable = {.fd = PQsocket(session->connection), .events = POLLIN};
    for (int i = 0; i < CLOSED_TRIES && poll(&readable, 1, 0) > 0; i++) {
        PGnotify *notify;
        if (!PQconsumeInput(session->connection))
            return false;
        while ((notify = PQnotifies(session->connection)) != NULL)
            PQfreemem(notify);
    }
    return PQstatus(session->connection) == CONNECTION_OK;
}

static struct session *lend(struct pool *pool, struct session *session, const FCGX_Request *req)
{
    pthread_mutex_lock(&pool->lock);
    pool->loans[pool->loan_count++] = (struct loan){req, session};
    pool->lent_us = clock_now_us();
    pthread_mutex_unlock(&pool->lock);
    return session;
}

static void end_loan(struct pool *pool, const struct session *session)
{
    struct loan *loan = pool->loans;
    while (loan->session != session)
        loan++;
    *loan = pool->loans[--pool->loan_count];
}

struct session *pool_lent(struct pool *pool, const FCGX_Request *req)
{
    struct session *session = NULL;
    pthread_mutex_lock(&pool->lock);
    for (int i = 0; i < pool->loan_count; i++)
        if (pool->loans[i].req == req)
            session = pool->loans[i].session;
    pthread_mutex_unlock(&pool->lock);
    return session;
}

static void refuse(struct pool *pool, enum turn turn)
{
    struct report *report = &pool->service->report;
    if (turn == TURN_LATE)
        report_write(report, REPORT_FULL, "no connection of the pool became free in time",
                     "raise `pool`, or borrow for shorter");
    if (turn != TURN_GONE)
        figures_add(&pool->service->figures, FIGURE_ERRORS, 1);
}

/* Takes an idle connection, or makes one. Returns NULL when it turned out to be none: then the borrower queues again,
 * for connections that work may be lent. */
static struct session *try_turn(struct pool *pool, struct borrower *borrower, const struct patience *patience)
{
    if (borrower->turn == TURN_CONNECT)
        return connect_in_place(pool, borrower, patience);
    if (is_alive(borrower->session))
        return borrower->session;
    report_write(&pool->service->report, REPORT_LOST, "an idle connection was lost",
                 PQerrorMessage(borrower->session->connection));
    close_session(pool, borrower->session);
    return NULL;
}

struct session *pool_borrow(struct pool *pool, const struct patience *patience)
{
    struct borrower borrower;
    for (;;) {
        take_turn(pool, &borrower, patience);
        if (borrower.turn != TURN_TAKE && borrower.turn != TURN_CONNECT)
            break;
        struct session *session = try_turn(pool, &borrower, patience);
        if (session != NULL)
            return lend(pool, session, patience->req);
        if (borrower.turn == TURN_CONNECT && (patience_slice_ms(patience) == 0 || patience_is_gone(patience))) {
            borrower.turn = TURN_AWAY;
            break;
        }
    }
    refuse(pool, borrower.turn);
    return NULL;
}

void pool_return(struct pool *pool, struct session *session)
{
    bool clean = traces_remove(session) == 0;
    if (!clean && session->connection != NULL && PQstatus(session->connection) == CONNECTION_OK)
        report_write(&pool->service->report, REPORT_CLEAN, "a connection is closed",
                     "what its borrower left on it could not be removed");
    if (!clean)
        session_close(session); /* before its place is another's */
    pthread_mutex_lock(&pool->lock);
    end_loan(pool, session);
    if (clean)
        pool->idle[pool->idle_count++] = session;
    else
        pool->places--;
    serve(pool);
    pthread_mutex_unlock(&pool->lock);
    if (!clean)
        session_free(session);
}
