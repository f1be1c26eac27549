/*
 * http_path.h: the path of a URI as the routes know it: decoded and normalised, in the way that nginx does it. Pure.
 * Source: RFC 3986 sections 2.1, 5.2.4 and 6.2.2.
 */
#ifndef SERVE_HTTP_PATH_H
#define SERVE_HTTP_PATH_H

#include <sys/types.h>

#include "base/span.h"

/* Decodes percent escapes, makes one slash of several, resolves dot segments (encoded ones as well). Writes at most
 * path.length + 1 bytes. Returns the length, −1: an escape is malformed or a NUL, or the path leads above its root. */
ssize_t http_path_normalise(struct span path, uint8_t *to) __attribute__((warn_unused_result));

#endif
