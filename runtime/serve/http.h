/*
 * http.h: the HTTP/1.1 transport: requests in, for one connection. http_answer.c makes the answers.
 * Source: RFC 9110, RFC 9112; PROTOCOL.md section 3 names what must hold.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/http_parse.h"
#include "serve/origin.h"
#include "serve/transport.h"

enum http_phase {
    HTTP_NEW,     /* whose connection it is has not been found out */
    HTTP_BETWEEN, /* no request, or one that was answered */
    HTTP_HEAD,
    HTTP_BODY,
    HTTP_COMPLETE, /* the body has ended */
    HTTP_REST,     /* the request was answered, and some of its body is still to come */
    HTTP_LOST,     /* what comes cannot be understood: the connection ends with the answer */
};

/* What a connection remembers from request to request. Zeroed at its start. */
struct http {
    struct origin *origin; /* NULL while new */
    struct http_chunks chunks;
    int64_t left_bytes; /* of a body whose length was declared */
    uint8_t phase;
    bool keep;           /* the connection may serve another request, as far as this one has shown */
    bool chunked;        /* the body comes in chunks */
    bool unasked;        /* the client may wait for a word before it sends the body, and has none */
    bool answers_chunks; /* the answer goes out in chunks */
};

#define HTTP_SKIP_MAX_BYTES (16 << 20) /* of a body that nobody read; with more the connection is closed */

extern const struct transport http_transport;

#endif
