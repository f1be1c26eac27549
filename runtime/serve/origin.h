/*
 * origin.h: where the requests of an HTTP connection come from: the variables that are the same for all of them.
 */
#ifndef SERVE_ORIGIN_H
#define SERVE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/span.h"

#define ORIGIN_ENTRIES 8
#define ORIGIN_BYTES   512 /* of its memory, at most */

struct origin {
    uint16_t length;
    uint8_t count;
    uint16_t places[ORIGIN_ENTRIES]; /* where each entry begins, within the entries */
    char memory[]; /* ORIGIN_TRUSTED or not, then `NAME=value` entries, each with its NUL */
};

#define ORIGIN_TRUSTED 't' /* what it says in X-Forwarded-... lines counts */

/* From the addresses of both ends. Heap, freed by the caller with free; NULL with errno. */
struct origin *origin_new(const struct sockaddr *remote, const struct sockaddr *local, bool trusted)
    __attribute__((warn_unused_result));

/* From the memory of another one. */
struct origin *origin_copy(struct span memory) __attribute__((warn_unused_result));

static inline bool origin_is_trusted(const struct origin *origin)
{
    return origin->memory[0] == ORIGIN_TRUSTED;
}

static inline struct span origin_entries(const struct origin *origin)
{
    return span_of(origin->memory + 1, (size_t)origin->length - 1);
}

/* The value of an entry; "" when there is none. */
const char *origin_value(const struct origin *origin, const char *name);

#endif
