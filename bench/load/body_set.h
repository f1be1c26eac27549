/*
 * body_set.h: the bodies that a server may answer with, by length and XXH3-64, and whether a body is one of them.
 *
 * Not for bytes: whoever has the bytes hashes them.
 */
#ifndef LOAD_BODY_SET_H
#define LOAD_BODY_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

struct body {
    uint64_t length, hash;
};

#define BODY_TEXT_BYTES 40 /* room for LEN:HASH and the final NUL */

/* All zero: empty, and nothing is allowed. Owns what is behind the pointers. */
struct body_set {
    struct body *bodies; /* in the order in which they were added, none twice */
    size_t count, room;
    uint32_t *slots; /* by hash: an index of `bodies` plus one, 0: free */
    size_t slot_count;
};

enum body_match { BODY_RIGHT, BODY_WRONG_LENGTH, BODY_WRONG_HASH };

void body_set_add(struct body_set *set, struct body body);

/* Returns how the body stands to the set; `index` is that of the body when it is BODY_RIGHT. */
enum body_match body_set_match(const struct body_set *set, struct body body, size_t *index);

/* Reads `LEN:HASH` (HASH of 16 hexadecimal digits), and what a blank behind it separates is left alone. Returns 0, −1. */
int body_set_parse(struct body *body, const char *text) MUST_CHECK;
void body_set_print(char text[BODY_TEXT_BYTES], struct body body);

/* The body that a file holds. Blocks while it reads. Returns 0, −1 with errno. */
int body_set_read_file(struct body *body, const char *path) MUST_CHECK;

/* Adds each line of a list. Empty lines and those that begin with # are comments. Returns 0; −1 with errno, or with the
 * number of a wrong line in `line` (0: it is errno). */
int body_set_read_list(struct body_set *set, const char *path, unsigned *line) MUST_CHECK;

void body_set_fini(struct body_set *set);

#endif
