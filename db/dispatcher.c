/* dispatcher.c: see dispatcher.h. */
#include "dispatcher.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "query.h"
#include "verdict.h"

enum { HITS_MAX = 3, MOVES_MAX = 3, AFTERMATH_MS = 2000, EARLY_MS = 100 };

static struct query *query_at(const struct list *link)
{
    return LIST_ELEMENT(link, struct query, place);
}

/* -- Those of a service ---------------------------------------------------------------------------------------- */

/* Lanes are added under the lock and stay until the end: whoever looks for one needs no lock. */
struct dispatchers {
    struct service *service;
    pthread_mutex_t lock;
    _Atomic(struct dispatcher *) first;
};

static void on_flush(struct mr_timer *timer, void *arg);
static void on_look(struct mr_timer *timer, void *arg);

struct dispatchers *dispatchers_new(struct service *service)
{
    struct dispatchers *dispatchers = calloc(1, sizeof *dispatchers);
    if (dispatchers == NULL)
        return NULL;
    dispatchers->service = service;
    pthread_mutex_init(&dispatchers->lock, NULL);
    return dispatchers;
}

static void free_one(struct dispatcher *dispatcher)
{
    struct list left;
    list_init(&left);
    for (int i = 0; i < dispatcher->link_count; i++)
        link_fini(&dispatcher->links[i], &left);
    list_splice(&left, &dispatcher->queue);
    while (!list_is_empty(&left)) {
        struct query *query = query_at(left.next);
        list_remove(&query->place);
        query_free(query);
    }
    mr_timer_free(dispatcher->flush);
    mr_timer_free(dispatcher->look);
    pthread_mutex_destroy(&dispatcher->lock);
    free(dispatcher);
}

void dispatchers_free(struct dispatchers *dispatchers)
{
    if (dispatchers == NULL)
        return;
    struct dispatcher *dispatcher = atomic_load(&dispatchers->first);
    while (dispatcher != NULL) {
        struct dispatcher *next = dispatcher->next;
        free_one(dispatcher);
        dispatcher = next;
    }
    pthread_mutex_destroy(&dispatchers->lock);
    free(dispatchers);
}

static struct dispatcher *dispatcher_new(struct service *service, struct mr_lane *at)
{
    int count = service->options.connections;
    struct dispatcher *dispatcher = calloc(1, sizeof *dispatcher + (size_t)count * sizeof *dispatcher->links);
    if (dispatcher == NULL)
        return NULL;
    dispatcher->at = at;
    dispatcher->service = service;
    pthread_mutex_init(&dispatcher->lock, NULL);
    list_init(&dispatcher->queue);
    list_init(&dispatcher->times);
    backoff_init(&dispatcher->backoff, (unsigned)clock_now_us() ^ (unsigned)(uintptr_t)dispatcher);
    dispatcher->flush = mr_timer_new(at, on_flush, dispatcher);
    dispatcher->look = mr_timer_new(at, on_look, dispatcher);
    bool made = dispatcher->flush != NULL && dispatcher->look != NULL;
    for (; made && dispatcher->link_count < count; dispatcher->link_count++)
        made = link_init(&dispatcher->links[dispatcher->link_count], dispatcher) == 0;
    if (made)
        return dispatcher;
    free_one(dispatcher);
    return NULL;
}

static struct dispatcher *find(struct dispatchers *dispatchers, const struct mr_lane *at)
{
    struct dispatcher *dispatcher = atomic_load_explicit(&dispatchers->first, memory_order_acquire);
    while (dispatcher != NULL && dispatcher->at != at)
        dispatcher = dispatcher->next;
    return dispatcher;
}

static struct dispatcher *find_or_make(struct dispatchers *dispatchers, struct mr_lane *at)
{
    pthread_mutex_lock(&dispatchers->lock);
    struct dispatcher *dispatcher = find(dispatchers, at);
    if (dispatcher == NULL && (dispatcher = dispatcher_new(dispatchers->service, at)) != NULL) {
        dispatcher->next = atomic_load_explicit(&dispatchers->first, memory_order_relaxed);
        atomic_store_explicit(&dispatchers->first, dispatcher, memory_order_release); /* pairs with find() */
    }
    pthread_mutex_unlock(&dispatchers->lock);
    return dispatcher;
}

struct dispatcher *dispatcher_of_request(const FCGX_Request *req)
{
    struct mr_lane *at = mr_lane(req);
    struct service *service = service_of(mr_lane_route(at));
    if (service == NULL)
        return NULL;
    struct dispatcher *dispatcher = find(service->dispatchers, at);
    return dispatcher != NULL ? dispatcher : find_or_make(service->dispatchers, at);
}

