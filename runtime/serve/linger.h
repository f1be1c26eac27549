/*
 * linger.h: the end of a connection whose peer still sends. With unread bytes a close would be a reset, which can overtake
 * the answer: so the peer is told that nothing more comes, and what it sends is read away until it closes, for a while.
 * Source: RFC 9112 section 9.6.
 */
#ifndef SERVE_LINGER_H
#define SERVE_LINGER_H

#include <stdbool.h>
#include <stdint.h>

struct connection;

struct lingering {
    uint32_t bytes; /* read away so far */
    uint8_t times;  /* that it was prolonged */
    bool heard;     /* bytes have come since the last time */
};

/* On the lane's runner. The sending side of the socket is shut down by now. */
void linger_begin(struct connection *connection);

/* The socket may hold bytes. Closes the connection at their end, or when there are too many. */
void linger_on(struct connection *connection);

/* Its time has passed: true when it has some more, for a peer that still sends or has not read all of its answer. */
bool linger_goes_on(struct connection *connection);

#endif
