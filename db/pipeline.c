/* pipeline.c: see pipeline.h. */
#include "pipeline.h"

#include <stdlib.h>

#include "query.h"

static struct query *query_at(const struct list *link)
{
    return LIST_ELEMENT(link, struct query, place);
}

void pipeline_init(struct pipeline *pipeline)
{
    *pipeline = (struct pipeline){.group_limit = PIPELINE_DEPTH};
    list_init(&pipeline->sent);
}

int pipeline_open(struct pipeline *pipeline, struct session *session)
{
    PGconn *connection = session->connection;
    if (PQsetnonblocking(connection, 1) != 0 || !PQenterPipelineMode(connection))
        return -1;
    size_t count = (size_t)session->service->statement_count + 1;
    pipeline->preparing = calloc(2 * count, sizeof *pipeline->preparing);
    if (pipeline->preparing == NULL)
        return -1;
    pipeline->stale = pipeline->preparing + count;
    pipeline->session = session;
    pipeline->nulls = pipeline->group_size = 0;
    pipeline->group_failed = false;
    return 0;
}

void pipeline_close(struct pipeline *pipeline, struct list *left)
{
    list_splice(left, &pipeline->sent);
    pipeline->count = 0;
    session_free(pipeline->session);
    pipeline->session = NULL;
    free(pipeline->preparing);
    pipeline->preparing = NULL;
}

/* -- Sending ----------------------------------------------------------------------------------------------------- */

static PGconn *connection_of(const struct pipeline *pipeline)
{
    return pipeline->session->connection;
}

static int sync(struct pipeline *pipeline, struct query *last)
{
    last->synced = true;
    return PQpipelineSync(connection_of(pipeline)) ? 0 : -1;
}

static void note_sent(struct pipeline *pipeline, struct query *query)
{
    list_remove(&query->place);
    list_append(&pipeline->sent, &query->place);
    pipeline->count++;
    query->state = QUERY_SENT;
}

/* A session that does not fit its statement any more has to forget it first. */
static int send_preparation(struct pipeline *pipeline, struct query *query)
{
    struct session *session = pipeline->session;
    query->phase = QUERY_PREPARES;
    if (pipeline->stale[query->number]) {
        pipeline->stale[query->number] = false;
        query->phase = QUERY_FORGETS;
        if (session_send_deallocate(session, query->number) < 0 || !PQpipelineSync(session->connection))
            return -1;
    }
    pipeline->preparing[query->number] = true;
    return session_send_prepare(session, query->number);
}

static int send_one(struct pipeline *pipeline, struct query *query)
{
    struct session *session = pipeline->session;
    query->synced = false;
    query->phase = QUERY_EXECUTES;
    if (query->statement == NULL)
        return PQsendQueryParams(session->connection, session_limits_query, 0, NULL, NULL, NULL, NULL, 0) ? 0 : -1;
    if (session_needs_prepare(session, query->number) && send_preparation(pipeline, query) < 0)
        return -1;
    return session_send(session, query->number, query->values);
}

static bool may_share(const struct query *query)
{
    return !query->alone && query->statement != NULL && query->statement->read_only;
}

static bool shares(const struct pipeline *pipeline, const struct query *query)
{
    return may_share(query) && !session_needs_prepare(pipeline->session, query->number);
}

/* Its statement is being prepared, and that may fail. */
static bool must_wait(const struct pipeline *pipeline, const struct query *query)
{
    return query->statement != NULL && pipeline->preparing[query->number];
}

/* Returns how many, or −1. */
static int send_shared(struct pipeline *pipeline, struct list *batch)
{
    struct query *last = NULL;
    int sent = 0, group = 0;
    for (struct list *link = batch->next, *next; link != batch; link = next) {
        struct query *query = query_at(link);
        next = link->next;
        if (!shares(pipeline, query))
            continue;
        if (send_one(pipeline, query) < 0)
            return -1;
        note_sent(pipeline, query);
        last = query;
        sent++;
        if (++group < pipeline->group_limit)
            continue;
        if (sync(pipeline, last) < 0)
            return -1;
        last = NULL;
        group = 0;
    }
    return last != NULL && sync(pipeline, last) < 0 ? -1 : sent;
}

static int send_single(struct pipeline *pipeline, struct list *batch)
{
    int sent = 0;
    for (struct list *link = batch->next, *next; link != batch; link = next) {
        struct query *query = query_at(link);
        next = link->next;
        if (must_wait(pipeline, query))
            continue;
        if (send_one(pipeline, query) < 0)
            return -1;
        note_sent(pipeline, query);
        if (sync(pipeline, query) < 0)
            return -1;
        sent++;
    }
    return sent;
}

