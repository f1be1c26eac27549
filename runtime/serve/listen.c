/*
 * listen.c: accepting. The listeners are shared by all lanes of all workers; EPOLLEXCLUSIVE wakes few of them for one
 * connection. Whoever is fast would get nearly all: so a worker with clearly more connections than another hands what
 * it has accepted to that one's inbox, and within a worker each connection goes to the next lane in turn.
 */
#include "serve/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/listener.h"
#include "base/log.h"
#include "base/race.h"
#include "serve/connection.h"
#include "serve/worker.h"

#define ACCEPTS_A_TURN 16
#define BACKLOG_TURNS  256 /* a whole default backlog */
#define PAUSE_US       (100 * CLOCK_MS)

static const struct inbox *own_inbox(const struct lane *lane)
{
    return &lane->worker->start.inboxes[lane->worker->start.slot];
}

static int add(struct lane *lane, int fd, const void *source)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = (void *)(uintptr_t)source};
    return epoll_ctl(lane->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int listen_begin(struct lane *lane)
{
    struct worker *worker = lane->worker;
    for (int i = 0; i < worker->start.listener_count; i++)
        if (add(lane, worker->start.listeners[i].fd, &worker->start.listeners[i]) < 0)
            return -1;
    if (add(lane, own_inbox(lane)->receive_fd, own_inbox(lane)) < 0 ||
        add(lane, worker->start.handover->receive_fd, worker->start.handover) < 0)
        return -1;
    lane->listening = true;
    atomic_fetch_add(&worker->listening_lanes, 1);
    return 0;
}

static void stop_listening(struct lane *lane)
{
    for (int i = 0; i < lane->worker->start.listener_count; i++)
        epoll_ctl(lane->epoll_fd, EPOLL_CTL_DEL, lane->worker->start.listeners[i].fd, NULL);
    epoll_ctl(lane->epoll_fd, EPOLL_CTL_DEL, own_inbox(lane)->receive_fd, NULL);
    epoll_ctl(lane->epoll_fd, EPOLL_CTL_DEL, lane->worker->start.handover->receive_fd, NULL);
    if (lane->listening) {
        lane->listening = false;
        worker_lane_stopped_listening(lane->worker);
    }
}

/* Out of descriptors or memory: a listener that stays readable would spin. */
static void pause_accepting(struct lane *lane, int error)
{
    log_error("listen", "accepting pauses: %s (raise the limit of open files, or lower nginx's keepalive)",
              strerror(error));
    stop_listening(lane); /* also what a failed listen_begin has registered */
    lane->listen_again_us = lane->now_us + PAUSE_US;
}

void listen_resume(struct lane *lane)
{
    lane->listen_again_us = 0;
    if (lane_draining(lane) != WORKER_SERVES)
        return; /* listen_end comes next, and needs no epoll set */
    if (listen_begin(lane) < 0)
        pause_accepting(lane, errno);
}

/* -- where a connection goes --------------------------------------------------------------------------------------- */

static struct lane *choose_lane(struct lane *lane)
{
    struct worker *worker = lane->worker;
    if (worker->settings->lanes == 1 || lane_draining(lane) != WORKER_SERVES)
        return lane;
    unsigned turn = atomic_fetch_add_explicit(&worker->next_lane, 1, memory_order_relaxed);
    return &worker->lanes[turn % (unsigned)worker->settings->lanes];
}

static void take_in(struct lane *lane, int fd, struct span note)
{
    struct lane *chosen = choose_lane(lane);
    struct connection *connection = connection_new(chosen, fd, note);
    if (connection == NULL) {
        log_error("listen", "closing a new connection: no memory");
        close(fd);
    } else if (chosen == lane) {
        connection_arrive(connection);
    } else {
        mailbox_post(&chosen->mailbox, &connection->mail);
    }
}

/* Returns true when another worker has the connection now. While this one drains the others may be about to leave too.
 */
static bool hand_over(struct lane *lane, int fd, struct span note)
{
    struct worker *worker = lane->worker;
    const struct scoreboard *board = worker->start.board;
    int self = worker->start.slot, chosen = scoreboard_choose(board, self);
    if (chosen == self || lane_draining(lane) != WORKER_SERVES)
        return false;
    scoreboard_sent(board, chosen);
    RACE_POINT(inbox_sending);
    if (inbox_send(&worker->start.inboxes[chosen], fd, note) < 0) {
        scoreboard_received(board, chosen);
        return false;
    }
    close(fd);
    return true;
}

/* -- what waits -----------------------------------------------------------------------------------------------------
 */

/* A listener that was shut down, because nothing shall connect there any more, would be readable for ever. */
static void leave_listener(struct lane *lane, const struct listener *listener)
{
    epoll_ctl(lane->epoll_fd, EPOLL_CTL_DEL, listener->fd, NULL);
}

static void on_failure(struct lane *lane, int error)
{
    if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)
        pause_accepting(lane, error);
}

