/*
 * client.c: the three system calls of a request are one send, one recv, and a share of an epoll_wait.
 *
 * Descriptors are watched edge-triggered, once for each connection. A recv that did not fill the buffer has emptied the
 * socket, but for its end: that is looked for when EPOLLRDHUP has told of it, and otherwise brings an event of its own.
 */
#include "load/client.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(MR_DIRECT_CALLS)
#define MR_DIRECT_CALLS /* the generator's CPU is worth as much as the server's */
#endif
#include "base/kernel.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ENDS (EPOLLRDHUP | EPOLLHUP | EPOLLERR)

/* -- connecting -------------------------------------------------------------------------------------------------- */

/* With the port left to connect, which knows the other end, so that each source address has all ports for each server.
 */
static int bind_source(int fd, struct client_plan *plan)
{
    const int on = 1;
    struct sockaddr_in source = {.sin_family = AF_INET};
    source.sin_addr.s_addr = htonl(plan->source_first + plan->source_next % plan->source_count);
    plan->source_next += plan->source_step;
    if (setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on) < 0)
        return -1;
    return bind(fd, (const struct sockaddr *)&source, sizeof source);
}

static int open_socket(struct client *client, struct client_plan *plan)
{
    const int on = 1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
    client->fd = socket(plan->address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client->fd < 0)
        return -1;
    client->generation++;
    client->replies = 0;
    client->is_used = client->server_ended = false;
    event.data.u64 = (uint64_t)client->generation << 32 | client->index;
    if (plan->source_count > 0 && bind_source(client->fd, plan) < 0)
        return -1;
    /* A single request never waits for the acknowledgement of another. */
    if (!plan->closes && setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        return -1;
    client->is_connecting = connect(client->fd, plan->address, plan->address_length) < 0;
    if (client->is_connecting && errno != EINPROGRESS)
        return -1;
    return epoll_ctl(plan->epoll_fd, EPOLL_CTL_ADD, client->fd, &event);
}

void client_close(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    client->is_connecting = false;
}

void client_fini(struct client *client)
{
    client_close(client);
    reply_fini(&client->reply);
}

/* -- what can go wrong ------------------------------------------------------------------------------------------- */

static enum client_event fail(enum failure *failure, enum failure kind)
{
    *failure = kind;
    return CLIENT_FAILED;
}

/* The connection has ended, by a reset or in order. */
static enum client_event lose(struct client *client, bool is_reset, enum failure *failure)
{
    client->server_ended = true;
    if (!client->is_busy)
        return CLIENT_ENDED;
    if (client->is_connecting)
        return fail(failure, FAILURE_CONNECT);
    if (client->replies > 0 && client->reply.bytes == 0)
        return CLIENT_LOST;
    return fail(failure, is_reset ? FAILURE_RESET : FAILURE_CLOSED_EARLY);
}

static enum client_event break_off(struct client *client, enum failure *failure)
{
    bool is_reset = errno == ECONNRESET || errno == EPIPE;
    if (!is_reset && client->is_busy)
        return fail(failure, client->is_connecting ? FAILURE_CONNECT : FAILURE_RESET);
    return lose(client, is_reset, failure);
}

/* -- sending ----------------------------------------------------------------------------------------------------- */

/* A connection to the same machine is there by now; another says EAGAIN (or ENOTCONN) and EPOLLOUT comes. */
static enum client_event send_rest(struct client *client, const struct client_plan *plan, enum failure *failure)
{
    size_t left = plan->request_length - client->sent_bytes;
    ssize_t sent = kernel_send(client->fd, plan->request + client->sent_bytes, left, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR || errno == ENOTCONN ? CLIENT_WAITS : break_off(client, failure);
    client->is_connecting = false;
    client->sent_bytes += (size_t)sent;
    client->is_sent = client->sent_bytes == plan->request_length;
    return CLIENT_WAITS;
}

enum client_event client_start(struct client *client, struct client_plan *plan, enum failure *failure)
{
    client->is_busy = true;
    client->is_sent = client->is_counted = false;
    client->sent_bytes = 0;
    reply_reset(&client->reply);
    if (client->fd < 0 && open_socket(client, plan) < 0) {
        int why = errno;
        client_close(client);
        errno = why;
        return fail(failure, FAILURE_CONNECT);
    }
    return send_rest(client, plan, failure);
}

/* -- receiving --------------------------------------------------------------------------------------------------- */

static enum client_event finish(struct client *client, const struct client_plan *plan, uint32_t events, size_t behind,
                                enum failure *failure)
{
    if (behind > 0)
        return fail(failure, FAILURE_FRAMING);
    client->replies++;
    client->server_ended = (events & ENDS) != 0;
    client->can_keep = client->reply.head.keep_alive && client->is_sent && !plan->closes && !client->server_ended;
    return CLIENT_REPLY;
}

static enum client_event end(struct client *client, enum failure *failure)
{
    if (client->is_busy && reply_end(&client->reply) == RESPONSE_DONE) {
        client->replies++;
        client->server_ended = true;
        client->can_keep = false;
        return CLIENT_REPLY;
    }
    return lose(client, false, failure);
}

static enum client_event receive(struct client *client, const struct client_plan *plan, uint32_t events,
                                 enum failure *failure)
{
    for (;;) {
        ssize_t got = kernel_recv(client->fd, plan->buffer, plan->buffer_bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN ? CLIENT_WAITS : break_off(client, failure);
        if (got == 0)
            return end(client, failure);
        if (!client->is_busy)
            return fail(failure, FAILURE_FRAMING);
        struct span input = span_of(plan->buffer, (size_t)got);
        enum response_result result = reply_feed(&client->reply, &input, plan->to_head);
        if (result == RESPONSE_BAD)
            return fail(failure, FAILURE_FRAMING);
        if (result == RESPONSE_DONE)
            return finish(client, plan, events, input.length, failure);
        if ((size_t)got < plan->buffer_bytes && !(events & ENDS))
            return CLIENT_WAITS;
    }
}

/* Returns the error that ended the attempt to connect, 0 when there is none. */
static int connect_error(int fd)
{
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

enum client_event client_ready(struct client *client, const struct client_plan *plan, uint32_t events,
                               enum failure *failure)
{
    if (client->is_connecting && (events & (EPOLLERR | EPOLLHUP))) {
        int error = connect_error(client->fd);
        if (error != 0) {
            errno = error;
            return fail(failure, FAILURE_CONNECT);
        }
    }
    if (client->is_busy && !client->is_sent && (events & EPOLLOUT)) {
        enum client_event event = send_rest(client, plan, failure);
        if (event != CLIENT_WAITS)
            return event;
    }
    if (events & (EPOLLIN | ENDS))
        return receive(client, plan, events, failure);
    return CLIENT_WAITS;
}
