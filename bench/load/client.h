/*
 * client.h: one connection of the generator and the request on it: connecting, sending, receiving, and in which of the ways
 * it can fail. Non-blocking; whoever calls waits and counts.
 */
#ifndef LOAD_CLIENT_H
#define LOAD_CLIENT_H

#include <sys/socket.h>

#include "load/reply.h"
#include "load/tally.h"

/* What all connections of a process share. Borrowed, all of it. */
struct client_plan {
    const struct sockaddr *address;
    socklen_t address_length;
    const char *request;
    size_t request_length;
    bool to_head, closes;
    uint32_t source_first, source_count, source_next, source_step;
    int epoll_fd;
    uint8_t *buffer; /* for what is received; nothing stays in it */
    size_t buffer_bytes;
};

struct client {
    int fd; /* −1: none */
    uint32_t index, generation; /* what its events are known by: an event of a connection before it has another generation */
    bool is_connecting;
    bool is_busy;   /* has a request */
    bool is_sent;   /* wholly */
    bool is_counted, is_late, is_retry, is_used, is_parked; /* for whoever counts */
    bool can_keep;  /* with CLIENT_REPLY: the connection may carry another request */
    bool server_ended;
    uint32_t replies; /* on this connection */
    size_t sent_bytes;
    int64_t start_us, deadline_us; /* for whoever counts */
    struct reply reply;
};

enum client_event {
    CLIENT_WAITS,
    CLIENT_REPLY,  /* client->reply is whole */
    CLIENT_FAILED, /* *failure says how */
    CLIENT_LOST,   /* the server ended a kept connection before the first byte of the reply; the request is still to be sent */
    CLIENT_ENDED,  /* it ended one that had no request */
};

/* Connects if there is no connection, and sends. Returns what has come of it; CLIENT_FAILED leaves the reason in errno when it
 * is FAILURE_CONNECT. */
enum client_event client_start(struct client *client, struct client_plan *plan, enum failure *failure);

/* Something has happened to the descriptor (EPOLL…). */
enum client_event client_ready(struct client *client, const struct client_plan *plan, uint32_t events, enum failure *failure);

/* Closes the connection, if there is one. */
void client_close(struct client *client);

void client_fini(struct client *client);

#endif
