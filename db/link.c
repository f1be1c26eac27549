/* link.c: see link.h. */
#include "link.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "dispatcher.h"
#include "interrupt.h"
#include "query.h"

/* A connection that is lost when it is first asked, this soon, is a failed attempt. */
enum { YOUNG_MS = 100, EFFECT_MS = 1000, INTERRUPT_LOOK_MS = 5 };

static void on_ready(struct mr_watch *watch, int ready, void *arg);
static void on_time(struct mr_timer *timer, void *arg);

int link_init(struct link *link, struct dispatcher *dispatcher)
{
    link->dispatcher = dispatcher;
    link->state = LINK_CLOSED;
    link->fd = -1;
    pipeline_init(&link->pipeline);
    link->timer = mr_timer_new(dispatcher->at, on_time, link);
    return link->timer == NULL ? -1 : 0;
}

static void unwatch(struct link *link)
{
    mr_unwatch(link->watch);
    link->watch = NULL;
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
}

/* Its descriptor must stay open until mr_unwatch: another thread may be given the same number at once. */
static int watch(struct link *link, PGconn *connection, int events)
{
    link->events = events;
    link->fd = fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, 0);
    if (link->fd >= 0)
        link->watch = mr_watch(link->dispatcher->at, link->fd, events, on_ready, link);
    if (link->watch == NULL)
        unwatch(link);
    return link->watch == NULL ? -1 : 0;
}

/* -- Losing ------------------------------------------------------------------------------------------------------ */

static void drop_interrupt(struct link *link)
{
    if (link->interrupt != NULL)
        (void)interrupt_end(link->interrupt, 0);
    link->interrupt = NULL;
    link->give_up_us = 0;
}

static void close_link(struct link *link, struct list *left)
{
    drop_interrupt(link);
    unwatch(link);
    pipeline_close(&link->pipeline, left);
    link->state = LINK_CLOSED;
}

/* `left` holds queries already that are to be treated like those which were sent. */
static void lose(struct link *link, const char *why, struct list *left)
{
    struct dispatcher *dispatcher = link->dispatcher;
    report_write(&dispatcher->service->report, REPORT_LOST, "a connection was lost", why);
    close_link(link, left);
    bool asked = !list_is_empty(left);
    bool told = dispatcher_take_left(dispatcher, left, link->told);
    bool young = clock_now_us() - link->opened_us < YOUNG_MS * 1000;
    if (!link->proven && young && asked && !told)
        dispatcher_note_failure(dispatcher);
}

static void lose_all(struct link *link, const char *why)
{
    struct list left;
    list_init(&left);
    lose(link, why, &left);
}

static const char *why_lost(const struct link *link)
{
    const char *why = PQerrorMessage(link->pipeline.session->connection);
    return *why == '\0' ? "it does not fit what was sent" : why;
}

void link_fini(struct link *link, struct list *left)
{
    connector_stop(&link->connector);
    close_link(link, left);
    mr_timer_free(link->timer);
}

/* -- Connecting -------------------------------------------------------------------------------------------------- */

void link_open(struct link *link)
{
    link->state = LINK_OPENING;
    link->begun = false;
    mr_after(link->timer, 0);
}

static void fail(struct link *link, const char *why)
{
    link->state = LINK_CLOSED;
    report_write(&link->dispatcher->service->report, REPORT_CONNECT, "no connection", why);
    dispatcher_note_failure(link->dispatcher);
}

/* The first connection asks for the server's limits. */
static void ask_limits(struct link *link)
{
    struct query *query = session_wants_limits(link->dispatcher->service) ? query_new(0, NULL) : NULL;
    if (query == NULL)
        return;
    struct list first;
    list_init(&first);
    query->dispatcher = link->dispatcher;
    query->detached = query->alone = true;
    link->dispatcher->count++;
    list_append(&first, &query->place);
    dispatcher_put_back(link->dispatcher, &first);
}

static void take_notice(void *arg, const PGresult *notice)
{
    struct link *link = arg;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    link->told = link->told || (severity != NULL && strcmp(severity, "FATAL") == 0);
    report_notice(&link->dispatcher->service->report, notice);
}

static void succeed(struct link *link)
{
    struct session *session = session_new(link->dispatcher->service, connector_take(&link->connector));
    if (session == NULL) {
        fail(link, "no memory, or no descriptor");
        return;
    }
    if (watch(link, session->connection, POLLIN) < 0 || pipeline_open(&link->pipeline, session) < 0) {
        unwatch(link);
        session_free(session);
        fail(link, "no memory, or no descriptor");
        return;
    }
    link->state = LINK_OPEN;
    PQsetNoticeReceiver(session->connection, take_notice, link);
    link->proven = link->told = false;
    link->opened_us = clock_now_us();
    link->cancelled_us = 0;
    ask_limits(link);
}

/* The socket may be another one after each step, also one of the same number. */
static void go_on(struct link *link, enum connector_state state)
{
    struct connector *connector = &link->connector;
    if (state == CONNECTOR_DONE) {
        succeed(link);
    } else if (state == CONNECTOR_FAILED) {
        fail(link, connector->why);
    } else if (watch(link, connector->connection, state == CONNECTOR_READ ? POLLIN : POLLOUT) < 0) {
        connector_stop(connector);
        fail(link, "no memory, or no descriptor");
    } else {
        mr_after(link->timer, clock_left_ms(connector->end_us));
    }
}

/* Leaves the lock for a while, in which nobody else touches the connector. */
static void step(struct link *link)
{
    struct dispatcher *dispatcher = link->dispatcher;
    bool begun = link->begun;
    link->begun = link->stepping = true;
    unwatch(link);
    pthread_mutex_unlock(&dispatcher->lock);
    enum connector_state state =
        begun ? connector_step(&link->connector) : connector_start(&link->connector, dispatcher->service);
    pthread_mutex_lock(&dispatcher->lock);
    link->stepping = false;
    go_on(link, state);
    dispatcher_send(dispatcher);
}

