/*
 * connection.c: the states of a connection, one function per change. Runs on lanes; connection_receive,
 * connection_read_ahead and connection_send also on a handler's thread.
 *
 * Sockets are registered once, edge-triggered: a request costs one epoll_wait, one recv and one send. An edge that came
 * while nobody could use it is remembered in `more` and `hung_up`.
 */
#include "serve/connection.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/race.h"
#include "serve/request.h"
#include "serve/respond.h"
#include "serve/tally.h"
#include "serve/worker.h"

#define LINGER_TIMES 10 /* that lingering is prolonged for a peer that has not read all of its answer */

struct connection *connection_new(struct lane *lane, int fd)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        return NULL;
    connection->lane = lane;
    connection->fd = fd;
    list_init(&connection->timer);
    list_init(&connection->ready);
    atomic_fetch_add_explicit(&lane->worker->slot->connections, 1, memory_order_relaxed);
    return connection;
}

void connection_free(struct connection *connection)
{
    free(connection);
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

static void close_now(struct connection *connection)
{
    struct lane *lane = connection->lane;
    if (connection->state == CONNECTION_CLOSED)
        return;
    become(connection, CONNECTION_CLOSED, LANE_TIMER_NONE);
    list_remove(&connection->ready);
    if (connection->request != NULL)
        lane_spare_request(lane, connection->request);
    connection->request = NULL;
    /* Closing alone takes a socket neither out of the epoll set nor from the peer while another descriptor for it is
     * open: the accepting worker's, or that of a child which a handler has just forked. */
    epoll_ctl(lane->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    shutdown(connection->fd, SHUT_RDWR);
    close(connection->fd);
    connection->fd = -1;
    lane_bury(lane, connection);
    worker_connection_closed(lane->worker);
}

/* Ends a connection after its answer. With unread bytes a plain close would be a reset that can overtake the answer:
 * then the peer is told that nothing more comes, and what it still sends is read away for a while. */
static void close_gently(struct connection *connection, bool all_read)
{
    if (all_read || connection->hung_up || shutdown(connection->fd, SHUT_WR) < 0) {
        close_now(connection);
        return;
    }
    become(connection, CONNECTION_LINGERING, LANE_TIMER_LINGER);
    connection->more = true;
    lane_make_ready(connection->lane, connection);
}

static void become_idle(struct connection *connection)
{
    if (connection->request != NULL) {
        CHECK(request_unparsed(connection->request).length == 0);
        lane_spare_request(connection->lane, connection->request);
        connection->request = NULL;
    }
    if (lane_is_draining(connection->lane))
        close_now(connection);
    else
        become(connection, CONNECTION_IDLE, LANE_TIMER_IDLE);
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

/* The answer has left, or cannot: what comes next on this connection? */
static void finish_answer(struct connection *connection, bool sent)
{
    struct request *request = connection->request;
    bool input_left = request->input_start < request->input_end || connection->more || connection->hung_up;
    bool all_read = !input_left && connection->fastcgi.phase == FASTCGI_COMPLETE;
    bool keep = fastcgi_done(connection) && !request->cut && !lane_is_draining(connection->lane);
    if (request->route != NULL)
        tally_count(&connection->lane->tallies[request->route->number], request->status);
    if (!sent) {
        close_now(connection);
    } else if (!keep) {
        close_gently(connection, all_read);
    } else if (input_left) {
        request_reset(request);
        become(connection, CONNECTION_READING, LANE_TIMER_HEAD);
        lane_make_ready(connection->lane, connection);
    } else {
        become_idle(connection);
    }
}

/* A reply to a management record is out: what came behind the record goes on. */
static void finish_reply(struct connection *connection)
{
    connection->replying = false;
    become(connection, CONNECTION_READING,
           connection->fastcgi.phase == FASTCGI_STDIN ? LANE_TIMER_BODY : LANE_TIMER_HEAD);
    connection->more = true;
    lane_make_ready(connection->lane, connection);
}

static void send_unsent(struct connection *connection)
{
    int result = connection_send(connection, connection->request->unsent, 2, false);
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

static void enqueue(struct connection *connection)
{
    struct lane *lane = connection->lane;
    if (connection->hung_up) { /* nobody waits for it */
        close_now(connection);
        return;
    }
    if (lane->queue_length >= settings_of(connection)->queue_limit) {
        log_warning("lane", "every thread is busy and the queue is full: 503 for route %s",
                    connection->request->route->settings->path);
        answer_error(connection, 503);
        return;
    }
    become(connection, CONNECTION_QUEUED, LANE_TIMER_QUEUE);
}

bool connection_serve(struct connection *connection)
{
    struct lane *lane = connection->lane;
    struct request *request = connection->request;
    if (request->error_status != 0) {
        answer_error(connection, request->error_status);
        return true;
    }
    if (!lane_reserve(lane)) {
        enqueue(connection);
        return true;
    }
    request->number = lane_next_number(lane);
    become(connection, CONNECTION_HANDLING, LANE_TIMER_NONE);
    uint64_t call = lane_enter(lane);
    if (request->route->settings->blocking)
        lane_give_away();
    request_handle(request);
    if (lane_leave(lane, call)) {
        respond_finish(request);
        send_unsent(connection);
        return true;
    }
    /* The lane has another runner by now: this thread has nothing but the request and its connection. */
    RACE_POINT(lane_lost);
    respond_finish(request);
    (void)connection_send(connection, request->unsent, 2, false); /* the lane waits for a slow peer, not this thread */
    RACE_POINT(lane_posting);
    mailbox_post(&lane->mailbox, &connection->mail);
    return false;
}

/* All input is used up: what is waited for, and how long? */
static void await_more(struct connection *connection, bool body_has_grown)
{
    bool look_again = connection->more || connection->hung_up;
    if (look_again)
        lane_make_ready(connection->lane, connection);
    if (fastcgi_is_between(connection)) {
        if (!look_again)
            become_idle(connection);
    } else if (connection->fastcgi.phase == FASTCGI_STDIN) {
        /* Counts from the last byte of the body: records of nobody do not prolong it. */
        if (connection->timer_kind != LANE_TIMER_BODY || body_has_grown)
            become(connection, CONNECTION_READING, LANE_TIMER_BODY);
    } else if (connection->state != CONNECTION_READING) {
        become(connection, CONNECTION_READING, LANE_TIMER_HEAD); /* counts from the first byte of the head */
    }
}

static bool advance(struct connection *connection)
{
    int64_t body_bytes = connection->request->body_bytes;
    bool was_between = connection->fastcgi.phase == FASTCGI_BETWEEN;
    switch (fastcgi_advance(connection)) {
    case FASTCGI_READY:
        return connection_serve(connection);
    case FASTCGI_ABORTED:
        send_unsent(connection);
        return true;
    case FASTCGI_FULL:
        connection->replying = true;
        send_unsent(connection);
        return true;
    case FASTCGI_BROKEN: /* answers to earlier requests may still be on their way */
        close_gently(connection, false);
        return true;
    case FASTCGI_MORE:
        if (was_between && connection->fastcgi.phase == FASTCGI_PARAMS) /* not what the body before it has left */
            become(connection, CONNECTION_READING, LANE_TIMER_HEAD);
        await_more(connection, connection->request->body_bytes != body_bytes);
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
        close_now(connection);
        return true;
    }
    connection->request->connection = connection;
    if (request_unparsed(connection->request).length > 0) {
        connection->more = true; /* what an event has told of is still in the socket */
        return advance(connection);
    }
    ssize_t got = connection_receive(connection, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        close_now(connection);
        return true;
    }
    if (got < 0) {
        connection->more = false;
        connection->hung_up = false;
    }
    return advance(connection);
}

static void linger_on(struct connection *connection)
{
    char unwanted[4096];
    for (int i = 0; i < 16; i++) {
        ssize_t got = recv(connection->fd, unwanted, sizeof unwanted, 0);
        if (got < 0 && errno == EAGAIN)
            return; /* the next edge, or the time limit, goes on */
        if (got <= 0) {
            close_now(connection);
            return;
        }
    }
    lane_make_ready(connection->lane, connection);
}

/* -- what the lane tells ------------------------------------------------------------------------------------------ */

void connection_arrive(struct connection *connection)
{
    struct lane *lane = connection->lane;
    if (connection->state == CONNECTION_HANDLING) {
        RACE_POINT(connection_back);
        send_unsent(connection);
        return;
    }
    struct epoll_event event = {.events = LANE_CONNECTION_EVENTS, .data.ptr = connection};
    if (epoll_ctl(lane->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) < 0) {
        log_error("connection", "closing a new connection: epoll_ctl: %s", strerror(errno));
        close_now(connection);
        return;
    }
    become(connection, CONNECTION_IDLE, LANE_TIMER_IDLE);
}

bool connection_on_event(struct connection *connection, uint32_t events)
{
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->hung_up = true;
    switch ((enum connection_state)connection->state) {
    case CONNECTION_IDLE:
    case CONNECTION_READING:
        return read_on(connection);
    case CONNECTION_QUEUED:
        if (connection->hung_up)
            close_now(connection); /* never started, and nobody waits for it */
        else
            connection->more = true;
        return true;
    case CONNECTION_HANDLING:
        connection->more = true;
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

/* With bytes on both sides a close is a reset, and what the peer has not read of its answer is lost. */
static bool has_unread_answer(const struct connection *connection)
{
    int unread = 0;
    return ioctl(connection->fd, SIOCOUTQ, &unread) == 0 && unread > 1; /* 1: the end itself */
}

void connection_on_timeout(struct connection *connection)
{
    switch ((enum connection_state)connection->state) {
    case CONNECTION_QUEUED:
        log_warning("lane", "every thread was busy for queue_ms: 503 for route %s",
                    connection->request->route->settings->path);
        answer_error(connection, 503);
        return;
    case CONNECTION_READING:
        log_warning("connection", "closing a connection: a request did not arrive within its %s",
                    connection->timer_kind == LANE_TIMER_BODY ? "body_timeout" : "head_timeout");
        break;
    case CONNECTION_WRITING:
        log_warning("connection", "closing a connection: the peer did not read for write_timeout");
        break;
    case CONNECTION_LINGERING:
        if (connection->lingered++ < LINGER_TIMES && !lane_is_draining(connection->lane) &&
            has_unread_answer(connection)) {
            become(connection, CONNECTION_LINGERING, LANE_TIMER_LINGER);
            return;
        }
        break;
    default:
        break;
    }
    close_now(connection);
}

/* A request may have arrived that no event has told of yet: it is still answered. */
void connection_close_idle(struct connection *connection)
{
    char byte;
    if (recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
        close_now(connection);
        return;
    }
    become(connection, CONNECTION_READING, LANE_TIMER_HEAD);
    lane_make_ready(connection->lane, connection);
}

/* -- the socket --------------------------------------------------------------------------------------------------- */

/* Returns true when the socket is ready in time. The lane is given away first: only this request waits. */
static bool wait_for(struct connection *connection, short events, int64_t deadline_us)
{
    struct pollfd waited = {.fd = connection->fd, .events = events};
    bool unlimited = settings_of(connection)->debug;
    lane_give_away();
    int result;
    do
        result = poll(&waited, 1, unlimited ? -1 : clock_ms_of(deadline_us - clock_now_us()));
    while (result < 0 && errno == EINTR);
    if (result == 0)
        errno = EAGAIN;
    return result > 0;
}

ssize_t connection_receive(struct connection *connection, int64_t deadline_us)
{
    struct request *request = connection->request;
    bool wait = deadline_us != 0;
    size_t room = request_input_room(request);
    for (;;) {
        ssize_t got = recv(connection->fd, request->input + request->input_end, room, MSG_DONTWAIT);
        if (got > 0)
            request->input_end += (size_t)got;
        if (got >= 0 && !wait)
            connection->more = (size_t)got == room;
        if (got >= 0)
            return got;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN || !wait || !wait_for(connection, POLLIN, deadline_us))
            return -1;
    }
}

void connection_read_ahead(struct connection *connection)
{
    struct request *request = connection->request;
    while (request->input_end < sizeof request->input) {
        ssize_t got = recv(connection->fd, request->input + request->input_end,
                           sizeof request->input - request->input_end, MSG_DONTWAIT);
        if (got > 0) {
            request->input_end += (size_t)got;
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || errno != EAGAIN)
            connection->hung_up = true;
        return;
    }
}

static int skip_sent(struct iovec *iov, int count, size_t sent)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        size_t part = sent < iov[i].iov_len ? sent : iov[i].iov_len;
        if (part > 0)
            iov[i].iov_base = (char *)iov[i].iov_base + part;
        iov[i].iov_len -= part;
        sent -= part;
        left += iov[i].iov_len > 0;
    }
    return left;
}

/* An answer is nearly always one piece, which send takes with less work than sendmsg. */
static ssize_t send_some(int fd, struct iovec *iov, int count)
{
    while (count > 1 && iov->iov_len == 0) {
        iov++;
        count--;
    }
    if (count == 1)
        return send(fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)count};
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int connection_send(struct connection *connection, struct iovec *iov, int count, bool wait)
{
    while (skip_sent(iov, count, 0) > 0 && !connection->broken) {
        ssize_t sent = send_some(connection->fd, iov, count);
        if (sent >= 0) {
            skip_sent(iov, count, (size_t)sent);
        } else if (errno == EAGAIN && !wait) {
            return 1;
        } else if (errno == EAGAIN) {
            connection->broken =
                !wait_for(connection, POLLOUT, clock_now_us() + settings_of(connection)->write_timeout_us);
            if (connection->broken)
                log_warning("connection", "route %s: the peer did not read for write_timeout: its answer is cut",
                            connection->request->route->settings->path);
        } else if (errno != EINTR) {
            connection->broken = true;
        }
    }
    return connection->broken ? -1 : 0;
}
