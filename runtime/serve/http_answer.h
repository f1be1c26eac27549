/*
 * http_answer.h: an application's output becomes an HTTP/1.1 answer.
 * Source: RFC 9112 sections 4, 6.3, 7.1 and 9.3; RFC 9110 sections 6.6.1 and 10.2.4.
 */
#ifndef SERVE_HTTP_ANSWER_H
#define SERVE_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

struct request;

/* As transport.h says of `frame`. Decides, with the head of the answer, whether the connection is kept. */
void http_answer_frame(struct request *request, size_t header_bytes, size_t body_bytes, bool last, struct iovec to[2]);

#endif
