/*
 * transport.h: what a connection asks of the protocol that it speaks. fastcgi.c and http.c each have a table of these
 * calls; what is above them (connection.c, stream.c, respond.c) knows neither.
 */
#ifndef SERVE_TRANSPORT_H
#define SERVE_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/span.h"

struct connection;
struct request;

#define TRANSPORT_MEMORY_BYTES 512

enum transport_event {
    TRANSPORT_MORE,   /* all input is used up */
    TRANSPORT_READY,  /* the handler can be called, or the request's error_status answered */
    TRANSPORT_ENDED,  /* the request ends without a handler or a page; what there is to say of it may be unsent */
    TRANSPORT_FULL,   /* a reply that is no answer is unsent: the socket is full */
    TRANSPORT_BROKEN, /* the connection cannot be understood any further */
};

enum transport_place {
    TRANSPORT_BETWEEN, /* it rests between two requests, no byte of the next one read */
    TRANSPORT_STRAY,   /* bytes have come that are no request's, or not yet */
    TRANSPORT_HEAD,    /* part of a request's head has come */
    TRANSPORT_BODY,    /* a body is awaited, or what is left of one that nobody reads */
    TRANSPORT_COMPLETE, /* a request has come with all of its body */
};

enum transport_body { TRANSPORT_BODY_BYTES, TRANSPORT_BODY_END, TRANSPORT_BODY_CUT };

struct transport {
    char letter;              /* how processes name it to each other */
    bool half_closed_is_gone; /* a peer that sends nothing more waits for nothing either */

    /* -- the lane's runner -- */

    /* Goes through the connection's unparsed input until something has to be done. */
    enum transport_event (*advance)(struct connection *connection);

    enum transport_place (*place)(const struct connection *connection);

    /* A request did not arrive in time: the status to answer, 0: the connection just ends. */
    int (*late)(struct connection *connection);

    /* The request at hand was answered: what is left of its body belongs to nobody. Returns true when the connection may
     * serve another. */
    bool (*done)(struct connection *connection);

    /* What another process must know of a connection that rests, beside its descriptor; borrowed, at most
     * TRANSPORT_MEMORY_BYTES. And taking it in: returns 0, −1 when memory is short. NULL: nothing. */
    struct span (*memory)(const struct connection *connection);
    int (*restore)(struct connection *connection, struct span memory);

    /* Frees what the connection holds for it; NULL: nothing. */
    void (*fini)(struct connection *connection);

    /* -- whoever has the request: the lane's runner, or the handler's thread -- */

    /* The next bytes of the body beyond those gathered, valid until the next call. Blocks for at most body_timeout. */
    enum transport_body (*read_body)(struct request *request, struct span *bytes);

    /* True when nobody waits for the answer any more, as far as what has arrived shows it. Waits for nothing. */
    bool (*is_aborted)(struct request *request);

    /* Makes what may be sent of the answer out of the output buffer: its first `header_bytes` are the handler's header
     * block (0: that has left before), then `body_bytes` of body; `last`: the answer ends with them, unless the request is
     * `cut`. */
    void (*frame)(struct request *request, size_t header_bytes, size_t body_bytes, bool last, struct iovec to[2]);

    /* Sends what the handler wrote to its err stream; NULL: the log alone has it. Returns 0, −1 when the peer has gone. */
    int (*send_errors)(struct request *request, uint8_t *content, size_t length);
};

#endif
