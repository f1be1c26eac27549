/*
 * status_client.c: reads a head, sends an answer, waits for the client to leave. Runs in the status process.
 */
#include "control/status_client.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/status_answer.h"

#define READING_US (5 * CLOCK_SECOND)
#define WRITING_US (10 * CLOCK_SECOND)
#define LEAVING_US (1 * CLOCK_SECOND)

void status_client_drop(struct status_client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    free(client->answer);
    client->state = STATUS_CLIENT_NONE;
    client->fd = -1;
    client->answer = NULL;
}

static void become(struct status_client *client, enum status_client_state state, int64_t deadline_us)
{
    client->state = state;
    client->deadline_us = deadline_us;
}

/* Whether the call may succeed later. */
static bool is_for_now(ssize_t result)
{
    return result < 0 && (errno == EAGAIN || errno == EINTR);
}

/* A close with unread bytes on this side is a reset, and what the client has not read yet of its answer is lost. */
static void leave(struct status_client *client, int64_t now_us)
{
    char unwanted[STATUS_REQUEST_BYTES];
    ssize_t got = recv(client->fd, unwanted, sizeof unwanted, MSG_DONTWAIT);
    if (client->state != STATUS_CLIENT_LEAVING)
        become(client, STATUS_CLIENT_LEAVING, now_us + LEAVING_US);
    if (got <= 0 && !is_for_now(got))
        status_client_drop(client);
}

static void send_some(struct status_client *client, int64_t now_us)
{
    while (client->sent < client->length) {
        ssize_t sent =
            send(client->fd, client->answer + client->sent, client->length - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (is_for_now(sent))
            return;
        if (sent < 0) {
            status_client_drop(client);
            return;
        }
        client->sent += (size_t)sent;
    }
    shutdown(client->fd, SHUT_WR);
    leave(client, now_us);
}

static void answer(struct status_client *client, const struct status_request *request,
                   const struct snapshot_source *source, int64_t now_us)
{
    client->sent = client->length = 0;
    client->answer = status_answer_make(request, source, &client->length);
    if (client->answer == NULL) {
        status_client_drop(client);
        return;
    }
    become(client, STATUS_CLIENT_WRITING, now_us + WRITING_US);
    send_some(client, now_us);
}

static void read_some(struct status_client *client, const struct snapshot_source *source, int64_t now_us)
{
    size_t room = sizeof client->head - client->length;
    ssize_t got = recv(client->fd, client->head + client->length, room, MSG_DONTWAIT);
    if (is_for_now(got))
        return;
    if (got <= 0) {
        status_client_drop(client);
        return;
    }
    client->length += (size_t)got;
    struct status_request request = status_request_parse(span_of(client->head, client->length));
    if (request.status != 0)
        answer(client, &request, source, now_us);
}

void status_client_start(struct status_client *client, int fd, const struct snapshot_source *source, int64_t now_us)
{
    client->fd = fd;
    client->length = client->sent = 0;
    client->answer = NULL;
    become(client, STATUS_CLIENT_READING, now_us + READING_US);
    read_some(client, source, now_us); /* most requests arrive with their connection */
}

short status_client_events(const struct status_client *client)
{
    return client->state == STATUS_CLIENT_WRITING ? POLLOUT : POLLIN;
}

void status_client_go_on(struct status_client *client, const struct snapshot_source *source, int64_t now_us)
{
    switch (client->state) {
    case STATUS_CLIENT_NONE:
        break;
    case STATUS_CLIENT_LEAVING:
        leave(client, now_us);
        break;
    case STATUS_CLIENT_READING:
        read_some(client, source, now_us);
        break;
    case STATUS_CLIENT_WRITING:
        send_some(client, now_us);
        break;
    }
}
