/*
 * inbox.h: how one worker hands a connection to another: each worker has a socket on which descriptors arrive. The
 * master makes them and keeps them, so what was sent to a worker that ends is there for the one that replaces it.
 */
#ifndef SERVE_INBOX_H
#define SERVE_INBOX_H

#include "base/span.h"

#define INBOX_NOTE_BYTES 1024

struct inbox {
    int receive_fd; /* for the worker it belongs to */
    int send_fd;    /* for all others */
};

/* Returns 0, −1 with errno. */
int inbox_init(struct inbox *inbox) __attribute__((warn_unused_result));
void inbox_fini(struct inbox *inbox);

/* Sends a copy of the descriptor, with a note of at least one byte and at most INBOX_NOTE_BYTES; the caller closes its own. Never blocks. Returns 0, −1
 * with errno when the inbox is full. */
int inbox_send(const struct inbox *inbox, int fd, struct span note) __attribute__((warn_unused_result));

/* Returns the next descriptor, close-on-exec, owned by the caller, and puts its note into `room`, of which `note` is what
 * was used; −1 with errno (EAGAIN: none; EMFILE: none can be made here, and what waits stays). */
int inbox_receive(const struct inbox *inbox, uint8_t room[INBOX_NOTE_BYTES], struct span *note)
    __attribute__((warn_unused_result));

#endif
