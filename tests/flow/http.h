/*
 * http.h: one HTTP connection to the direct listener: raw bytes out, answers in. Every answer is checked for what holds
 * always: lines end with CR LF, names are tokens, one Date of now and one Server on a final answer, one way of saying where
 * the body ends, none after HEAD, 204 and 304. What breaks it fails the case.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "bytes.h"
#include "link.h"

struct http {
    struct link *link;
    struct bytes input; /* what has come */
    size_t taken;       /* of it, by answers that were read */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_TO_THE_END };

/* A zeroed one is ready; the same may be used again. */
struct http_answer {
    int status;        /* the final one */
    int interim_count; /* answers 100 before it */
    enum http_framing framing;
    bool closes;       /* it says Connection: close */
    struct bytes head; /* status line, fields, blank line */
    struct bytes body; /* without chunks */
};

enum http_end { HTTP_ENDED, HTTP_RESET, HTTP_OPEN, HTTP_MORE }; /* HTTP_MORE: bytes that no answer has taken */

/* Address as for link_new. What the struct held before is forgotten. */
void http_open(struct http *http, const char *address);
void http_close(struct http *http);

void http_send(struct http *http, const char *text);
void http_send_bytes(struct http *http, const void *data, size_t length);

/* Sends pieces of this size, the next one when the server has read the last: only a unix socket tells. A server that closes
 * meanwhile is no failure. */
void http_send_cut(struct http *http, const void *data, size_t length, size_t piece);

/* Waits until the server has read all that was sent, or has closed; for unix sockets. */
void http_wait_taken(struct http *http);

/* Reads one answer, or one to HEAD, and the 100s in front of it. */
void http_read(struct http_answer *answer, struct http *http);
void http_read_head(struct http_answer *answer, struct http *http);
void http_fini(struct http_answer *answer);

/* Reads an interim answer, which must be `HTTP/1.1 100 Continue`. */
void http_read_continue(struct http *http);

/* Sends the text on a new connection, reads the answer, closes. */
void http_ask(struct http_answer *answer, const char *address, const char *text);

/* How the connection stands after the answers that were read; waits for its end at most so long. */
enum http_end http_end(struct http *http, int limit_ms);

/* The answer says that it closes, nothing comes after it, and the connection ends in order. */
void http_check_closes(struct http_answer *answer, struct http *http, const char *what);

/* A field's value, valid until the next call; NULL when there is none. Fails when it is there twice. */
const char *http_field(struct http_answer *answer, const char *name);

/* The answer as it came, but for its time: for comparing two. Valid until the next call. */
const char *http_timeless_head(struct http_answer *answer);

bool http_body_is(struct http_answer *answer, const char *text);

/* Whether `NAME=value` is among the variables that tests/apps/params.c shows; whether NAME is at all. */
bool http_has_variable(struct http_answer *answer, const char *pair);
const char *http_variable(struct http_answer *answer, const char *name);

#endif
