/*
 * blocking.c: pg_connection and pg_execute: a connection of the worker's own for a handler, and statements on it. Runs
 * on the threads of handlers.
 */
#include <string.h>
#include <sys/socket.h>

#include "interrupt.h"
#include "millrace_pg.h"
#include "pool.h"
#include "traces.h"

enum { CANCEL_LIMIT_MS = 1000 };

/* -- Borrowing --------------------------------------------------------------------------------------------------- */

static void give_back(void *arg)
{
    struct session *session = arg;
    pool_return(session->service->pool, session);
}

/* From here on the handler's: libpq's calls block, as its manual says. */
static PGconn *hand_over(FCGX_Request *req, struct session *session)
{
    if (mr_at_end(req, give_back, session) < 0 || PQsetnonblocking(session->connection, 0) < 0) {
        give_back(session);
        return NULL;
    }
    return session->connection;
}

PGconn *pg_connection(FCGX_Request *req)
{
    struct service *service = service_of_request(req);
    if (service == NULL) {
        mr_log(req, "pg_connection: the application's start has not called pg_start");
        return NULL;
    }
    struct session *session = pool_lent(service->pool, req);
    if (session != NULL)
        return session->connection;
    struct patience patience = patience_of_request(req, service->options.query_timeout_ms);
    session = pool_borrow(service->pool, &patience);
    return session == NULL ? NULL : hand_over(req, session);
}

/* -- Executing
 * --------------------------------------------------------------------------------------------------------- */

/* Cancels what runs. A server that does not react loses the connection, and the handler goes on. */
static void stop(struct session *session, PGresult **result)
{
    struct patience patience = patience_of(CANCEL_LIMIT_MS);
    struct interrupt *interrupt = interrupt_begin(session->connection);
    figures_add(&session->service->figures, FIGURE_CANCELS, 1);
    bool over = patience_result(&patience, session->connection, result) == PATIENCE_READY;
    if (interrupt_end(interrupt, patience.end_us) && over)
        return;
    shutdown(PQsocket(session->connection), SHUT_RDWR);
    PQconsumeInput(session->connection);
}

/* What runs is waited for, or stopped. `result` is NULL where libpq has none. */
static enum patience_outcome finish(struct session *session, const struct patience *patience, PGresult **result)
{
    const struct figures *figures = &session->service->figures;
    figures_add(figures, FIGURE_RUNNING, 1);
    enum patience_outcome outcome = patience_result(patience, session->connection, result);
    if (outcome != PATIENCE_READY)
        stop(session, result);
    figures_add(figures, FIGURE_RUNNING, -1);
    return outcome;
}

/* A command of the library's own, which leaves no trace. Returns whether it succeeded; else `result` says why. */
static bool finish_own(struct session *session, const struct patience *patience, PGresult **result,
                       enum patience_outcome *outcome)
{
    bool changed = session->changed;
    *outcome = finish(session, patience, result);
    session->changed = changed;
    if (*outcome != PATIENCE_READY || PQresultStatus(*result) != PGRES_COMMAND_OK)
        return false;
    PQclear(*result);
    *result = NULL;
    return true;
}

/* One attempt. */
static enum patience_outcome attempt(struct session *session, int number, const struct pg_value *values,
                                     const struct patience *patience, PGresult **result)
{
    enum patience_outcome outcome = PATIENCE_READY;
    *result = NULL;
    if (session_needs_prepare(session, number)) {
        if (session_send_prepare(session, number) < 0 || !finish_own(session, patience, result, &outcome))
            return outcome;
        session->prepared[number] = true;
    }
    if (session_send(session, number, values) < 0)
        return outcome;
    return finish(session, patience, result);
}

/* A statement that the server did not find, or does not execute as it was prepared, has done nothing: it is prepared
 * again. Not inside a transaction, which has failed with it. */
static bool is_worth_preparing_again(const struct session *session, const PGresult *result)
{
    return session_fault(session->connection, result) == SESSION_STALE &&
           PQtransactionStatus(session->connection) == PQTRANS_IDLE;
}

static enum patience_outcome execute(struct session *session, int number, const struct pg_value *values,
                                     const struct patience *patience, PGresult **result)
{
    enum patience_outcome outcome = attempt(session, number, values, patience, result);
    if (outcome != PATIENCE_READY || !is_worth_preparing_again(session, *result))
        return outcome;
    PQclear(*result);
    *result = NULL;
    if (session_send_deallocate(session, number) == 0) /* that there is none is no error */
        finish_own(session, patience, result, &outcome);
    PQclear(*result);
    *result = NULL;
    return outcome == PATIENCE_READY ? attempt(session, number, values, patience, result) : outcome;
}

static bool has_failed(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result); /* of NULL: PGRES_FATAL_ERROR */
    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

static void report_failure(struct session *session, const struct pg_statement *statement, const PGresult *result,
                           enum patience_outcome outcome)
{
    struct report *report = &session->service->report;
    figures_add(&session->service->figures, FIGURE_ERRORS, 1);
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool late = sqlstate != NULL && strcmp(sqlstate, "57014") == 0; /* also by statement_timeout */
    if (outcome == PATIENCE_LATE || (outcome == PATIENCE_READY && late))
        report_write(report, REPORT_LATE, "cancelled, its time was over", statement->sql);
    else if (outcome == PATIENCE_READY && session_fault(session->connection, result) == SESSION_LOST)
        report_write(report, REPORT_LOST, "a connection was lost", PQerrorMessage(session->connection));
    else if (outcome == PATIENCE_READY)
        report_statement(report, statement, result);
}

static PGresult *failure(PGconn *connection)
{
    return PQmakeEmptyPGresult(connection, PGRES_FATAL_ERROR);
}

static PGresult *execute_and_report(FCGX_Request *req, struct session *session, int number,
                                    const struct pg_value *values)
{
    struct service *service = session->service;
    struct patience patience = patience_of_request(req, service->options.query_timeout_ms);
    PGresult *result = NULL;
    enum patience_outcome outcome = execute(session, number, values, &patience, &result);
    if (has_failed(result))
        report_failure(session, &service->statements[number], result, outcome);
    return result == NULL ? failure(session->connection) : result;
}

PGresult *pg_execute(FCGX_Request *req, PGconn *connection, const struct pg_statement *statement, int count,
                     const struct pg_value *values)
{
    struct session *session = traces_session(connection);
    if (session == NULL || PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
        mr_log(req, "pg_execute: this connection is none of pg_connection's, or in pipeline mode");
        return failure(connection);
    }
    int number = service_statement(session->service, statement, count);
    if (number < 0 || PQsetnonblocking(connection, 1) < 0)
        return failure(connection);
    PGresult *result = execute_and_report(req, session, number, values);
    PQsetnonblocking(connection, 0);
    return result;
}
