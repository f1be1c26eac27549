/*
 * fastcgi.h: the FastCGI transport: records in, records out, for one connection.
 * Source: FastCGI specification 1.0; PROTOCOL.md section 1 names what must hold.
 */
#ifndef SERVE_FASTCGI_H
#define SERVE_FASTCGI_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "serve/record.h"

struct connection;
struct request;

enum fastcgi_phase {
    FASTCGI_BETWEEN, /* no request, or one that was answered */
    FASTCGI_PARAMS,
    FASTCGI_STDIN,
    FASTCGI_COMPLETE, /* the body has ended */
};

/* What a connection remembers from record to record. Zeroed at its start. */
struct fastcgi {
    struct record_parser parser;
    uint8_t phase;
    bool keep;           /* FCGI_KEEP_CONN */
    uint16_t id;         /* of the request at hand */
    uint32_t skipped_bytes; /* body bytes that belong to no request, since the last one began */
};

enum fastcgi_event {
    FASTCGI_MORE,    /* all input is used up */
    FASTCGI_READY,   /* the handler can be called, or the request's error_status answered */
    FASTCGI_ABORTED, /* the front end has given the request up before it was ready; its end may be unsent */
    FASTCGI_FULL,    /* a reply is unsent: the socket is full */
    FASTCGI_BROKEN,  /* the connection cannot be understood any further */
};

/* Lane only. Goes through the connection's unparsed input until something has to be done. Management records and
 * records of nobody are dealt with here. */
enum fastcgi_event fastcgi_advance(struct connection *connection) __attribute__((warn_unused_result));

/* True when the connection rests between two requests, no byte of the next one read. */
bool fastcgi_is_between(const struct connection *connection);

enum fastcgi_body { FASTCGI_BODY_BYTES, FASTCGI_BODY_END, FASTCGI_BODY_CUT };

/* Handler's thread. The next bytes of the body beyond those gathered, valid until the next call. Blocks for at most
 * body_timeout. */
enum fastcgi_body fastcgi_read_body(struct request *request, struct span *bytes) __attribute__((warn_unused_result));

/* Handler's thread. True when the front end has sent ABORT_REQUEST for the request at hand: looks at what has arrived (as
 * far as there is room for it, behind body bytes that nobody has read), and waits for nothing. */
bool fastcgi_is_aborted(struct request *request);

/* Puts a record's header in front of `content` and its padding behind it (room for both is the caller's).
 * Returns the whole record. */
struct iovec fastcgi_frame(const struct request *request, enum record_type type, uint8_t *content, size_t length);

/* Writes an empty record of `type`, or END_REQUEST, to `to`. Returns the bytes written. */
size_t fastcgi_put_stream_end(const struct request *request, enum record_type type, uint8_t *to);
size_t fastcgi_put_end(const struct request *request, uint8_t *to);

/* The request at hand was answered: what is left of its body belongs to nobody. Returns true when the connection
 * may serve another. */
bool fastcgi_done(struct connection *connection);

#endif
