/*
 * status_client.h: one connection to the status listener: one request, one answer, the end. Runs in the status process.
 */
#ifndef CONTROL_STATUS_CLIENT_H
#define CONTROL_STATUS_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "control/snapshot.h"
#include "control/status_request.h"

enum status_client_state { /* in this order they have to make room for others */
    STATUS_CLIENT_NONE,
    STATUS_CLIENT_LEAVING, /* has its answer; what it still sends is thrown away, so that the answer is not */
    STATUS_CLIENT_READING,
    STATUS_CLIENT_WRITING,
};

struct status_client {
    enum status_client_state state;
    int fd;              /* owned; −1 in state NONE */
    int64_t deadline_us; /* when its state has lasted too long, whatever comes */
    size_t length;       /* of the head that has come, then of the answer */
    size_t sent;
    char *answer; /* owned; NULL while it is read */
    char head[STATUS_REQUEST_BYTES];
};

/* None of these blocks. */

/* Takes the descriptor, and does at once what can be done. */
void status_client_start(struct status_client *client, int fd, const struct snapshot_source *source, int64_t now_us);

/* What the client waits for: POLLIN or POLLOUT. */
short status_client_events(const struct status_client *client);

/* Goes on after one of these events. */
void status_client_go_on(struct status_client *client, const struct snapshot_source *source, int64_t now_us);

/* Closes. Does nothing in state NONE. */
void status_client_drop(struct status_client *client);

#endif
