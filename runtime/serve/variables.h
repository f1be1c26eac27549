/*
 * variables.h: a request's variables while they are put together: `NAME=value` entries in the request's arena.
 * Source: RFC 3875 section 4.1.
 */
#ifndef SERVE_VARIABLES_H
#define SERVE_VARIABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"

/* An entry that several fields were joined in: the bytes of its text, and those that it has room for. */
struct variables_joined {
    uint32_t length, room; /* 0: it is as it was added */
};

struct variables {
    struct arena *arena;
    char **entries; /* NULL at the end only when it is complete */
    int count, room;
    int script_name, path_info; /* their places, −1: none yet */
    struct variables_joined *joined; /* one an entry; NULL while none is joined */
    uint64_t fields; /* a bit for each name of a header field so far: one whose bit is not set is new */
};

void variables_init(struct variables *variables, struct arena *arena);

/* Makes `name=value`. Returns NULL when memory is short. */
char *variables_entry(struct variables *variables, const char *name, struct span value)
    __attribute__((warn_unused_result));

/* Makes room for `more` entries. Each of these returns 0, −1 when memory is short (an entry that is NULL counts as that). */
int variables_reserve(struct variables *variables, int more) __attribute__((warn_unused_result));

static inline __attribute__((warn_unused_result)) int variables_add(struct variables *variables, char *entry)
{
    if (entry == NULL || (variables->count + 1 >= variables->room && variables_reserve(variables, 1) < 0))
        return -1;
    variables->entries[variables->count++] = entry;
    return 0;
}

/* Sets the variable at `place`, or adds it (−1). */
int variables_set(struct variables *variables, int place, char *entry) __attribute__((warn_unused_result));

/* The place of the variable, −1: there is none. */
int variables_find(const struct variables *variables, const char *name);

/* Its value, NULL: there is none. */
const char *variables_value(const struct variables *variables, const char *name);

/* Sets the variable of this name, or adds it. */
int variables_change(struct variables *variables, const char *name, struct span value) __attribute__((warn_unused_result));

/* Adds an entry whose name has `name_length` bytes. Where it is a header field's (HTTP_...) that is there already, the
 * two become one: section 4.1.18. HTTP_PROXY is left out: programs would take their proxy from it. */
int variables_add_field(struct variables *variables, char *entry, size_t name_length)
    __attribute__((warn_unused_result));

/* Puts NULL behind the last one, for which there is always room once there is one entry. Returns the entries, or NULL. */
char **variables_end(struct variables *variables);

#endif
