/* lane.c: see lane.h. */
#include "lane.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "query.h"
#include "verdict.h"

enum { HITS_MAX = 3, AFTERMATH_MS = 2000 };

static struct query *query_at(const struct list *link)
{
    return LIST_ELEMENT(link, struct query, place);
}

/* -- The lanes of a service ---------------------------------------------------------------------------------------- */

/* Lanes are added under the lock and stay until the end: whoever looks for one needs no lock. */
struct lanes {
    struct service *service;
    pthread_mutex_t lock;
    _Atomic(struct lane *) first;
};

static void on_flush(struct mr_timer *timer, void *arg);
static void on_look(struct mr_timer *timer, void *arg);

struct lanes *lanes_new(struct service *service)
{
    struct lanes *lanes = calloc(1, sizeof *lanes);
    if (lanes == NULL)
        return NULL;
    lanes->service = service;
    pthread_mutex_init(&lanes->lock, NULL);
    return lanes;
}

static void free_lane(struct lane *lane)
{
    struct list left;
    list_init(&left);
    for (int i = 0; i < lane->link_count; i++)
        link_fini(&lane->links[i], &left);
    list_splice(&left, &lane->queue);
    while (!list_is_empty(&left)) {
        struct query *query = query_at(left.next);
        list_remove(&query->place);
        query_free(query);
    }
    mr_timer_free(lane->flush);
    mr_timer_free(lane->look);
    pthread_mutex_destroy(&lane->lock);
    free(lane);
}

void lanes_free(struct lanes *lanes)
{
    if (lanes == NULL)
        return;
    struct lane *lane = atomic_load(&lanes->first);
    while (lane != NULL) {
        struct lane *next = lane->next;
        free_lane(lane);
        lane = next;
    }
    pthread_mutex_destroy(&lanes->lock);
    free(lanes);
}

static struct lane *lane_new(struct service *service, struct mr_lane *at)
{
    int count = service->options.connections;
    struct lane *lane = calloc(1, sizeof *lane + (size_t)count * sizeof *lane->links);
    if (lane == NULL)
        return NULL;
    lane->at = at;
    lane->service = service;
    pthread_mutex_init(&lane->lock, NULL);
    list_init(&lane->queue);
    list_init(&lane->times);
    backoff_init(&lane->backoff, (unsigned)clock_now_us() ^ (unsigned)(uintptr_t)lane);
    lane->flush = mr_timer_new(at, on_flush, lane);
    lane->look = mr_timer_new(at, on_look, lane);
    bool made = lane->flush != NULL && lane->look != NULL;
    for (; made && lane->link_count < count; lane->link_count++)
        made = link_init(&lane->links[lane->link_count], lane) == 0;
    if (made)
        return lane;
    free_lane(lane);
    return NULL;
}

static struct lane *find(struct lanes *lanes, const struct mr_lane *at)
{
    struct lane *lane = atomic_load_explicit(&lanes->first, memory_order_acquire);
    while (lane != NULL && lane->at != at)
        lane = lane->next;
    return lane;
}

static struct lane *find_or_make(struct lanes *lanes, struct mr_lane *at)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = find(lanes, at);
    if (lane == NULL && (lane = lane_new(lanes->service, at)) != NULL) {
        lane->next = atomic_load_explicit(&lanes->first, memory_order_relaxed);
        atomic_store_explicit(&lanes->first, lane, memory_order_release); /* pairs with find() */
    }
    pthread_mutex_unlock(&lanes->lock);
    return lane;
}

struct lane *lane_of_request(const FCGX_Request *req)
{
    struct mr_lane *at = mr_lane(req);
    struct service *service = service_of(mr_lane_route(at));
    if (service == NULL)
        return NULL;
    struct lane *lane = find(service->lanes, at);
    return lane != NULL ? lane : find_or_make(service->lanes, at);
}

/* -- Time -------------------------------------------------------------------------------------------------------- */

void lane_look_at(struct lane *lane, int64_t at_us)
{
    if (lane->look_us != 0 && lane->look_us <= at_us)
        return;
    int left_ms = clock_left_ms(at_us);
    lane->look_us = at_us;
    mr_after(lane->look, left_ms > 0 ? left_ms : 1);
}

static void look_at_earlier(int64_t *next_us, int64_t at_us)
{
    if (at_us != 0 && (*next_us == 0 || at_us < *next_us))
        *next_us = at_us;
}

static void flush_later(struct lane *lane)
{
    if (!lane->flushing)
        mr_after(lane->flush, 0);
    lane->flushing = true;
}

