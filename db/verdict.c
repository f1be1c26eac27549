/* verdict.c: see verdict.h. */
#include "verdict.h"

#include <string.h>

#include "session.h"

/* An error without an SQLSTATE is libpq's own: the connection broke, or it ran out of memory in the middle of a result.
 */
static enum verdict of_error(const PGresult *answer, struct verdict_case of)
{
    const char *state = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
    if (state == NULL)
        return VERDICT_LOST;
    if (of.cancelled && strcmp(state, "57014") == 0)
        return of.answered ? VERDICT_UNSURE : VERDICT_HIT;
    switch (session_fault_of(PQresultErrorField(answer, PG_DIAG_SEVERITY_NONLOCALIZED), state,
                             PQresultErrorField(answer, PG_DIAG_SOURCE_FUNCTION))) {
    case SESSION_LOST:
        return VERDICT_LOST;
    case SESSION_STALE:
        return of.renewed || of.answered ? VERDICT_REFUSED : VERDICT_STALE;
    default:
        return VERDICT_REFUSED;
    }
}

/* What stands behind such a statement would become part of its transaction. */
static bool begins_transaction(const PGresult *answer)
{
    const char *command = PQcmdStatus((PGresult *)answer);
    return strcmp(command, "BEGIN") == 0 || strcmp(command, "START TRANSACTION") == 0;
}

enum verdict verdict_of(const PGresult *answer, struct verdict_case of)
{
    switch (PQresultStatus(answer)) {
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
        return VERDICT_DONE;
    case PGRES_COMMAND_OK:
        return begins_transaction(answer) ? VERDICT_LOST : VERDICT_DONE;
    case PGRES_PIPELINE_ABORTED:
        return VERDICT_ABORTED;
    case PGRES_FATAL_ERROR:
        return of_error(answer, of);
    default: /* COPY and its like, which need the connection for themselves */
        return VERDICT_LOST;
    }
}
