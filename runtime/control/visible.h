/*
 * visible.h: bytes from outside as text that is safe to show: on a terminal, in JSON, on a page. Pure.
 */
#ifndef CONTROL_VISIBLE_H
#define CONTROL_VISIBLE_H

#include <stddef.h>

/* Room for what `bytes` bytes may become, with a NUL. */
#define VISIBLE_ROOM(bytes) (3 * (size_t)(bytes) + 1)

/* Copies a string as valid UTF-8 on one line. Each byte that belongs to no character, to a control character or to one that
 * changes the direction of writing becomes %XX, as in a URI. What does not fit is left out. Returns `to`. */
char *visible_copy(char *to, size_t room, const char *bytes);

#endif
