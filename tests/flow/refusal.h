/*
 * refusal.h: requests that must be refused on the direct listener, each sent whole and in pieces and each followed by a marker
 * request: what was refused is never two requests, nor does anything behind it count.
 */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <stddef.h>

enum { REFUSAL_400_OR_501 = 1, REFUSAL_400_OR_413 = 2 };

struct refusal {
    const char *name;
    const char *bytes;
    size_t length; /* 0: bytes is a string */
    int status;    /* or one of the above */
};

/* For bytes with a NUL among them. */
#define REFUSAL_BYTES(bytes) (bytes), sizeof(bytes) - 1

/* A shared server must run (direct.h). Each: this status, a page that says so, Connection: close, and the end in order. */
void refusal_check(const struct refusal *refusals, size_t count);

/* The same for one, without the marker behind it. */
void refusal_check_bytes(const char *name, const void *bytes, size_t length, int status);

#endif
