/*
 * http_variables.h: the head of an HTTP request becomes a request's variables.
 * Source: RFC 3875 section 4.1. runtime/serve/VARIABLES.md names what differs from those that nginx sends.
 */
#ifndef SERVE_HTTP_VARIABLES_H
#define SERVE_HTTP_VARIABLES_H

#include "base/networks.h"
#include "serve/origin.h"
#include "serve/variables.h"

struct request;

/* What a trusted proxy says of the client, in lines that are variables by now, replaces what the connection shows.
 * Returns 0, −1 when memory is short. */
int http_variables_forward(struct variables *variables, const struct networks *trusted) __attribute__((warn_unused_result));

/* Makes entries of request->head, whose bytes are at the front of the unparsed input, and the path, decoded and normalised.
 * Sets the request's method, URI and content length. Returns 0, or the status to answer. */
int http_variables_read(struct request *request, const struct origin *origin, struct variables *variables,
                        struct span *path) __attribute__((warn_unused_result));

/* The same as far as it goes for a head that cannot be understood: for the log alone. */
void http_variables_read_bad(struct request *request, const struct origin *origin, struct variables *variables);

/* A body without a declared length has come whole: says how long it is, as a front end does that gathers it first. */
void http_variables_set_length(struct request *request);

#endif