/* -- What becomes of queries --------------------------------------------------------------------------------------- */

static void end(struct lane *lane, struct query *query, enum pg_outcome outcome)
{
    lane->count--;
    if (outcome != PG_DONE)
        figures_add(&lane->service->figures, FIGURE_ERRORS, 1);
    query_end(query, outcome);
}

/* One that was sent is answered to its request at once, which detaches it then (lane_leave). */
static void expire(struct lane *lane, int64_t now_us)
{
    while (!list_is_empty(&lane->times)) {
        struct query *query = LIST_ELEMENT(lane->times.next, struct query, time);
        if (query->deadline_us > now_us)
            return;
        report_write(&lane->service->report, REPORT_LATE, "no answer in time", query->statement->sql);
        list_remove(&query->time);
        if (query->state == QUERY_WAITING)
            end(lane, query, PG_LATE);
        else
            mr_resume(query->ticket);
    }
}

static void end_waiting(struct lane *lane, enum pg_outcome outcome)
{
    while (!list_is_empty(&lane->queue))
        end(lane, query_at(lane->queue.next), outcome);
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

static void refuse(struct lane *lane, struct query *query, const PGresult *error)
{
    const char *state = PQresultErrorField(error, PG_DIAG_SQLSTATE);
    if (state != NULL)
        memcpy(query->sqlstate, state, sizeof query->sqlstate - 1);
    report_statement(&lane->service->report, query->statement, error);
    end(lane, query, PG_REFUSED);
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

static void take_own_answer(struct lane *lane, struct query *query)
{
    session_check_limits(lane->service, query->rows);
    end(lane, query, PG_DONE);
}

void lane_take_answer(struct lane *lane, struct link *link, struct query *query, struct list *again, struct list *left)
{
    if (query->statement == NULL) {
        take_own_answer(lane, query);
        return;
    }
    const PGresult *answer = what_counts(query);
    enum verdict verdict = verdict_on(link, query, answer);
    if (verdict == VERDICT_LOST) {
        list_append(left, &query->place);
        return;
    }
    if (query->detached) {
        end(lane, query, PG_GONE);
        return;
    }
    switch (verdict) {
    case VERDICT_DONE:
        end(lane, query, PG_DONE);
        return;
    case VERDICT_REFUSED:
        refuse(lane, query, answer);
        return;
    case VERDICT_UNSURE:
        end(lane, query, PG_AWAY);
        return;
    case VERDICT_STALE:
        link->pipeline.session->prepared[query->number] = false;
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

void lane_take_left(struct lane *lane, struct list *left)
{
    struct list again;
    list_init(&again);
    while (!list_is_empty(left)) {
        struct query *query = query_at(left->next);
        if (query->detached || !query->statement->read_only || query->moved) {
            end(lane, query, PG_AWAY);
            continue;
        }
        query->moved = true;
        send_again(query, &again);
    }
    lane_put_back(lane, &again);
}

void lane_put_back(struct lane *lane, struct list *queries)
{
    list_splice(queries, &lane->queue);
    list_splice(&lane->queue, queries);
}

/* -- Connections ------------------------------------------------------------------------------------------------- */

static int count_links(const struct lane *lane, enum link_state state)
{
    int count = 0;
    for (int i = 0; i < lane->link_count; i++)
        count += lane->links[i].state == state;
    return count;
}

static void open_one(struct lane *lane)
{
    for (int i = 0; i < lane->link_count; i++)
        if (lane->links[i].state == LINK_CLOSED) {
            lane->asked = false;
            link_open(&lane->links[i]);
            return;
        }
}

/* One at a time, not before the pause after a failure is over. */
static void want_another(struct lane *lane, int64_t now_us)
{
    if (count_links(lane, LINK_OPENING) > 0 || count_links(lane, LINK_CLOSED) == 0)
        return;
    if (backoff_is_pausing(&lane->backoff, now_us))
        lane_look_at(lane, lane->backoff.until_us);
    else
        open_one(lane);
}

void lane_note_failure(struct lane *lane)
{
    backoff_fail(&lane->backoff, clock_now_us());
    if (count_links(lane, LINK_OPEN) == 0)
        end_waiting(lane, PG_AWAY);
}

/* The link for the next batch; NULL while there is none. */
static struct link *next_link(struct lane *lane, int64_t now_us)
{
    for (int i = 0; i < lane->link_count; i++) {
        struct link *link = &lane->links[i];
        if (link_is_free(link))
            return link;
        if (link_is_quick(link, now_us)) {
            lane_look_at(lane, link->since_us + LANE_SLOW_MS * 1000);
            return NULL;
        }
    }
    want_another(lane, now_us);
    return NULL;
}

static void show(struct lane *lane)
{
    int sent = 0;
    for (int i = 0; i < lane->link_count; i++)
        sent += lane->links[i].pipeline.count;
    int waiting = lane->count - sent;
    if (sent != lane->sent_shown)
        figures_add(&lane->service->figures, FIGURE_RUNNING, sent - lane->sent_shown);
    if (waiting != lane->waiting_shown)
        figures_add(&lane->service->figures, FIGURE_WAITING, waiting - lane->waiting_shown);
    lane->sent_shown = sent;
    lane->waiting_shown = waiting;
}

void lane_send(struct lane *lane)
{
    int64_t now_us = clock_now_us();
    struct link *link;
    while (!list_is_empty(&lane->queue) && (link = next_link(lane, now_us)) != NULL)
        link_send(link, &lane->queue, now_us);
    show(lane);
}

static void on_flush(struct mr_timer *timer, void *arg)
{
    struct lane *lane = arg;
    (void)timer;
    pthread_mutex_lock(&lane->lock);
    lane->flushing = false;
    lane_send(lane);
    pthread_mutex_unlock(&lane->lock);
}

static void on_look(struct mr_timer *timer, void *arg)
{
    struct lane *lane = arg;
    (void)timer;
    pthread_mutex_lock(&lane->lock);
    int64_t now_us = clock_now_us(), next_us = 0;
    lane->look_us = 0;
    expire(lane, now_us);
    if (!list_is_empty(&lane->times))
        next_us = LIST_ELEMENT(lane->times.next, struct query, time)->deadline_us;
    for (int i = 0; i < lane->link_count; i++)
        look_at_earlier(&next_us, link_look(&lane->links[i], now_us));
    if (lane->asked && count_links(lane, LINK_OPEN) == 0)
        want_another(lane, now_us);
    lane_send(lane);
    if (next_us != 0)
        lane_look_at(lane, next_us);
    pthread_mutex_unlock(&lane->lock);
}

/* -- From requests ------------------------------------------------------------------------------------------------- */

/* The server is away: there is no connection, and the last attempt to make one has failed. The first query after a
 * pause makes the next attempt, and waits for it; while it lasts all others are answered. */
static bool is_away(struct lane *lane, int64_t now_us)
{
    if (!backoff_is_failing(&lane->backoff) || count_links(lane, LINK_OPEN) > 0)
        return false;
    if (count_links(lane, LINK_OPENING) > 0)
        return true;
    if (!backoff_is_pausing(&lane->backoff, now_us))
        return false;
    lane->asked = true;
    lane_look_at(lane, lane->backoff.until_us);
    return true;
}

static void take_in(struct lane *lane, struct query *query, int64_t now_us)
{
    query->deadline_us = now_us + (int64_t)lane->service->options.query_timeout_ms * 1000;
    if (list_is_empty(&lane->times))
        lane_look_at(lane, query->deadline_us);
    list_append(&lane->times, &query->time);
    list_append(&lane->queue, &query->place);
    flush_later(lane);
}

void lane_add(struct lane *lane, struct query *query)
{
    struct service *service = lane->service;
    int64_t now_us = clock_now_us();
    query->number = service_statement(service, query->statement, query->count);
    pthread_mutex_lock(&lane->lock);
    lane->count++;
    if (query->number < 0) {
        memcpy(query->sqlstate, "07001", sizeof query->sqlstate);
        end(lane, query, PG_REFUSED);
    } else if (lane->count > service->options.queue) {
        report_write(&service->report, REPORT_FULL, "too many queries wait", "ask less, or raise `queue`");
        end(lane, query, PG_FULL);
    } else if (is_away(lane, now_us)) {
        end(lane, query, PG_AWAY);
    } else {
        take_in(lane, query, now_us);
    }
    pthread_mutex_unlock(&lane->lock);
}

bool lane_leave(struct query *query, enum pg_outcome outcome)
{
    struct lane *lane = query->lane;
    pthread_mutex_lock(&lane->lock);
    bool ended = query->state == QUERY_ENDED;
    if (!ended) {
        query->detached = true;
        list_remove(&query->time);
        if (query->state == QUERY_WAITING)
            end(lane, query, outcome);
        else
            lane_look_at(lane, clock_now_us());
    }
    pthread_mutex_unlock(&lane->lock);
    return ended;
}