/* To begin, or since a host's time is over. */
static void on_time(struct mr_timer *timer, void *arg)
{
    struct link *link = arg;
    (void)timer;
    pthread_mutex_lock(&link->dispatcher->lock);
    if (link->state == LINK_OPENING && !link->stepping) {
        if (!link->begun || clock_now_us() >= link->connector.end_us)
            step(link);
        else
            mr_after(link->timer, clock_left_ms(link->connector.end_us));
    }
    pthread_mutex_unlock(&link->dispatcher->lock);
}

/* -- Sending and reading ------------------------------------------------------------------------------------------- */

bool link_is_free(const struct link *link)
{
    return link->state == LINK_OPEN && link->interrupt == NULL && link->pipeline.count == 0 && !link->told;
}

bool link_is_quick(const struct link *link, int64_t now_us)
{
    return link->state == LINK_OPEN && link->interrupt == NULL && now_us - link->since_us < DISPATCHER_SLOW_MS * 1000;
}

/* Waits to write only while there is something left to be written. Returns −1 when the connection is lost. */
static int set_events(struct link *link)
{
    int left = pipeline_flush(&link->pipeline);
    int events = left > 0 ? POLLIN | POLLOUT : POLLIN;
    if (events != link->events)
        mr_watch_events(link->watch, events);
    link->events = events;
    return left < 0 ? -1 : 0;
}

void link_send(struct link *link, struct list *queue, int64_t now_us)
{
    link->since_us = now_us;
    if (pipeline_send(&link->pipeline, queue, PIPELINE_DEPTH) < 0 || set_events(link) < 0)
        lose_all(link, why_lost(link));
}

static void prove(struct link *link)
{
    struct dispatcher *dispatcher = link->dispatcher;
    if (!link->proven && backoff_succeed(&dispatcher->backoff))
        report_write(&dispatcher->service->report, REPORT_BACK, "connected", "the server is there again");
    link->proven = true;
}

static void take_answers(struct link *link, struct list *answered, struct list *left)
{
    struct list again;
    list_init(&again);
    if (!list_is_empty(answered))
        prove(link);
    while (!list_is_empty(answered)) {
        struct query *query = LIST_ELEMENT(answered->next, struct query, place);
        list_remove(&query->place);
        dispatcher_take_answer(link->dispatcher, link, query, &again, left);
    }
    dispatcher_put_back(link->dispatcher, &again);
}

static void read_answers(struct link *link)
{
    uint64_t groups = link->pipeline.groups;
    struct list answered, left;
    list_init(&answered);
    list_init(&left);
    bool lost = pipeline_read(&link->pipeline, &answered) < 0;
    if (link->pipeline.groups != groups)
        link->since_us = clock_now_us();
    if (pipeline_works_in_vain(&link->pipeline))
        dispatcher_look_at(link->dispatcher, link->since_us + DISPATCHER_SLOW_MS * 1000);
    take_answers(link, &answered, &left);
    if (lost || !list_is_empty(&left) || set_events(link) < 0)
        lose(link, why_lost(link), &left);
}

static void on_ready(struct mr_watch *watch, int ready, void *arg)
{
    struct link *link = arg;
    struct dispatcher *dispatcher = link->dispatcher;
    (void)ready;
    pthread_mutex_lock(&dispatcher->lock);
    if (watch == link->watch && link->state == LINK_OPENING && !link->stepping) {
        step(link);
    } else if (watch == link->watch && link->state == LINK_OPEN) {
        read_answers(link);
        dispatcher_send(dispatcher);
    }
    pthread_mutex_unlock(&dispatcher->lock);
}

/* -- Cancelling -------------------------------------------------------------------------------------------------- */

static void cancel(struct link *link, int64_t now_us)
{
    link->interrupt = interrupt_begin(link->pipeline.session->connection);
    link->cancelled_us = now_us;
    link->cancelled_groups = link->pipeline.groups;
    link->give_up_us = now_us + EFFECT_MS * 1000;
    figures_add(&link->dispatcher->service->figures, FIGURE_CANCELS, 1);
}

/* The cancel was sent, and the server has gone on. */
static bool has_effect(const struct link *link)
{
    return link->interrupt == NULL && (link->pipeline.count == 0 || link->pipeline.groups != link->cancelled_groups);
}

static int64_t look_after_cancel(struct link *link, int64_t now_us)
{
    if (link->interrupt != NULL && interrupt_is_over(link->interrupt)) {
        (void)interrupt_end(link->interrupt, 0);
        link->interrupt = NULL;
    }
    if (has_effect(link)) {
        link->give_up_us = 0;
        return 0;
    }
    if (now_us >= link->give_up_us) {
        lose_all(link, "the server did not react to a cancel");
        return 0;
    }
    return link->interrupt != NULL ? now_us + INTERRUPT_LOOK_MS * 1000 : link->give_up_us;
}

int64_t link_look(struct link *link, int64_t now_us)
{
    if (link->state != LINK_OPEN)
        return 0;
    if (link->give_up_us != 0) {
        int64_t next_us = look_after_cancel(link, now_us);
        if (next_us != 0 || link->state != LINK_OPEN)
            return next_us;
    }
    if (!pipeline_works_in_vain(&link->pipeline))
        return 0;
    int64_t due_us = link->since_us + DISPATCHER_SLOW_MS * 1000;
    if (now_us < due_us)
        return due_us;
    cancel(link, now_us);
    return now_us + INTERRUPT_LOOK_MS * 1000;
}
