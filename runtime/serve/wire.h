/*
 * wire.h: a connection's socket, for whoever has the request: the lane's runner, or the handler's thread.
 */
#ifndef SERVE_WIRE_H
#define SERVE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct connection;

/* Reads more input for the request. Returns the bytes read, 0 at the end or when there is no room, −1 with errno
 * (EAGAIN: nothing there). With a deadline (0: none) it blocks until then; the lane goes on. */
ssize_t wire_receive(struct connection *connection, int64_t deadline_us);

/* Reads what has arrived into the room that is left, and leaves bytes that were read before where they are. */
void wire_read_ahead(struct connection *connection);

/* Sends what `iov` names and advances it. Returns 0 when all has left, 1 when the socket is full (never with `wait`),
 * −1 when the peer has gone or, with `wait`, did not read for write_timeout. */
int wire_send(struct connection *connection, struct iovec *iov, int count, bool wait);

/* Sends a few bytes that are no answer (at most REQUEST_REPLY_BYTES). A handler's thread waits for room; a lane does not: 1
 * means that what is left is in request->unsent. Else returns 0, −1 when the peer has gone. */
int wire_reply(struct connection *connection, const void *bytes, size_t length) __attribute__((warn_unused_result));

#endif
