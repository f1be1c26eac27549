/*
 * cgi_header.h: the header lines of an application's answer. Pure.
 * Source: RFC 3875 section 6.3; RFC 9110 sections 5.5 and 5.6.2.
 */
#ifndef SERVE_CGI_HEADER_H
#define SERVE_CGI_HEADER_H

#include "base/span.h"

struct cgi_header {
    size_t length;          /* of the whole block, the blank line included */
    size_t blank_at;        /* where the blank line begins: more lines can be put there */
    int status;             /* 200 when there is no Status line (302 with a Location) */
    int64_t content_length; /* −1 when there is no such line */
};

enum cgi_header_result { CGI_HEADER_DONE, CGI_HEADER_INCOMPLETE, CGI_HEADER_BAD };

/* Reads the block at the front of `output`. `why` is set (static text) when it is bad. */
enum cgi_header_result cgi_header_parse(struct span output, struct cgi_header *header, const char **why)
    __attribute__((warn_unused_result));

#endif
