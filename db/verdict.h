/*
 * verdict.h: what an answer of the server's means for the query of a pipeline that it belongs to. Pure.
 */
#ifndef DB_VERDICT_H
#define DB_VERDICT_H

#include <stdbool.h>

#include <libpq-fe.h>

enum verdict {
    VERDICT_DONE,
    VERDICT_REFUSED, /* an error of its own: it was rolled back */
    VERDICT_ABORTED, /* it was not executed, since one before it in its group had failed */
    VERDICT_HIT,     /* it was rolled back, by a cancel that was meant for another */
    VERDICT_STALE,   /* it was not executed: the session does not know its prepared statement, or not in this form */
    VERDICT_UNSURE,  /* whether it was executed is not known; the connection goes on */
    VERDICT_LOST,    /* the connection is of no use any more, and whether it was executed is not known */
};

struct verdict_case {
    bool renewed;   /* it is sent for the second time, since it was stale */
    bool cancelled; /* a cancel was sent lately on its connection, and it was meant for another */
    bool answered;  /* `answer` came when the statement had been answered already, before its transaction's end */
};

enum verdict verdict_of(const PGresult *answer, struct verdict_case of);

#endif
