/*
 * record.h: FastCGI records as bytes. Pure: no allocation, no I/O, borrowed spans.
 * Source: FastCGI specification 1.0, sections 3.3, 3.4 and 8.
 */
#ifndef SERVE_RECORD_H
#define SERVE_RECORD_H

#include "base/span.h"

enum record_type {
    RECORD_BEGIN_REQUEST = 1,
    RECORD_ABORT_REQUEST = 2,
    RECORD_END_REQUEST = 3,
    RECORD_PARAMS = 4,
    RECORD_STDIN = 5,
    RECORD_STDOUT = 6,
    RECORD_STDERR = 7,
    RECORD_DATA = 8,
    RECORD_GET_VALUES = 9,
    RECORD_GET_VALUES_RESULT = 10,
    RECORD_UNKNOWN_TYPE = 11,
};

enum record_status { /* protocolStatus of END_REQUEST */
    RECORD_REQUEST_COMPLETE = 0,
    RECORD_CANT_MPX_CONN = 1,
    RECORD_OVERLOADED = 2,
    RECORD_UNKNOWN_ROLE = 3,
};

#define RECORD_HEADER_BYTES 8
#define RECORD_END_BYTES    16 /* a whole END_REQUEST record */
#define RECORD_CONTENT_MAX  65535
#define RECORD_ROLE_RESPONDER 1
#define RECORD_FLAG_KEEP_CONN 1

/* Where a connection is between two reads. Zeroed at the start of a connection. */
struct record_parser {
    uint8_t header[RECORD_HEADER_BYTES];
    uint8_t header_length; /* bytes of `header` so far; full while inside a record */
    uint8_t padding_left;
    uint16_t content_left;
};

/* A piece of one record's content. A record of n bytes comes as one or more pieces; the last has `ends_record`. */
struct record_piece {
    uint8_t type;
    uint16_t id;
    uint16_t content_length; /* of the whole record */
    bool ends_record;
    struct span bytes;
};

enum record_result { RECORD_MORE, RECORD_PIECE, RECORD_BAD_VERSION };

/* Takes the next piece off the front of `input`. RECORD_MORE: all input is used up. */
enum record_result record_parse(struct record_parser *parser, struct span *input, struct record_piece *piece)
    __attribute__((warn_unused_result));

/* True when the bytes so far end where a record ends. */
bool record_at_boundary(const struct record_parser *parser);

/* Takes the next name-value pair. Returns 1; 0 when `pairs` is empty; −1 when a length goes beyond it. */
int record_pair(struct span *pairs, struct span *name, struct span *value) __attribute__((warn_unused_result));

/* Each writes one record, or its header, to `to` and returns the bytes written. */
size_t record_put_header(uint8_t *to, enum record_type type, uint16_t id, size_t content_bytes, size_t padding_bytes);
size_t record_put_end(uint8_t *to, uint16_t id, uint32_t app_status, enum record_status status);
size_t record_put_unknown_type(uint8_t *to, uint8_t type);

/* Writes a pair with lengths under 128. Returns the bytes written. */
size_t record_put_short_pair(uint8_t *to, struct span name, struct span value);

#endif
