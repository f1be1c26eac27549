/*
 * connection.c: the states of a connection, one function per change. Runs on lanes.
 *
 * Sockets are registered once, edge-triggered: a request costs one epoll_wait, one recv and one send. An edge that came
 * while nobody could use it is remembered in `more`, `ended` and `gone`.
 */
#include "serve/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/race.h"
#include "serve/linger.h"
#include "serve/request.h"
#include "serve/respond.h"
#include "serve/tally.h"
#include "serve/wire.h"
#include "serve/worker.h"

_Static_assert(1 + TRANSPORT_MEMORY_BYTES <= INBOX_NOTE_BYTES, "a note fits a message");

struct connection *connection_new(struct lane *lane, int fd, struct span note)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        return NULL;
    connection->lane = lane;
    connection->fd = fd;
    connection->transport = note.at[0] == http_transport.letter ? &http_transport : &fastcgi_transport;
    span_take(&note, 1);
    if (connection->transport->restore != NULL && connection->transport->restore(connection, note) < 0) {
        free(connection);
        return NULL;
    }
    list_init(&connection->timer);
    list_init(&connection->ready);
    atomic_fetch_add_explicit(&lane->worker->slot->connections, 1, memory_order_relaxed);
    return connection;
}

void connection_free(struct connection *connection)
{
    if (connection->transport->fini != NULL)
        connection->transport->fini(connection);
    free(connection);
}

void connection_note_end(struct connection *connection)
{
    connection->ended = true;
    if (connection->transport->half_closed_is_gone)
        connection->gone = true;
}

static const struct settings *settings_of(const struct connection *connection)
{
    return connection->lane->worker->settings;
}

/* -- state changes --------------------------------------------------------------------------------------------- */

static void become(struct connection *connection, enum connection_state state, enum lane_timer timer)
{
    connection->state = (uint8_t)state;
    lane_set_timer(connection->lane, connection, timer);
}

/* The connection is no longer this worker's. Its descriptor leaves the epoll set first: closing alone does not take it
 * out while another descriptor for the socket is open. */
static void forget(struct connection *connection)
{
    struct lane *lane = connection->lane;
    become(connection, CONNECTION_CLOSED, LANE_TIMER_NONE);
    list_remove(&connection->ready);
    if (connection->request != NULL)
        lane_spare_request(lane, connection->request);
    connection->request = NULL;
    close(connection->fd);
    connection->fd = -1;
    lane_bury(lane, connection);
    worker_connection_closed(lane->worker);
}

