/*
 * params.h: FastCGI's name-value pairs become a request's variables.
 * Source: FastCGI specification 1.0, sections 3.4 and 6.2.
 */
#ifndef SERVE_PARAMS_H
#define SERVE_PARAMS_H

#include "serve/variables.h"

struct request;

/* Makes entries of the pairs gathered in request->params, and the path of SCRIPT_NAME and PATH_INFO. Sets the request's
 * method, URI and content length. Returns 0, or the status to answer. */
int params_read(struct request *request, struct variables *variables, struct span *path)
    __attribute__((warn_unused_result));

#endif