int pipeline_send(struct pipeline *pipeline, struct list *queue, int count)
{
    struct list batch;
    list_init(&batch);
    for (int i = 0; i < count && !list_is_empty(queue); i++) {
        struct list *link = queue->next;
        list_remove(link);
        list_append(&batch, link);
    }
    int shared = send_shared(pipeline, &batch);
    int single = shared < 0 ? -1 : send_single(pipeline, &batch);
    list_splice(&batch, queue);
    list_splice(queue, &batch);
    return single < 0 ? -1 : shared + single;
}

void pipeline_forget(struct pipeline *pipeline, int number)
{
    pipeline->stale[number] = pipeline->stale[number] || pipeline->session->prepared[number];
    pipeline->session->prepared[number] = false;
}

int pipeline_flush(struct pipeline *pipeline)
{
    return PQflush(connection_of(pipeline));
}

/* -- Answers ----------------------------------------------------------------------------------------------------- */

/* Settles where about every second group fails: with one failing statement in ten at seven, which is about the
 * cheapest. */
static void adapt_limit(struct pipeline *pipeline)
{
    int limit = pipeline->group_limit;
    if (pipeline->group_failed && limit > 1)
        pipeline->group_limit = limit / 2;
    else if (!pipeline->group_failed && pipeline->group_size >= limit && limit < PIPELINE_DEPTH)
        pipeline->group_limit = limit * 2;
}

static void end_group(struct pipeline *pipeline, const struct query *last)
{
    if (may_share(last))
        adapt_limit(pipeline);
    pipeline->group_size = 0;
    pipeline->group_failed = false;
    pipeline->groups++;
}

static void note_answered(struct pipeline *pipeline, struct query *query, struct list *answered)
{
    pipeline->group_size++;
    if (query->synced)
        end_group(pipeline, query);
    list_remove(&query->place);
    list_append(answered, &query->place);
    pipeline->count--;
}

/* A Sync has been answered: it ends a group, or stands behind what a session has forgotten. */
static bool take_sync(struct pipeline *pipeline, struct query *query, struct list *answered)
{
    if (query->phase == QUERY_FORGETS)
        query->phase = QUERY_PREPARES;
    else if (query->phase == QUERY_ANSWERED && query->synced)
        note_answered(pipeline, query, answered);
    else
        return false;
    return true;
}

static bool is_error(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_FATAL_ERROR;
}

/* Of several errors the first says what was wrong. */
static void keep(PGresult **kept, PGresult *result)
{
    if (*kept == NULL)
        *kept = result;
    else
        PQclear(result);
}

static void take_result(struct pipeline *pipeline, struct query *query, PGresult *result)
{
    if (is_error(result))
        pipeline->group_failed = true;
    switch (query->phase) {
    case QUERY_FORGETS:
        PQclear(result); /* that it did not know it is no harm */
        return;
    case QUERY_PREPARES:
        pipeline->preparing[query->number] = false;
        pipeline->session->prepared[query->number] = !is_error(result);
        query->phase = QUERY_EXECUTES;
        if (is_error(result))
            query->rows = result; /* what is executed then is aborted */
        else
            PQclear(result);
        return;
    case QUERY_EXECUTES:
        keep(&query->rows, result);
        query->phase = QUERY_ANSWERED;
        return;
    default:
        keep(&query->fault, result);
    }
}

/* libpq gives one NULL behind each command's result, none behind a Sync's, and NULLs without end when it knows of
 * nothing that was sent. */
static bool take_null(struct pipeline *pipeline, struct query *query, struct list *answered)
{
    if (++pipeline->nulls > 2)
        return false;
    if (query->phase == QUERY_ANSWERED && !query->synced)
        note_answered(pipeline, query, answered);
    return true;
}

static bool take(struct pipeline *pipeline, PGresult *result, struct list *answered)
{
    struct query *query = query_at(pipeline->sent.next);
    if (result == NULL)
        return take_null(pipeline, query, answered);
    pipeline->nulls = 0;
    if (PQresultStatus(result) != PGRES_PIPELINE_SYNC) {
        take_result(pipeline, query, result);
        return true;
    }
    PQclear(result);
    return take_sync(pipeline, query, answered);
}

static void drop_notifies(PGconn *connection)
{
    PGnotify *notify;
    while ((notify = PQnotifies(connection)) != NULL)
        PQfreemem(notify);
}

int pipeline_read(struct pipeline *pipeline, struct list *answered)
{
    PGconn *connection = connection_of(pipeline);
    if (!PQconsumeInput(connection))
        return -1;
    while (pipeline->count > 0 && !PQisBusy(connection))
        if (!take(pipeline, PQgetResult(connection), answered))
            return -1;
    drop_notifies(connection);
    return PQstatus(connection) == CONNECTION_OK ? 0 : -1;
}

bool pipeline_works_in_vain(const struct pipeline *pipeline)
{
    for (struct list *link = pipeline->sent.next; link != &pipeline->sent; link = link->next) {
        const struct query *query = query_at(link);
        if (query->detached)
            return true;
        if (query->synced)
            return false;
    }
    return false;
}
