/*
 * patience.h: waiting for a connection's socket on a handler's thread: until a point in time, and for as long as somebody
 * waits for the answer. Blocks.
 */
#ifndef DB_PATIENCE_H
#define DB_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include <millrace.h>

struct patience {
    FCGX_Request *req; /* whose client is watched; NULL: nobody's */
    int64_t end_us;
};

enum patience_outcome {
    PATIENCE_READY, /* what was waited for has come */
    PATIENCE_LATE,  /* the time is over */
    PATIENCE_GONE   /* nobody waits for the answer any more */
};

/* For `ms` from now and no longer than the request's own time. */
struct patience patience_of_request(FCGX_Request *req, int ms);

/* The same without a request. */
struct patience patience_of(int ms);

/* How long to wait at most before the client is looked at again; 0 when the time is over. */
int patience_slice_ms(const struct patience *patience);

/* Whether the client has gone. Costs a system call. */
bool patience_is_gone(const struct patience *patience);

/* `events` of poll(2). Also ready when the socket has an error, which libpq finds then. */
enum patience_outcome patience_socket(const struct patience *patience, int socket, short events) MR_MUST_CHECK;

/* Sends what is still to be sent and waits until the command that was sent is over. `result` is the last one of its results, or
 * the first that is an error, to be cleared by the caller; NULL when there was none; where COPY begins, PGRES_COPY_IN, _OUT or
 * _BOTH, and the command is not over. With another outcome than PATIENCE_READY the command still runs, and `result` is NULL.
 * The connection must not block (PQsetnonblocking). */
enum patience_outcome patience_result(const struct patience *patience, PGconn *connection, PGresult **result) MR_MUST_CHECK;

#endif