/* Makes a TCP connection ready, or closes it when its peer is not one of those that may ask. Returns false then. */
static bool admit(const struct lane *lane, const struct listener *listener, int fd, const struct sockaddr *peer)
{
    int yes = 1;
    if (listener->protocol == LISTENER_FASTCGI && !peers_allow(&lane->worker->settings->peers, peer)) {
        log_warning("listen", "closing a connection from an address that is not in FCGI_WEB_SERVER_ADDRS");
        close(fd);
        return false;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return true;
}

/* Returns true when more may wait. */
static bool accept_some(struct lane *lane, const struct listener *listener)
{
    bool is_http = listener->protocol == LISTENER_HTTP;
    struct span note = span_of(is_http ? &http_transport.letter : &fastcgi_transport.letter, 1);
    for (int i = 0; i < ACCEPTS_A_TURN && lane->listening; i++) {
        struct sockaddr_storage peer;
        socklen_t length = sizeof peer;
        int fd = accept4(listener->fd, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == ECONNABORTED || errno == EINTR))
            continue;
        if (fd < 0) {
            if (errno == EINVAL)
                leave_listener(lane, listener);
            else
                on_failure(lane, errno); /* EAGAIN: another lane was faster */
            return false;
        }
        if (!address_is_local(&listener->address) && !admit(lane, listener, fd, (const struct sockaddr *)&peer))
            continue;
        if (!hand_over(lane, fd, note))
            take_in(lane, fd, note);
    }
    return lane->listening;
}

/* Whoever has connected already is served; those that come in an endless row are not waited for. */
static void accept_backlog(struct lane *lane)
{
    for (int i = 0; i < lane->worker->start.listener_count; i++)
        for (int turn = 0; turn < BACKLOG_TURNS && accept_some(lane, &lane->worker->start.listeners[i]); turn++)
            ;
}

/* From a worker of the same generation, which has chosen this one. */
static void receive_own(struct lane *lane)
{
    uint8_t room[INBOX_NOTE_BYTES];
    struct span note;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = inbox_receive(own_inbox(lane), room, &note);
        int error = errno;
        if (fd < 0 && error == EAGAIN)
            return;
        if (fd < 0) { /* it stays where it is until there is a descriptor for it */
            on_failure(lane, error);
            return;
        }
        take_in(lane, fd, note);
        scoreboard_received(lane->worker->start.board, lane->worker->start.slot);
    }
}

/* From a worker that drains. Whoever comes first takes it, and may find that another should have it. */
static void receive_handed_over(struct lane *lane)
{
    uint8_t room[INBOX_NOTE_BYTES];
    struct span note;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = inbox_receive(lane->worker->start.handover, room, &note);
        if (fd < 0) {
            on_failure(lane, errno);
            return;
        }
        RACE_POINT(handover_received);
        if (!hand_over(lane, fd, note))
            take_in(lane, fd, note);
    }
}

bool listen_is_source(const struct lane *lane, const void *pointer)
{
    const struct worker_start *start = &lane->worker->start;
    const struct listener *listener = pointer;
    return pointer == own_inbox(lane) || pointer == start->handover ||
           (listener >= start->listeners && listener < start->listeners + start->listener_count);
}

void listen_take(struct lane *lane, void *source)
{
    if (source == own_inbox(lane))
        receive_own(lane);
    else if (source == lane->worker->start.handover)
        receive_handed_over(lane);
    else
        accept_some(lane, source);
}

/* What was handed over before the others knew that this worker leaves is still served. */
void listen_end(struct lane *lane, bool all)
{
    receive_own(lane);
    if (all)
        receive_handed_over(lane);
    if (lane->listening && all)
        accept_backlog(lane);
    if (lane->listening) /* accepting may have paused meanwhile */
        stop_listening(lane);
    lane->listen_again_us = 0;
}
