/*
 * access.h: the access log: a line for each answer.
 *
 * A line is: time, process, request, client, method, URI, status, bytes of the body, route, milliseconds in the queue,
 * milliseconds in the handler, with one blank between them. Control characters, blanks, quotes and backslashes in what came
 * from outside are written \xHH; what is not known is `-`.
 */
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include <stdatomic.h>
#include <stddef.h>

struct request;

struct access {
    _Atomic int fd; /* −1: none. Replaced by dup2 alone, so that writers never see it closed. */
};

/* Lines of one lane that wait to be written together, at the latest when the lane has nothing else to do. */
#define ACCESS_BUFFER_BYTES 8192
struct access_buffer {
    size_t length;
    char bytes[ACCESS_BUFFER_BYTES];
};

/* On the lane's runner, after the answer. */
void access_add(struct access *access, struct access_buffer *buffer, const struct request *request);
void access_flush(struct access *access, struct access_buffer *buffer);

#endif
