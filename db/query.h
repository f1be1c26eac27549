/*
 * query.h: one pg_query, from its call until on_result has returned.
 *
 * It belongs to its request, which frees it, until it is detached; from then on to its dispatcher, which frees it when its answer has
 * come. The dispatcher's lock guards everything in it that changes.
 */
#ifndef DB_QUERY_H
#define DB_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "millrace_pg.h"

struct dispatcher;

enum query_state { QUERY_WAITING, QUERY_SENT, QUERY_ENDED };

/* What libpq gives for a query that was sent, in this order; the first two only when they were sent. */
enum query_phase { QUERY_FORGETS, QUERY_PREPARES, QUERY_EXECUTES, QUERY_ANSWERED };

struct query {
    struct list place; /* in the queue, or among what a pipeline has sent */
    struct list time;  /* among the deadlines */
    struct dispatcher *dispatcher;
    const struct pg_statement *statement; /* NULL: the library's own, session_limits_query */
    int number;                           /* of the statement, in the table */
    enum query_state state;
    bool detached; /* nobody waits for it */
    bool alone;    /* it gets a Sync of its own */
    int moves;     /* how often it was sent again, since its connection was lost */
    bool renewed;  /* it was sent again, since the session did not fit its statement */
    int hits;      /* how often a cancel hit it that was meant for another */

    /* While it is sent. */
    enum query_phase phase;
    bool synced;     /* a Sync follows it */
    PGresult *rows;  /* its answer; owned */
    PGresult *fault; /* an error that came behind the answer, before the Sync; owned */

    uint64_t ticket; /* 0: it has no request */
    int64_t deadline_us;
    enum pg_outcome outcome;
    char sqlstate[6];
    int (*on_result)(FCGX_Request *req, const struct pg_result *result, void *arg);
    void *arg;
    int count;
    struct pg_value values[]; /* their bytes lie behind them */
};

/* Returns NULL when memory is short. The values are copied. */
struct query *query_new(int count, const struct pg_value *values) MR_MUST_CHECK;

/* With its results. */
void query_free(struct query *query);

/* It has ended: under the dispatcher's lock. Frees it when it is detached; else its request is woken, and will free it. */
void query_end(struct query *query, enum pg_outcome outcome);

#endif
