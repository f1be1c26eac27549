/*
 * serving.h: a real connection, lane, transport and handler for fuzz entries; the calls on its socket are replaced when the
 * program is linked: recv gives the input in parts, send hands what is answered to the entry.
 */
#ifndef SERVING_H
#define SERVING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <fcgiapp.h>

#include "base/span.h"

struct serving {
    char letter; /* the transport's */
    struct span input;
    size_t part; /* bytes that recv gives at most */
    bool pause;  /* every other recv finds nothing */
    uint8_t behaviour; /* what the handler does: see serving.c */
    struct sockaddr peer; /* for HTTP: IPv6 is a proxy with a PROXY header, a unix socket may forward, IPv4 is anybody */
    void (*on_call)(const FCGX_Request *req); /* at the handler's start; NULL: nothing */
    void (*on_sent)(struct span bytes);
};

/* Serves a connection from its first byte to its end. */
void serving_run(const struct serving *serving);

/* A part for a byte of the fuzzer's: small ones, and such that fill the input buffer to the byte and nearly so. */
size_t serving_part(uint8_t choice, size_t size);

#endif
