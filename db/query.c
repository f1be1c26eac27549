/*
 * query.c: pg_query and its request's waking, on handlers' threads; the rest under the dispatcher's lock.
 */
#include "query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "dispatcher.h"

/* -- Its memory -------------------------------------------------------------------------------------------------- */

/* A text keeps its NUL. */
static size_t bytes_of(const struct pg_value *value)
{
    if (value->bytes == NULL)
        return 0;
    return value->binary ? (size_t)value->length : strlen(value->bytes) + 1;
}

struct query *query_new(int count, const struct pg_value *values)
{
    size_t size = sizeof(struct query) + (size_t)count * sizeof *values;
    for (int i = 0; i < count; i++)
        size += bytes_of(&values[i]);
    struct query *query = malloc(size);
    if (query == NULL)
        return NULL;
    memset(query, 0, sizeof *query);
    list_init(&query->place);
    list_init(&query->time);
    query->count = count;
    char *at = (char *)&query->values[count];
    for (int i = 0; i < count; i++) {
        size_t length = bytes_of(&values[i]);
        query->values[i] = values[i];
        if (values[i].bytes == NULL)
            continue;
        query->values[i].bytes = memcpy(at, values[i].bytes, length);
        at += length;
    }
    return query;
}

void query_free(struct query *query)
{
    PQclear(query->rows);
    PQclear(query->fault);
    free(query);
}

void query_end(struct query *query, enum pg_outcome outcome)
{
    list_remove(&query->place);
    list_remove(&query->time);
    query->state = QUERY_ENDED;
    query->outcome = outcome;
    if (query->detached)
        query_free(query);
    else
        mr_resume(query->ticket); /* where that comes too late, the request finds it ended all the same */
}

/* -- The request's side ------------------------------------------------------------------------------------------ */

/* What is told when the request itself is over, its time or its client. */
static enum pg_outcome outcome_of(enum mr_wake why)
{
    return why == MR_CLIENT_GONE ? PG_GONE : PG_LATE;
}

static int tell(FCGX_Request *req, struct query *query)
{
    struct pg_result result = {.outcome = query->outcome, .rows = query->outcome == PG_DONE ? query->rows : NULL};
    memcpy(result.sqlstate, query->sqlstate, sizeof result.sqlstate);
    int status = query->on_result(req, &result, query->arg);
    query_free(query);
    return status;
}

static int on_wake(FCGX_Request *req, enum mr_wake why, void *arg)
{
    struct query *query = arg;
    struct pg_result result = {.outcome = outcome_of(why)};
    int (*on_result)(FCGX_Request *, const struct pg_result *, void *) = query->on_result;
    arg = query->arg;
    return dispatcher_leave(query, result.outcome) ? tell(req, query) : on_result(req, &result, arg);
}

/* The request cannot wait (again): it was woken since its time is over or its client has gone, or memory is short. */
static int tell_at_once(FCGX_Request *req, enum pg_outcome outcome,
                        int (*on_result)(FCGX_Request *, const struct pg_result *, void *), void *arg)
{
    struct pg_result result = {.outcome = outcome};
    return on_result(req, &result, arg);
}

int pg_query(FCGX_Request *req, const struct pg_statement *statement, int count, const struct pg_value *values,
             int (*on_result)(FCGX_Request *req, const struct pg_result *result, void *arg), void *arg)
{
    struct dispatcher *dispatcher = dispatcher_of_request(req);
    struct query *query = dispatcher == NULL ? NULL : query_new(count, values);
    if (query == NULL)
        return tell_at_once(req, PG_FULL, on_result, arg);
    query->statement = statement;
    query->on_result = on_result;
    query->arg = arg;
    query->dispatcher = dispatcher;
    query->ticket = mr_suspend(req, on_wake, query);
    if (query->ticket == 0) {
        bool cannot = errno == ENOMEM;
        query_free(query);
        return tell_at_once(req, cannot ? PG_FULL : mr_deadline_ms(req) == 0 ? PG_LATE : PG_GONE, on_result, arg);
    }
    dispatcher_add(dispatcher, query);
    return 0;
}
