/*
 * wire.c: a connection's socket: reading into its request, sending its answer. Runs on the lane, and on a handler's
 * thread.
 */
#include "serve/wire.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/kernel.h"
#include "base/log.h"
#include "serve/activity.h"
#include "serve/connection.h"
#include "serve/request.h"
#include "serve/worker.h"

/* Returns true when the socket is ready in time. The lane is given away first: only this request waits. */
static bool wait_for(struct connection *connection, short events, int64_t deadline_us)
{
    struct pollfd waited = {.fd = connection->fd, .events = events};
    bool unlimited = connection->lane->worker->settings->debug;
    struct pool *pool = &connection->lane->worker->pool;
    lane_give_away();
    int64_t since_us = activity_wait();
    int result;
    if (!unlimited)
        pool_begin_wait(pool);
    do
        result = poll(&waited, 1, unlimited ? -1 : clock_ms_of(deadline_us - clock_now_us()));
    while (result < 0 && errno == EINTR);
    if (!unlimited)
        pool_end_wait(pool);
    activity_excuse(since_us);
    if (result == 0)
        errno = EAGAIN;
    return result > 0;
}

ssize_t wire_receive(struct connection *connection, int64_t deadline_us)
{
    struct request *request = connection->request;
    bool wait = deadline_us != 0;
    size_t room = request_input_room(request);
    for (;;) {
        ssize_t got = kernel_recv(connection->fd, request->input + request->input_end, room, MSG_DONTWAIT);
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

void wire_read_ahead(struct connection *connection)
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
            connection_note_end(connection);
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
        return kernel_send(fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)count};
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int wire_send(struct connection *connection, struct iovec *iov, int count, bool wait)
{
    while (skip_sent(iov, count, 0) > 0 && !connection->broken) {
        ssize_t sent = send_some(connection->fd, iov, count);
        if (sent >= 0) {
            skip_sent(iov, count, (size_t)sent);
        } else if (errno == EAGAIN && !wait) {
            return 1;
        } else if (errno == EAGAIN) {
            connection->broken =
                !wait_for(connection, POLLOUT, clock_now_us() + connection->lane->worker->settings->write_timeout_us);
            if (connection->broken)
                log_warning("connection", "route %s: the peer did not read for write_timeout: its answer is cut",
                            connection->request->route->settings->path);
        } else if (errno != EINTR) {
            connection->broken = true;
        }
    }
    return connection->broken ? -1 : 0;
}

int wire_reply(struct connection *connection, const void *bytes, size_t length)
{
    struct request *request = connection->request;
    struct iovec *unsent = &request->unsent[0];
    *unsent = (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    int result = wire_send(connection, unsent, 1, connection->state == CONNECTION_HANDLING);
    if (result == 1) {
        CHECK(unsent->iov_len <= sizeof request->reply);
        unsent->iov_base = memcpy(request->reply, unsent->iov_base, unsent->iov_len);
    }
    if (result < 0)
        *unsent = (struct iovec){0};
    return result;
}