/* -- Time -------------------------------------------------------------------------------------------------------- */

void dispatcher_look_at(struct dispatcher *dispatcher, int64_t at_us)
{
    if (dispatcher->look_us != 0 && dispatcher->look_us <= at_us)
        return;
    int left_ms = clock_left_ms(at_us);
    dispatcher->look_us = at_us;
    mr_after(dispatcher->look, left_ms > 0 ? left_ms : 1);
}

static void look_at_earlier(int64_t *next_us, int64_t at_us)
{
    if (at_us != 0 && (*next_us == 0 || at_us < *next_us))
        *next_us = at_us;
}

static void flush_later(struct dispatcher *dispatcher)
{
    if (!dispatcher->flushing)
        mr_after(dispatcher->flush, 0);
    dispatcher->flushing = true;
}

/* -- What becomes of queries --------------------------------------------------------------------------------------- */

static void end(struct dispatcher *dispatcher, struct query *query, enum pg_outcome outcome)
{
    dispatcher->count--;
    if (outcome != PG_DONE)
        figures_add(&dispatcher->service->figures, FIGURE_ERRORS, 1);
    query_end(query, outcome);
}

static void late(struct dispatcher *dispatcher, const struct query *query)
{
    report_write(&dispatcher->service->report, REPORT_LATE, "no answer in time", query->statement->sql);
}

/* One that was sent is answered to its request at once, which detaches it then (dispatcher_leave). */
static void expire(struct dispatcher *dispatcher, int64_t now_us)
{
    while (!list_is_empty(&dispatcher->times)) {
        struct query *query = LIST_ELEMENT(dispatcher->times.next, struct query, time);
        if (query->deadline_us > now_us)
            return;
        late(dispatcher, query);
        list_remove(&query->time);
        if (query->state == QUERY_WAITING)
            end(dispatcher, query, PG_LATE);
        else
            mr_resume(query->ticket);
    }
}

static void end_waiting(struct dispatcher *dispatcher, enum pg_outcome outcome)
{
    while (!list_is_empty(&dispatcher->queue))
        end(dispatcher, query_at(dispatcher->queue.next), outcome);
}

static void send_again(struct query *query, struct list *again)
{
    PQclear(query->rows);
    PQclear(query->fault);
    query->rows = query->fault = NULL;
    query->state = QUERY_WAITING;
    list_remove(&query->place);
    list_append(again, &query->place);
}

static bool has_state(const PGresult *error, const char *wanted)
{
    const char *state = PQresultErrorField(error, PG_DIAG_SQLSTATE);
    return state != NULL && strcmp(state, wanted) == 0;
}

static void refuse(struct dispatcher *dispatcher, struct query *query, const PGresult *error)
{
    const char *state = PQresultErrorField(error, PG_DIAG_SQLSTATE);
    /* The session's statement_timeout may be a little ahead of the query's own deadline. */
    if (has_state(error, "57014") && clock_now_us() + EARLY_MS * 1000 >= query->deadline_us) {
        late(dispatcher, query);
        end(dispatcher, query, PG_LATE);
        return;
    }
    if (state != NULL)
        memcpy(query->sqlstate, state, sizeof query->sqlstate - 1);
    report_statement(&dispatcher->service->report, query->statement, error);
    end(dispatcher, query, PG_REFUSED);
}

/* A statement that is not read_only is committed when its Sync is answered: an error before that is what counts. Where
 * one that reads was answered, nothing that comes behind changes that. */
static const PGresult *what_counts(const struct query *query)
{
    bool reads = query->statement->read_only && PQresultStatus(query->rows) != PGRES_FATAL_ERROR;
    bool failed = PQresultStatus(query->rows) == PGRES_FATAL_ERROR;
    return query->fault == NULL || reads || failed ? query->rows : query->fault;
}

static enum verdict verdict_on(const struct link *link, const struct query *query, const PGresult *answer)
{
    bool lately = link->cancelled_us != 0 && clock_now_us() - link->cancelled_us < AFTERMATH_MS * 1000;
    return verdict_of(answer, (struct verdict_case){.renewed = query->renewed,
                                                    .cancelled = lately && query->hits < HITS_MAX,
                                                    .answered = answer == query->fault});
}

