/*
 * line.h: a few connections that are served at once. Each gets a batch of pipelined requests, is polled until all of
 * their answers have come in their order, and gets the next. What is in batch number B is decided by the seed and B
 * alone, so that a seed repeats the same requests; only which connection a batch meets depends on the timing.
 * What goes wrong fails the case that runs.
 */
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "expect.h"
#include "flow/bytes.h"
#include "flow/link.h"

struct kind;
struct server;

/* Below the threads that may block in the two workers: no request has a reason to be answered 503. */
enum { LINE_COUNT = 8 };

enum line_ending {
    LINE_IS_KEPT,
    LINE_ENDS_BY_SERVER, /* it must close */
    LINE_ENDS_BY_CLIENT, /* we close when all is sent */
    LINE_ENDS_IN_ANSWER, /* we close when a part of the last answer was read */
};

/* A connection and its batch. The kinds fill `out`, `expects`, `ending` and `sip_bytes`; the last request is the one
 * with an ending. */
struct line {
    struct bytes out;
    struct expect_list expects;
    enum line_ending ending;
    size_t sip_bytes; /* of the answer within which we close */

    struct link *link; /* NULL when closed */
    size_t out_sent;
    const struct kind *kind; /* of the request that is added or was added last */
    bool resets;             /* our close is a reset */
    bool busy;
    int64_t progress_ms;
};

/* Every other connection goes to the server's TCP port, the others to its unix socket. */
void line_init(const struct server *server, uint64_t seed);

/* Blocks until `request_count` requests in all have been sent and answered. */
void line_run(long request_count);

/* Opens those that are closed; the server has answered on all of them then. */
void line_open_all(void);
void line_close_all(void);

long line_request_count(void);
uint64_t line_batch_count(void);

/* What the batch consists of that was looked at last: when a case has failed, the one that made it fail. */
void line_print_last(void);

#endif
