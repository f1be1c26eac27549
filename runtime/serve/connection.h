/*
 * connection.h: one accepted connection: its descriptor, its state, its time limit.
 *
 * A connection belongs to one lane for its life. The lane's runner alone changes `state`, closes the descriptor and
 * frees it. While a handler that has lost the lane works on it (HANDLING), that handler's thread is the only reader and
 * writer of the socket; the lane watches for hang-up alone, until the connection comes back through the mailbox.
 */
#ifndef SERVE_CONNECTION_H
#define SERVE_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/mailbox.h"
#include "serve/fastcgi.h"
#include "serve/http.h"
#include "serve/lane.h"
#include "serve/linger.h"
#include "serve/transport.h"

enum connection_state {
    CONNECTION_IDLE,     /* no byte of a request has come */
    CONNECTION_READING,  /* part of a request has come */
    CONNECTION_QUEUED,   /* a whole request waits for a thread */
    CONNECTION_HANDLING, /* its handler runs */
    CONNECTION_SUSPENDED, /* its request waits without a thread */
    CONNECTION_WRITING,  /* the answer's end waits for the peer to read */
    CONNECTION_LINGERING, /* answered for good; closed once the peer has read, or soon */
    CONNECTION_CLOSED,   /* waits to be freed at the end of the lane's turn */
};

struct connection {
    struct mail mail; /* first: how it is handed to its lane */
    struct list timer; /* in one of the lane's timer lists, ordered by deadline */
    struct list ready; /* in the lane's list of connections with something to do */
    struct lane *lane;
    struct request *request; /* NULL while idle */
    int64_t deadline_us;
    const struct transport *transport;
    union { /* the transport's */
        struct fastcgi fastcgi;
        struct http http;
    };
    int fd;
    uint8_t state;
    uint8_t timer_kind;
    bool registered; /* in the lane's epoll set */
    bool more;       /* the socket may hold bytes that no event will announce */
    bool lacks;      /* what is in the request's input says nothing without more bytes */
    /* Set by whoever sees it; hints that order nothing. */
    _Atomic bool ended; /* the peer sends nothing more */
    _Atomic bool gone;  /* and waits for nothing */
    bool wants_out;  /* registered for EPOLLOUT */
    struct lingering lingering;
    bool broken;     /* a send has failed, perhaps within a record: nothing may follow it */
    bool replying;   /* what is being written is a reply to a management record, not an answer */
};

/* What a process tells another of a connection, with its descriptor, is a note: its transport's letter, then its transport's
 * memory. */

/* Any thread. Takes the descriptor of a connection that comes from a listener (then the note is the letter alone) or from
 * another worker; NULL with errno leaves it to the caller. */
struct connection *connection_new(struct lane *lane, int fd, struct span note) __attribute__((warn_unused_result));

/* -- the lane's runner. Those that return bool: false when this thread has lost the lane meanwhile. ---------------- */

/* Takes a new connection, or one that comes back from a handler, out of the mailbox. */
void connection_arrive(struct connection *connection);

bool connection_on_event(struct connection *connection, uint32_t events) __attribute__((warn_unused_result));

/* Goes on with a connection from the list of ready ones. */
bool connection_attend(struct connection *connection) __attribute__((warn_unused_result));

/* Calls the handler of the request that is ready, or what a suspended one has left in its place, as lane_may_call has allowed. */
bool connection_serve(struct connection *connection) __attribute__((warn_unused_result));

/* Its time limit has passed. */
void connection_on_timeout(struct connection *connection);

/* Closes a connection that rests between requests, unless one has just arrived: the worker is leaving. */
void connection_close_idle(struct connection *connection);

/* Gives a connection that rests between requests to a worker that stays. Returns 0, −1 when that is not possible now. */
int connection_move(struct connection *connection) __attribute__((warn_unused_result));

/* Closes it now, whatever its state; it is freed at the end of the turn. */
void connection_close(struct connection *connection);

void connection_free(struct connection *connection);

/* Whoever has the request: the peer has closed its sending side. */
void connection_note_end(struct connection *connection);

#endif
