/*
 * request.h: one request while its bytes are in memory, and its answer until it is sent.
 *
 * A request is attached to a connection from the first byte of a head until the last byte of the answer, so that an
 * idle connection has none. It is used by one thread at a time: the lane's runner, or the handler's thread once that
 * has lost the lane.
 */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/arena.h"
#include "base/span.h"
#include "millrace.h"
#include "serve/cgi_header.h"
#include "serve/http_parse.h"
#include "serve/variables.h"
#include "serve/route.h"

#define REQUEST_INPUT_BYTES 32768
#define REQUEST_ARENA_BYTES 8192

/* The answer's block: room for what a transport puts in front, the handler's bytes, and what ends an answer. */
#define REQUEST_HEADROOM      384
#define REQUEST_OUTPUT_BYTES  65464
#define REQUEST_TAILROOM      64
#define REQUEST_BODY_BUFFER   65536 /* body bytes that are gathered before a handler is called */
#define REQUEST_REPLY_BYTES   256
#define REQUEST_ERROR_BYTES   8192  /* the handler's err stream between two records */

/* What mr_body has made of the body. */
enum request_body { REQUEST_BODY_UNASKED, REQUEST_BODY_WHOLE, REQUEST_BODY_LOST };

/* Bytes that come in pieces, in the request's arena. */
struct gather {
    uint8_t *bytes;
    size_t length, room;
};

struct connection;
struct request_form;
struct suspension;

/* A function that a handler wants called when it has returned for good; in the request's arena. */
struct request_end {
    void (*function)(void *arg);
    void *arg;
    struct request_end *next;
};

struct request {
    FCGX_Request fcgx; /* first: what handlers get; request_of() leads back */
    FCGX_Stream in, out, err;
    struct connection *connection;
    struct request *next_spare;
    struct mr_route *route;
    uint64_t number;
    int64_t ready_us;   /* when it could be handled: waiting for a thread begins */
    int64_t started_us; /* the handler's call, 0: none */
    int64_t called_us;  /* its present call, when it was suspended before */
    int64_t handler_us; /* the time of its calls */
    int64_t counts_from_us; /* the time limit does: its start, later by what it has waited for its peer */

    /* A suspended request: what it waits for, then what is called in the handler's place. */
    struct suspension *suspension; /* NULL: it does not wait */
    int (*on_wake)(FCGX_Request *req, enum mr_wake why, void *arg);
    void *wake_arg;
    enum mr_wake why_woken;
    struct arena arena;
    struct request_end *ends; /* the last one asked for first */

    /* Input: bytes read and not yet parsed are input[input_start, input_end). */
    size_t input_start, input_end;
    struct gather record; /* content of a BEGIN_REQUEST or management record */
    struct gather params;

    /* The body: bytes gathered before the call, then read by the handler. */
    struct gather body;
    bool body_given;        /* the gathered bytes have been handed to the handler's stream */
    int64_t content_length; /* −1: not declared */
    int64_t body_bytes;     /* arrived so far */
    enum request_body whole_body;
    const struct request_form *query, *form; /* their fields, once the handler has asked for one; in the arena */

    /* The answer. */
    const char *method, *uri; /* REQUEST_URI; "" when the front end sends none */
    int error_status;  /* what to answer instead of calling a handler; 0 none */
    const char *refusal; /* why the output is not sent, static text, while nothing of it has left */
    int refusal_status;  /* what is answered instead */
    struct cgi_header header; /* at the front of the output; its length is 0 until it was found right */
    bool started;      /* bytes of the answer have left */
    bool aborted;      /* the front end has given the request up: nothing but its end is sent any more */
    bool cut;          /* the answer cannot be completed: the connection ends instead */
    bool refused;      /* 503, for want of a thread */
    bool bodiless;     /* HEAD, 204, 304: the handler's body is counted and not sent */
    bool error_used;   /* something was written to the err stream */
    int status;
    int64_t declared_bytes; /* the handler's Content-Length, −1 none */
    int64_t computed_bytes; /* the Content-Length that is added, −1 none */
    int64_t sent_bytes;     /* of the body */
    uint8_t *error_buffer;
    struct iovec unsent[2]; /* the answer's end, as far as it has not left */
    uint8_t reply[REQUEST_REPLY_BYTES]; /* to a record that needs no handler, when the socket was full */

    struct http_head head; /* of one that came over HTTP */
    uint8_t input[REQUEST_INPUT_BYTES];
    _Alignas(16) char memory[REQUEST_ARENA_BYTES];
    uint8_t output[REQUEST_HEADROOM + REQUEST_OUTPUT_BYTES + REQUEST_TAILROOM];
};

/* Returns a request without a connection, NULL with errno; freed by the caller with request_free. */
struct request *request_new(void);
void request_free(struct request *request);

/* Makes it ready for the next request of its connection; bytes read and not yet parsed stay. */
void request_reset(struct request *request);

static inline struct request *request_of(const FCGX_Request *fcgx)
{
    return (struct request *)(uintptr_t)fcgx;
}

static inline struct span request_unparsed(struct request *request)
{
    return span_of(request->input + request->input_start, request->input_end - request->input_start);
}

/* Moves unparsed bytes to the front and returns the room behind them. */
size_t request_input_room(struct request *request);

/* Appends to gathered bytes. Returns 0, −1 with errno. */
int request_gather(struct request *request, struct gather *gather, struct span bytes) __attribute__((warn_unused_result));

/* Takes the variables over and finds the route of the path, which is decoded and normalised, in the request's arena (RFC
 * 3875: SCRIPT_NAME becomes the route, PATH_INFO the rest). Returns 0, or the status to answer. */
int request_open(struct request *request, const struct route_table *table, struct variables *variables,
                 struct span path) __attribute__((warn_unused_result));

/* Answers `status` in place of what the handler writes, unless some of it has left. `why` is static text. */
void request_refuse(struct request *request, int status, const char *why);

/* True when a body of this size is over the route's limit. */
bool request_body_is_over(const struct request *request, int64_t body_bytes);

/* Prepares the streams and calls the route's handler, or calls what a suspended request has left in its place; keeps the
 * result as the application status. */
void request_handle(struct request *request);

/* Has a function called at the end of the handler. Returns 0, −1 with errno. */
int request_at_end(struct request *request, void (*function)(void *arg), void *arg) __attribute__((warn_unused_result));

/* A variable of the request, NULL when it has none. */
const char *request_variable(const struct request *request, const char *name);

#endif
