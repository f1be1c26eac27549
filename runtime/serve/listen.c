/*
 * listen.c: accepting. The listeners are shared by all lanes of all workers; EPOLLEXCLUSIVE wakes few of them for one
 * connection, and the lane that accepts gives each to the next lane in turn.
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
#include "serve/connection.h"
#include "serve/worker.h"

#define ACCEPTS_A_TURN 16
#define PAUSE_US       (100 * CLOCK_MS)

int listen_begin(struct lane *lane)
{
    struct worker *worker = lane->worker;
    for (int i = 0; i < worker->listener_count; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = &worker->listeners[i]};
        if (epoll_ctl(lane->epoll_fd, EPOLL_CTL_ADD, worker->listeners[i].fd, &event) < 0)
            return -1;
    }
    lane->listening = true;
    atomic_fetch_add(&worker->listening_lanes, 1);
    return 0;
}

static void unregister(struct lane *lane)
{
    for (int i = 0; i < lane->worker->listener_count; i++)
        epoll_ctl(lane->epoll_fd, EPOLL_CTL_DEL, lane->worker->listeners[i].fd, NULL);
    lane->listening = false;
}

void listen_end(struct lane *lane)
{
    unregister(lane);
    lane->listen_again_us = 0;
    worker_lane_stopped_listening(lane->worker);
}

/* Out of descriptors or memory: a listener that stays readable would spin. */
static void pause_accepting(struct lane *lane, int error)
{
    log_error("listen", "accepting pauses: %s (raise the limit of open files, or lower nginx's keepalive)",
              strerror(error));
    unregister(lane);
    atomic_fetch_sub(&lane->worker->listening_lanes, 1);
    lane->listen_again_us = lane->now_us + PAUSE_US;
}

void listen_resume(struct lane *lane)
{
    lane->listen_again_us = 0;
    if (listen_begin(lane) < 0)
        pause_accepting(lane, errno);
}

bool listen_is_listener(const struct lane *lane, const void *pointer)
{
    const struct listener *first = lane->worker->listeners;
    return (const struct listener *)pointer >= first &&
           (const struct listener *)pointer < first + lane->worker->listener_count;
}

static struct lane *choose_lane(struct lane *lane)
{
    struct worker *worker = lane->worker;
    if (worker->settings->lanes == 1 || lane_is_draining(lane))
        return lane;
    unsigned turn = atomic_fetch_add_explicit(&worker->next_lane, 1, memory_order_relaxed);
    return &worker->lanes[turn % (unsigned)worker->settings->lanes];
}

static void take_in(struct lane *lane, struct listener *listener, int fd)
{
    int yes = 1;
    if (!address_is_local(&listener->address))
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct lane *chosen = choose_lane(lane);
    struct connection *connection = connection_new(chosen, fd);
    if (connection == NULL) {
        log_error("listen", "closing a new connection: no memory");
        close(fd);
    } else if (chosen == lane) {
        connection_arrive(connection);
    } else {
        mailbox_post(&chosen->mailbox, &connection->mail);
    }
}

void listen_accept(struct lane *lane, struct listener *listener)
{
    for (int i = 0; i < ACCEPTS_A_TURN && lane->listening; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_in(lane, listener, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(lane, errno);
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return; /* EAGAIN: another lane was faster */
        }
    }
}
