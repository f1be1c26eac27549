/*
 * session.h: an open connection and the statements that were prepared on it; what both styles need of libpq.
 *
 * A statement is prepared where it is first needed: so one whose table is missing fails alone, and is tried again with its
 * next query. One thread at a time.
 */
#ifndef DB_SESSION_H
#define DB_SESSION_H

#include <stdbool.h>

#include "service.h"

struct session {
    struct service *service;
    PGconn *connection; /* NULL: its borrower has closed it */
    bool changed;       /* what the server remembers of it may be another's (see traces.h) */
    bool prepared[];    /* by the statements' numbers */
};

/* Takes the connection, also when there is no memory: then returns NULL and has closed it. */
struct session *session_new(struct service *service, PGconn *connection) MR_MUST_CHECK;

/* Closes the connection; what is left is to be freed. */
void session_close(struct session *session);

/* Its connection is being closed by somebody else. */
void session_lose(struct session *session);

/* Closes the connection, unless it is. NULL: nothing. */
void session_free(struct session *session);

/* Nothing is prepared on it any more. */
void session_forget(struct session *session);

/* Whether a statement has to be prepared before it is executed. Never with prepare = no. */
bool session_needs_prepare(const struct session *session, int number);

/* Sends, and does not wait: PQsendPrepare; PQsendQueryPrepared or, with prepare = no, PQsendQueryParams. In pipeline mode
 * the two may be sent one behind the other. Whoever sees the preparation's PGRES_COMMAND_OK sets prepared[number]. Return 0,
 * −1 when nothing was sent (see PQerrorMessage). */
int session_send_prepare(struct session *session, int number) MR_MUST_CHECK;
int session_send_deallocate(struct session *session, int number) MR_MUST_CHECK;
int session_send(struct session *session, int number, const struct pg_value *values) MR_MUST_CHECK;

/* -- Results ---------------------------------------------------------------------------------------------------- */

enum session_fault {
    SESSION_FINE,  /* no error, or one of the statement alone */
    SESSION_STALE, /* the session does not fit the server's any more: the statement was not executed; use another */
    SESSION_LOST   /* there is no session any more */
};

/* What a result says about the session. `result` may be NULL. */
enum session_fault session_fault(PGconn *connection, const PGresult *result);

/* Pure: the same from the fields of an error (NULL where it has none). */
enum session_fault session_fault_of(const char *severity, const char *sqlstate, const char *function);

/* -- The server's limits (C65) ------------------------------------------------------------------------------------- */

/* True for the first one who asks in this worker, unless a pgbouncer stands between: send session_limits_query, which takes
 * no values, and give its result to session_check_limits. It warns when the worker's options alone are over what the
 * server gives to all. */
bool session_wants_limits(struct service *service);
extern const char session_limits_query[];
void session_check_limits(struct service *service, const PGresult *result);

#endif