static void take_own_answer(struct dispatcher *dispatcher, struct query *query)
{
    session_check_limits(dispatcher->service, query->rows);
    end(dispatcher, query, PG_DONE);
}

void dispatcher_take_answer(struct dispatcher *dispatcher, struct link *link, struct query *query, struct list *again,
                            struct list *left)
{
    if (query->statement == NULL) {
        take_own_answer(dispatcher, query);
        return;
    }
    const PGresult *answer = what_counts(query);
    enum verdict verdict = verdict_on(link, query, answer);
    if (verdict == VERDICT_LOST) {
        list_append(left, &query->place);
        return;
    }
    if (query->detached) {
        end(dispatcher, query, PG_GONE);
        return;
    }
    switch (verdict) {
    case VERDICT_DONE:
        end(dispatcher, query, PG_DONE);
        return;
    case VERDICT_REFUSED:
        refuse(dispatcher, query, answer);
        return;
    case VERDICT_UNSURE:
        end(dispatcher, query, PG_AWAY);
        return;
    case VERDICT_STALE:
        pipeline_forget(&link->pipeline, query->number);
        query->renewed = true;
        break;
    case VERDICT_HIT:
        query->hits++;
        query->alone = true;
        break;
    default:
        break;
    }
    send_again(query, again);
}

/* The first may be what the server has died of: it is tried on one other connection, unless the server says that it has
 * ended the session by itself. */
bool dispatcher_take_left(struct dispatcher *dispatcher, struct list *left, bool told)
{
    told = told || (!list_is_empty(left) && has_state(query_at(left->next)->rows, "57P01"));
    int most = told ? MOVES_MAX : 1; /* of the first */
    struct list again;
    list_init(&again);
    for (; !list_is_empty(left); most = MOVES_MAX) {
        struct query *query = query_at(left->next);
        if (query->detached || !query->statement->read_only || query->moves >= most) {
            end(dispatcher, query, PG_AWAY);
            continue;
        }
        query->moves++;
        send_again(query, &again);
    }
    dispatcher_put_back(dispatcher, &again);
    return told;
}

void dispatcher_put_back(struct dispatcher *dispatcher, struct list *queries)
{
    list_splice(queries, &dispatcher->queue);
    list_splice(&dispatcher->queue, queries);
}

/* -- Connections ------------------------------------------------------------------------------------------------- */

static int count_links(const struct dispatcher *dispatcher, enum link_state state)
{
    int count = 0;
    for (int i = 0; i < dispatcher->link_count; i++)
        count += dispatcher->links[i].state == state;
    return count;
}

static void open_one(struct dispatcher *dispatcher)
{
    for (int i = 0; i < dispatcher->link_count; i++)
        if (dispatcher->links[i].state == LINK_CLOSED) {
            dispatcher->asked = false;
            link_open(&dispatcher->links[i]);
            return;
        }
}

/* One at a time, not before the pause after a failure is over. */
static void want_another(struct dispatcher *dispatcher, int64_t now_us)
{
    if (count_links(dispatcher, LINK_OPENING) > 0 || count_links(dispatcher, LINK_CLOSED) == 0)
        return;
    if (backoff_is_pausing(&dispatcher->backoff, now_us))
        dispatcher_look_at(dispatcher, dispatcher->backoff.until_us);
    else
        open_one(dispatcher);
}

void dispatcher_note_failure(struct dispatcher *dispatcher)
{
    backoff_fail(&dispatcher->backoff, clock_now_us());
    if (count_links(dispatcher, LINK_OPEN) == 0)
        end_waiting(dispatcher, PG_AWAY);
}

/* The link for the next batch; NULL while there is none. */
static struct link *next_link(struct dispatcher *dispatcher, int64_t now_us)
{
    for (int i = 0; i < dispatcher->link_count; i++) {
        struct link *link = &dispatcher->links[i];
        if (link_is_free(link))
            return link;
        if (link_is_quick(link, now_us)) {
            dispatcher_look_at(dispatcher, link->since_us + DISPATCHER_SLOW_MS * 1000);
            return NULL;
        }
    }
    want_another(dispatcher, now_us);
    return NULL;
}

static void show(struct dispatcher *dispatcher)
{
    int sent = 0;
    for (int i = 0; i < dispatcher->link_count; i++)
        sent += dispatcher->links[i].pipeline.count;
    int waiting = dispatcher->count - sent;
    if (sent != dispatcher->sent_shown)
        figures_add(&dispatcher->service->figures, FIGURE_RUNNING, sent - dispatcher->sent_shown);
    if (waiting != dispatcher->waiting_shown)
        figures_add(&dispatcher->service->figures, FIGURE_WAITING, waiting - dispatcher->waiting_shown);
    dispatcher->sent_shown = sent;
    dispatcher->waiting_shown = waiting;
}

