/*
 * proxy_protocol.h: what a load balancer says at the start of a connection about the client behind it, versions 1 and 2.
 * Pure: no allocation, no I/O, nothing is kept between calls.
 * Source: HAProxy's PROXY protocol specification, sections 2.1 and 2.2.
 */
#ifndef SERVE_PROXY_PROTOCOL_H
#define SERVE_PROXY_PROTOCOL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/span.h"

/* A line of version 1 with its CRLF; the 16 fixed bytes of version 2 and what its length field may say, which is far more
 * than addresses and the usual additions (TLS names, identifiers) need. */
#define PROXY_PROTOCOL_LINE_BYTES 107
#define PROXY_PROTOCOL_MAX_BYTES  (16 + 2048)

enum proxy_protocol_result {
    PROXY_PROTOCOL_MORE, /* a beginning: ask again with more bytes */
    PROXY_PROTOCOL_DONE,
    PROXY_PROTOCOL_BAD, /* no header, whatever may follow: close the connection */
};

struct proxy_protocol {
    size_t bytes; /* of the header: what follows is the client's */
    bool local;   /* the proxy speaks for itself, or says nothing of use: the socket's own addresses count */
    union proxy_protocol_address {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
    } source, destination; /* of one family, that of `any` */
};

/* Reads the header from all bytes of the connection so far. Writes `*header` only when done. What is done or bad stays so
 * whatever bytes follow; PROXY_PROTOCOL_MAX_BYTES of them are always enough. */
enum proxy_protocol_result proxy_protocol_parse(struct span input, struct proxy_protocol *header)
    __attribute__((warn_unused_result));

#endif
