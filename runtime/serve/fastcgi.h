/*
 * fastcgi.h: the FastCGI transport: records in, records out, for one connection.
 * Source: FastCGI specification 1.0; PROTOCOL.md section 1 names what must hold.
 */
#ifndef SERVE_FASTCGI_H
#define SERVE_FASTCGI_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/record.h"
#include "serve/transport.h"

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

extern const struct transport fastcgi_transport;

#endif