void dispatcher_send(struct dispatcher *dispatcher)
{
    int64_t now_us = clock_now_us();
    struct link *link;
    while (!list_is_empty(&dispatcher->queue) && (link = next_link(dispatcher, now_us)) != NULL)
        link_send(link, &dispatcher->queue, now_us);
    show(dispatcher);
}

static void on_flush(struct mr_timer *timer, void *arg)
{
    struct dispatcher *dispatcher = arg;
    (void)timer;
    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->flushing = false;
    dispatcher_send(dispatcher);
    pthread_mutex_unlock(&dispatcher->lock);
}

static void on_look(struct mr_timer *timer, void *arg)
{
    struct dispatcher *dispatcher = arg;
    (void)timer;
    pthread_mutex_lock(&dispatcher->lock);
    int64_t now_us = clock_now_us(), next_us = 0;
    dispatcher->look_us = 0;
    expire(dispatcher, now_us);
    if (!list_is_empty(&dispatcher->times))
        next_us = LIST_ELEMENT(dispatcher->times.next, struct query, time)->deadline_us;
    for (int i = 0; i < dispatcher->link_count; i++)
        look_at_earlier(&next_us, link_look(&dispatcher->links[i], now_us));
    if (dispatcher->asked && count_links(dispatcher, LINK_OPEN) == 0)
        want_another(dispatcher, now_us);
    dispatcher_send(dispatcher);
    if (next_us != 0)
        dispatcher_look_at(dispatcher, next_us);
    pthread_mutex_unlock(&dispatcher->lock);
}

/* -- From requests ------------------------------------------------------------------------------------------------- */

/* The server is away: there is no connection, and the last attempt to make one has failed. The first query after a
 * pause makes the next attempt, and waits for it; while it lasts all others are answered. */
static bool is_away(struct dispatcher *dispatcher, int64_t now_us)
{
    if (!backoff_is_failing(&dispatcher->backoff) || count_links(dispatcher, LINK_OPEN) > 0)
        return false;
    if (count_links(dispatcher, LINK_OPENING) > 0)
        return true;
    if (!backoff_is_pausing(&dispatcher->backoff, now_us))
        return false;
    dispatcher->asked = true;
    dispatcher_look_at(dispatcher, dispatcher->backoff.until_us);
    return true;
}

static void take_in(struct dispatcher *dispatcher, struct query *query, int64_t now_us)
{
    query->deadline_us = now_us + (int64_t)dispatcher->service->options.query_timeout_ms * 1000;
    if (list_is_empty(&dispatcher->times))
        dispatcher_look_at(dispatcher, query->deadline_us);
    list_append(&dispatcher->times, &query->time);
    list_append(&dispatcher->queue, &query->place);
    flush_later(dispatcher);
}

void dispatcher_add(struct dispatcher *dispatcher, struct query *query)
{
    struct service *service = dispatcher->service;
    int64_t now_us = clock_now_us();
    query->number = service_statement(service, query->statement, query->count);
    pthread_mutex_lock(&dispatcher->lock);
    dispatcher->count++;
    if (query->number < 0) {
        memcpy(query->sqlstate, "07001", sizeof query->sqlstate);
        end(dispatcher, query, PG_REFUSED);
    } else if (dispatcher->count > service->options.queue) {
        report_write(&service->report, REPORT_FULL, "too many queries wait", "ask less, or raise `queue`");
        end(dispatcher, query, PG_FULL);
    } else if (is_away(dispatcher, now_us)) {
        end(dispatcher, query, PG_AWAY);
    } else {
        take_in(dispatcher, query, now_us);
    }
    pthread_mutex_unlock(&dispatcher->lock);
}

bool dispatcher_leave(struct query *query, enum pg_outcome outcome)
{
    struct dispatcher *dispatcher = query->dispatcher;
    pthread_mutex_lock(&dispatcher->lock);
    bool ended = query->state == QUERY_ENDED;
    if (!ended) {
        query->detached = true;
        list_remove(&query->time);
        if (query->state == QUERY_WAITING)
            end(dispatcher, query, outcome);
        else
            dispatcher_look_at(dispatcher, clock_now_us());
    }
    pthread_mutex_unlock(&dispatcher->lock);
    return ended;
}
