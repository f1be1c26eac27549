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
    struct span reason;     /* what stands behind the status, within the block; empty: nothing */
    bool has_date, has_server;
    bool is_clean;          /* each line ends with CRLF, and none is another's to say: see cgi_header_copy */
};

enum cgi_header_result { CGI_HEADER_DONE, CGI_HEADER_INCOMPLETE, CGI_HEADER_BAD };

/* Reads the block at the front of `output`. `why` is set (static text) when it is bad. */
enum cgi_header_result cgi_header_parse(struct span output, struct cgi_header *header, const char **why)
    __attribute__((warn_unused_result));

/* Copies the lines before the blank one, each ended by CRLF, without those that are for the server (Status) or its to say
 * (Connection and the like). Returns the bytes written, at most twice as many as there were. */
size_t cgi_header_copy(const struct cgi_header *header, const uint8_t *block, uint8_t *to);

#endif
