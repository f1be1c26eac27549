/*
 * record.h: writes FastCGI records (FastCGI 1.0 section 3.3), right ones and wrong ones, into memory.
 * Numbers are the specification's own; the runtime's headers are not used, so that both are not wrong together.
 */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "bytes.h"

enum {
    RECORD_BEGIN = 1,
    RECORD_ABORT = 2,
    RECORD_END = 3,
    RECORD_PARAMS = 4,
    RECORD_STDIN = 5,
    RECORD_STDOUT = 6,
    RECORD_STDERR = 7,
    RECORD_DATA = 8,
    RECORD_GET_VALUES = 9,
    RECORD_GET_VALUES_RESULT = 10,
    RECORD_UNKNOWN_TYPE = 11,

    RECORD_RESPONDER = 1,
    RECORD_AUTHORIZER = 2,
    RECORD_FILTER = 3,

    RECORD_CLOSE = 0, /* BEGIN_REQUEST flags */
    RECORD_KEEP = 1,

    RECORD_REQUEST_COMPLETE = 0, /* END_REQUEST protocolStatus */
    RECORD_CANT_MPX_CONN = 1,
    RECORD_OVERLOADED = 2,
    RECORD_UNKNOWN_ROLE = 3,

    RECORD_HEAD = 8,
    RECORD_CONTENT_MAX = 65535,
};

/* What a request consists of; zeroed members get usual values. */
struct record_request {
    int id;             /* 0: 1 */
    int flags;          /* RECORD_KEEP or RECORD_CLOSE */
    const char *method; /* NULL: GET, or POST with a body */
    const char *path;   /* SCRIPT_NAME */
    const char *query;  /* NULL: empty */
    const char *type;   /* CONTENT_TYPE; NULL: none */
    const void *body;
    size_t body_length;
    bool no_content_length; /* leaves CONTENT_LENGTH out */
};

void record_add(struct bytes *to, int type, int id, const void *content, size_t length);
void record_add_padded(struct bytes *to, int type, int id, const void *content, size_t length, int padding);
void record_add_version(struct bytes *to, int version, int type, int id, const void *content, size_t length);
void record_begin(struct bytes *to, int id, int role, int flags);

/* A stream in records of at most `piece` bytes, with the empty record that ends it. */
void record_stream(struct bytes *to, int type, int id, const void *content, size_t length, size_t piece);

/* One name-value pair (section 3.4), lengths in the shortest form; record_pair_long uses four bytes for both. */
void record_pair(struct bytes *params, const char *name, const char *value);
void record_pair_bytes(struct bytes *params, const void *name, size_t name_length, const void *value,
                       size_t value_length);
void record_pair_long(struct bytes *params, const char *name, const char *value);

/* The variables alone, and the whole request as a front end sends it. */
void record_params(struct bytes *params, const struct record_request *request);
void record_whole(struct bytes *to, const struct record_request *request);

/* Fills `to` with `length` bytes: a whole request for `path`, over and over, the first one `shift` bytes in front of its end.
 * Returns the length of one: over that many shifts, one begins at every offset. */
size_t record_forged(struct bytes *to, const char *path, size_t length, size_t shift);

#endif
