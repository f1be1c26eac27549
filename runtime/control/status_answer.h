/*
 * status_answer.h: the answer to a request of the status listener, head and body.
 */
#ifndef CONTROL_STATUS_ANSWER_H
#define CONTROL_STATUS_ANSWER_H

#include <stddef.h>

#include "control/snapshot.h"
#include "control/status_request.h"

/* Answers a request whose status is not 0. Returns the bytes to send, owned by the caller; NULL when memory is short. Never
 * blocks. */
char *status_answer_make(const struct status_request *request, const struct snapshot_source *source, size_t *length)
    __attribute__((warn_unused_result));

#endif
