/* traces.c: see traces.h. Runs on the threads of handlers. */
#include "traces.h"

#include <string.h>

#include <libpq-events.h>

#include "interrupt.h"
#include "patience.h"

enum { REMOVE_LIMIT_MS = 1000 };

/* The tags of commands whose effects end with the transaction or are the data's; a tag is followed by its counts, or by
 * the rest of its name. SELECT without rows (INTO) may have made a temporary table. */
bool traces_may_stay(ExecStatusType status, const char *tag)
{
    static const char *const harmless[] = {
        "SELECT", "INSERT", "UPDATE", "DELETE",   "MERGE",     "BEGIN",   "START TRANSACTION",
        "COMMIT", "FETCH",  "MOVE",   "ROLLBACK", "SAVEPOINT", "RELEASE", "SET CONSTRAINTS",
        "SHOW",   "COPY",   "NOTIFY", "EXPLAIN",  "LOCK TABLE"};
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        return false;
    for (size_t i = status == PGRES_TUPLES_OK ? 0 : 1; i < sizeof harmless / sizeof *harmless; i++) {
        size_t length = strlen(harmless[i]);
        if (strncmp(tag, harmless[i], length) == 0 && (tag[length] == '\0' || tag[length] == ' '))
            return false;
    }
    return true;
}

/* Called by libpq. Returns non-zero for "all is well". */
static int on_event(PGEventId event, void *info, void *arg)
{
    struct session *session = arg;
    if (event == PGEVT_RESULTCREATE) {
        PGresult *result = ((PGEventResultCreate *)info)->result;
        session->changed = session->changed || traces_may_stay(PQresultStatus(result), PQcmdStatus(result));
    } else if (event == PGEVT_CONNRESET) { /* PQreset: another session of the server's */
        session_forget(session);
        session->changed = false;
    } else if (event == PGEVT_CONNDESTROY) {
        session_lose(session);
    }
    return 1;
}

int traces_watch(struct session *session)
{
    if (!PQregisterEventProc(session->connection, on_event, "millrace", session) ||
        !PQsetInstanceData(session->connection, on_event, session))
        return -1;
    return 0;
}

struct session *traces_session(const PGconn *connection)
{
    return PQinstanceData(connection, on_event);
}

/* A command without a result that matters. */
static int command(PGconn *connection, const char *sql)
{
    struct patience patience = patience_of(REMOVE_LIMIT_MS);
    PGresult *result = NULL;
    if (!PQsendQuery(connection, sql) || patience_result(&patience, connection, &result) != PATIENCE_READY)
        return -1;
    bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return done ? 0 : -1;
}

/* A command that was sent and whose results were not all taken: it is cancelled. A COPY under way is not worth the
 * trouble. */
static int end_command(struct session *session)
{
    struct patience patience = patience_of(REMOVE_LIMIT_MS);
    PGresult *result = NULL;
    struct interrupt *interrupt = interrupt_begin(session->connection);
    bool over = patience_result(&patience, session->connection, &result) == PATIENCE_READY;
    PQclear(result);
    over = interrupt_end(interrupt, patience.end_us) && over;
    return over && PQtransactionStatus(session->connection) != PQTRANS_ACTIVE ? 0 : -1;
}

static int reset_session(struct session *session)
{
    if (command(session->connection, "DISCARD ALL") < 0)
        return -1;
    session_forget(session);
    for (PGnotify *notify; (notify = PQnotifies(session->connection)) != NULL;)
        PQfreemem(notify);
    session->changed = false;
    return 0;
}

/* What libpq itself remembers: none of it costs a word with the server. */
static int reset_libpq(struct session *session)
{
    PQuntrace(session->connection);
    PQsetErrorVerbosity(session->connection, PQERRORS_DEFAULT);
    PQsetErrorContextVisibility(session->connection, PQSHOW_CONTEXT_ERRORS);
    report_notices(&session->service->report, session->connection);
    if (PQpipelineStatus(session->connection) != PQ_PIPELINE_OFF && !PQexitPipelineMode(session->connection))
        return -1;
    return PQsetnonblocking(session->connection, 1);
}

int traces_remove(struct session *session)
{
    PGconn *connection = session->connection;
    if (connection == NULL || PQstatus(connection) != CONNECTION_OK || reset_libpq(session) < 0)
        return -1;
    if (PQtransactionStatus(connection) == PQTRANS_ACTIVE && end_command(session) < 0)
        return -1;
    if (PQtransactionStatus(connection) != PQTRANS_IDLE && command(connection, "ROLLBACK") < 0)
        return -1;
    if (session->changed && session->service->options.prepare && reset_session(session) < 0)
        return -1;
    return PQtransactionStatus(connection) == PQTRANS_IDLE && PQstatus(connection) == CONNECTION_OK ? 0 : -1;
}
