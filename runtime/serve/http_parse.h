/*
 * http_parse.h: HTTP/1.1 requests as bytes: the head, and the chunks of a body. Pure: no allocation, no I/O, borrowed
 * spans. Stricter than RFC 9112 allows where leniency lets two programs read one message in two ways: a line ends with
 * CRLF alone, no folded lines, one Content-Length.
 * Source: RFC 9112 sections 2.2, 3, 5, 6 and 7.1; RFC 9110 sections 5.5, 7.2, 7.6.1, 8.6 and 10.1.1.
 */
#ifndef SERVE_HTTP_PARSE_H
#define SERVE_HTTP_PARSE_H

#include "base/span.h"

#define HTTP_LINE_BYTES   8192  /* of a request line; more is answered 414 */
#define HTTP_HEAD_BYTES   32768 /* of a whole head; more is answered 431 */
#define HTTP_FIELDS_MAX   128   /* the same */
#define HTTP_METHOD_BYTES 32
#define HTTP_EXTRA_BYTES  16384 /* of a chunked body's extensions and trailers together */

/* A part of a head, by its place: the head may move in memory while it arrives. */
struct http_part {
    uint16_t at, length;
};

struct http_field {
    struct http_part name, value;
};

struct http_head {
    uint32_t length;  /* of the lines that were understood: when it is complete, of the whole head */
    uint32_t scanned; /* no line ends before */
    bool has_line;    /* the request line is among them */

    struct http_part method;
    struct http_part uri;   /* path and query as they were sent */
    struct http_part path;  /* of an absolute form without one it is empty, and means / */
    struct http_part query; /* without its ? */
    struct http_part host;  /* where the request goes to, with its port if it names one; empty: it does not say */
    uint8_t minor;          /* of HTTP/1.x */
    uint8_t host_count, length_count, coding_count; /* lines of Host, Content-Length, Transfer-Encoding */
    bool is_absolute;       /* the target names the host, and the line Host does not */
    bool closes, keeps;     /* what the lines Connection ask for */
    bool chunked, expects_continue;
    int64_t content_length; /* −1: not declared */
    uint16_t field_count;
    struct http_field fields[HTTP_FIELDS_MAX];
};

void http_head_init(struct http_head *head);

/* Goes on with the head at the front of `input`, whose first head->scanned bytes are as they were at the last call. Returns
 * HTTP_MORE, HTTP_DONE (head->length bytes are the head), or the status to answer: the request cannot be understood, and
 * nothing behind it either. `limit_bytes` of a head are read, at most HTTP_HEAD_BYTES. */
enum { HTTP_MORE = 0, HTTP_DONE = 1 };
int http_parse_head(struct http_head *head, struct span input, size_t limit_bytes) __attribute__((warn_unused_result));

/* Will the client send another request on this connection, as far as it says? */
bool http_head_keeps(const struct http_head *head);

static inline struct span http_part_of(const uint8_t *head_at, struct http_part part)
{
    return span_of(head_at + part.at, part.length);
}

/* -- a chunked body -------------------------------------------------------------------------------------------------- */

/* Where a chunked body is between two reads. Zeroed at its start. */
struct http_chunks {
    uint8_t state;
    uint8_t digits;       /* of the size at hand */
    bool over;            /* the last chunk and the trailers have come */
    uint16_t extra_bytes; /* extensions and trailers so far */
    int64_t left_bytes;   /* of the chunk at hand */
};

enum http_chunk { HTTP_CHUNK_MORE, HTTP_CHUNK_BYTES, HTTP_CHUNK_END, HTTP_CHUNK_BAD };

/* Takes the next piece off the front of `input`. HTTP_CHUNK_BYTES: `bytes` are the body's. HTTP_CHUNK_MORE: all input is
 * used up. Trailers are looked at and left out. */
enum http_chunk http_parse_chunk(struct http_chunks *chunks, struct span *input, struct span *bytes)
    __attribute__((warn_unused_result));

#endif