void connection_close(struct connection *connection)
{
    if (connection->state == CONNECTION_CLOSED)
        return;
    epoll_ctl(connection->lane->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    /* For the peer, closing does nothing while another descriptor is open: the accepting worker's, or that of a child
     * which a handler has just forked. */
    shutdown(connection->fd, SHUT_RDWR);
    forget(connection);
}

/* Ends a connection after its answer. */
static void close_gently(struct connection *connection, bool all_read)
{
    if (all_read || connection->gone || shutdown(connection->fd, SHUT_WR) < 0)
        connection_close(connection);
    else
        linger_begin(connection);
}

static void become_idle(struct connection *connection)
{
    if (connection->request != NULL) {
        CHECK(request_unparsed(connection->request).length == 0);
        lane_spare_request(connection->lane, connection->request);
        connection->request = NULL;
    }
    if (lane_draining(connection->lane) == WORKER_ENDS)
        connection_close(connection);
    else
        become(connection, CONNECTION_IDLE, LANE_TIMER_IDLE); /* a lane that drains looks for those at the turn's end */
}

/* Only a full socket is watched for room: otherwise every answer that a peer reads would be an event. */
static int watch_for_room(struct connection *connection, bool watch)
{
    struct epoll_event event = {.events = LANE_CONNECTION_EVENTS | (watch ? EPOLLOUT : 0), .data.ptr = connection};
    if (connection->wants_out == watch)
        return 0;
    connection->wants_out = watch;
    return epoll_ctl(connection->lane->epoll_fd, EPOLL_CTL_MOD, connection->fd, &event);
}

static void become_reading(struct connection *connection)
{
    bool in_body = connection->transport->place(connection) == TRANSPORT_BODY;
    become(connection, CONNECTION_READING, in_body ? LANE_TIMER_BODY : LANE_TIMER_HEAD);
}

/* The answer has left, or cannot: what comes next on this connection? */
static void finish_answer(struct connection *connection, bool sent)
{
    struct request *request = connection->request;
    bool input_left = request->input_start < request->input_end || connection->more || connection->ended;
    bool all_read = !input_left && connection->transport->place(connection) == TRANSPORT_COMPLETE;
    bool keep =
        connection->transport->done(connection) && !request->cut && lane_draining(connection->lane) != WORKER_ENDS;
    tally_answer(connection->lane, request);
    if (!sent) {
        connection_close(connection);
    } else if (!keep) {
        close_gently(connection, all_read);
    } else if (input_left || connection->transport->place(connection) != TRANSPORT_BETWEEN) {
        request_reset(request);
        become_reading(connection);
        if (input_left)
            lane_make_ready(connection->lane, connection);
    } else {
        become_idle(connection);
    }
}

/* A reply to a management record is out: what came behind the record goes on. */
static void finish_reply(struct connection *connection)
{
    connection->replying = false;
    become_reading(connection);
    connection->more = true;
    lane_make_ready(connection->lane, connection);
}

static void send_unsent(struct connection *connection)
{
    int result = wire_send(connection, connection->request->unsent, 2, false);
    if (watch_for_room(connection, result == 1) < 0)
        result = -1;
    if (result == 1)
        become(connection, CONNECTION_WRITING, LANE_TIMER_WRITE);
    else if (result == 0 && connection->replying)
        finish_reply(connection);
    else
        finish_answer(connection, result == 0);
}

static void answer_error(struct connection *connection, int status)
{
    respond_error(connection->request, status);
    respond_finish(connection->request);
    send_unsent(connection);
}

/* -- serving ----------------------------------------------------------------------------------------------------- */

static void refuse(struct connection *connection, const char *why)
{
    struct request *request = connection->request;
    request->refused = true;
    worker_log_refusal(connection->lane->worker, request->route->settings->path, why);
    answer_error(connection, 503);
}

static void enqueue(struct connection *connection)
{
    if (connection->gone) /* nobody waits for it */
        connection_close(connection);
    else if (connection->lane->queue_length >= settings_of(connection)->queue_limit)
        refuse(connection, "the queue is full");
    else
        become(connection, CONNECTION_QUEUED, LANE_TIMER_QUEUE);
}

/* A front end repeats a request whose connection has closed before an answer came. One that has crashed its worker
 * would take the next along. */
static bool has_crashed_a_worker(const struct connection *connection)
{
    const struct lane *lane = connection->lane;
    const struct ledger *ledger = lane->worker->start.ledger;
    return ledger_has_crashes(ledger, lane->now_us) &&
           ledger_knows_crash(ledger, ledger_fingerprint(connection->request->fcgx.envp), lane->now_us);
}

/* Looks at a request that has just become ready. Returns false when this thread has lost the lane. */
static bool begin_request(struct connection *connection)
{
    struct lane *lane = connection->lane;
    struct request *request = connection->request;
    request->number = lane_next_number(lane);
    request->ready_us = lane->now_us;
    if (request->error_status != 0) {
        answer_error(connection, request->error_status);
    } else if (has_crashed_a_worker(connection)) {
        log_warning("connection", "request %llu on route %s is answered 502: the same one has just crashed a worker",
                    (unsigned long long)request->number, request->route->settings->path);
        answer_error(connection, 502);
    } else if (lane_may_call(lane, request->route)) {
        return connection_serve(connection);
    } else {
        enqueue(connection);
    }
    return true;
}

/* The handler has returned, and the lane has the connection. */
static void go_on(struct connection *connection)
{
    if (connection->request->suspension == NULL) {
        send_unsent(connection);
        return;
    }
    become(connection, CONNECTION_SUSPENDED, LANE_TIMER_NONE);
    suspend_settle(connection);
}

bool connection_serve(struct connection *connection)
{
    struct lane *lane = connection->lane;
    struct request *request = connection->request;
    become(connection, CONNECTION_HANDLING, LANE_TIMER_NONE);
    uint64_t call = lane_enter(lane);
    if (request->route->settings->blocking)
        lane_give_away();
    request_handle(request);
    lane_has_called(lane, request->route);
    if (lane_leave(lane, call)) {
        if (request->suspension == NULL)
            respond_finish(request);
        go_on(connection);
        return true;
    }
    /* The lane has another runner by now: this thread has nothing but the request and its connection. */
    RACE_POINT(lane_lost);
    if (request->suspension == NULL) {
        respond_finish(request);
        (void)wire_send(connection, request->unsent, 2, false); /* the lane waits for a slow peer, not this thread */
    }
    RACE_POINT(lane_posting);
    mailbox_post(&lane->mailbox, &connection->mail);
    return false;
}

/* All input is used up: what is waited for, and how long? */
static void await_more(struct connection *connection, enum transport_place before, bool body_has_grown)
{
    bool look_again = connection->more || connection->ended;
    enum transport_place place = connection->transport->place(connection);
    if (look_again)
        lane_make_ready(connection->lane, connection);
    switch (place) {
    case TRANSPORT_BETWEEN:
        if (!look_again)
            become_idle(connection);
        break;
    case TRANSPORT_BODY:
        /* Counts from the last byte of the body: records of nobody do not prolong it. */
        if (connection->timer_kind != LANE_TIMER_BODY || body_has_grown)
            become(connection, CONNECTION_READING, LANE_TIMER_BODY);
        break;
    case TRANSPORT_STRAY:
    case TRANSPORT_HEAD:
    case TRANSPORT_COMPLETE:
        /* Counts from the first byte of the head, not from what the request before has left. */
        if (connection->state != CONNECTION_READING || (place == TRANSPORT_HEAD && before != TRANSPORT_HEAD))
            become(connection, CONNECTION_READING, LANE_TIMER_HEAD);
        break;
    }
}

static bool advance(struct connection *connection)
{
    const struct transport *transport = connection->transport;
    int64_t body_bytes = connection->request->body_bytes;
    enum transport_place before = transport->place(connection);
    switch (transport->advance(connection)) {
    case TRANSPORT_READY:
        return begin_request(connection);
    case TRANSPORT_ENDED:
        send_unsent(connection);
        return true;
    case TRANSPORT_FULL:
        connection->replying = true;
        send_unsent(connection);
        return true;
    case TRANSPORT_BROKEN: /* answers to earlier requests may still be on their way */
        close_gently(connection, false);
        return true;
    case TRANSPORT_MORE:
        connection->lacks = true;
        await_more(connection, before, connection->request->body_bytes != body_bytes);
        return true;
    }
    return true;
}

/* Goes on with what is in the request's input, else with what the socket holds. */
static bool read_on(struct connection *connection)
{
    if (connection->request == NULL)
        connection->request = lane_take_request(connection->lane);
    if (connection->request == NULL) {
        log_error("connection", "closing a connection: no memory");
        connection_close(connection);
        return true;
    }
    connection->request->connection = connection;
    if (request_unparsed(connection->request).length > 0 && !connection->lacks) {
        connection->more = true; /* what an event has told of is still in the socket */
        return advance(connection);
    }
    ssize_t got = wire_receive(connection, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        connection_close(connection);
        return true;
    }
    if (got < 0) {
        connection->more = false;
        connection->ended = connection->gone = false;
    }
    connection->lacks = false;
    return advance(connection);
}

/* -- what the lane tells ------------------------------------------------------------------------------------------ */

void connection_arrive(struct connection *connection)
{
    struct lane *lane = connection->lane;
    if (connection->state == CONNECTION_HANDLING) {
        RACE_POINT(connection_back);
        go_on(connection);
        return;
    }
    struct epoll_event event = {.events = LANE_CONNECTION_EVENTS, .data.ptr = connection};
    if (epoll_ctl(lane->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) < 0) {
        log_error("connection", "closing a new connection: epoll_ctl: %s", strerror(errno));
        connection_close(connection);
        return;
    }
    become(connection, CONNECTION_IDLE, LANE_TIMER_IDLE);
}

bool connection_on_event(struct connection *connection, uint32_t events)
{
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection_note_end(connection);
    if (events & (EPOLLHUP | EPOLLERR))
        connection->gone = true;
    switch ((enum connection_state)connection->state) {
    case CONNECTION_IDLE:
    case CONNECTION_READING:
        return read_on(connection);
    case CONNECTION_QUEUED:
        if (connection->gone)
            connection_close(connection); /* never started, and nobody waits for it */
        else
            connection->more = true;
        return true;
    case CONNECTION_HANDLING:
        connection->more = true;
        return true;
    case CONNECTION_SUSPENDED:
        connection->more = true;
        suspend_look(connection);
        return true;
    case CONNECTION_WRITING:
        if (events & (EPOLLIN | EPOLLRDHUP))
            connection->more = true;
        if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
            send_unsent(connection);
        return true;
    case CONNECTION_LINGERING:
        linger_on(connection);
        return true;
    case CONNECTION_CLOSED:
        return true;
    }
    return true;
}

bool connection_attend(struct connection *connection)
{
    if (connection->state == CONNECTION_LINGERING) {
        linger_on(connection);
        return true;
    }
    if (connection->state != CONNECTION_READING && connection->state != CONNECTION_IDLE)
        return true;
    return read_on(connection);
}

void connection_on_timeout(struct connection *connection)
{
    int status;
    switch ((enum connection_state)connection->state) {
    case CONNECTION_QUEUED:
        refuse(connection, "no thread was free for queue_ms");
        return;
    case CONNECTION_READING:
        log_warning("connection", "closing a connection: a request did not arrive within its %s",
                    connection->timer_kind == LANE_TIMER_BODY ? "body_timeout" : "head_timeout");
        status = connection->transport->late(connection);
        if (status != 0) {
            answer_error(connection, status);
            return;
        }
        break;
    case CONNECTION_WRITING:
        log_warning("connection", "closing a connection: the peer did not read for write_timeout");
        break;
    case CONNECTION_LINGERING:
        if (linger_goes_on(connection))
            return;
        break;
    default:
        break;
    }
    connection_close(connection);
}

/* A request may have arrived that no event has told of yet: it is still answered. */
void connection_close_idle(struct connection *connection)
{
    char byte;
    if (recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
        connection_close(connection);
        return;
    }
    become(connection, CONNECTION_READING, LANE_TIMER_HEAD);
    lane_make_ready(connection->lane, connection);
}

static int hand_over(const struct connection *connection)
{
    uint8_t note[1 + TRANSPORT_MEMORY_BYTES] = {(uint8_t)connection->transport->letter};
    size_t length = 1;
    if (connection->transport->memory != NULL) {
        struct span memory = connection->transport->memory(connection);
        memcpy(note + 1, memory.at, memory.length);
        length += memory.length;
    }
    return inbox_send(connection->lane->worker->start.handover, connection->fd, span_of(note, length));
}

/* Between two requests nothing of the connection but its note is in this process: another worker can go on with it.
 * Bytes that have come by now wait in the socket. */
int connection_move(struct connection *connection)
{
    epoll_ctl(connection->lane->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    RACE_POINT(connection_moving);
    if (hand_over(connection) == 0) {
        forget(connection);
        return 0;
    }
    struct epoll_event event = {.events = LANE_CONNECTION_EVENTS, .data.ptr = connection};
    if (epoll_ctl(connection->lane->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) < 0) {
        connection_close(connection);
        return 0;
    }
    return -1;
}
