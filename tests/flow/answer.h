/*
 * answer.h: reads the server's records and puts an answer together. Every record is checked for what holds always:
 * version 1, the id of the request, no STDOUT after its end, the end before END_REQUEST. What breaks it fails the case.
 */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "bytes.h"
#include "link.h"
#include "record.h"

struct answer {
    struct bytes out, err; /* the STDOUT and STDERR streams */
    unsigned out_records;  /* without the empty one */
    size_t largest;        /* content of the largest STDOUT record */
    bool out_ended;
    unsigned app_status;
    int protocol_status;
};

/* One record; content of the last one read stays valid until the next call. */
struct answer_record {
    int version, type, id;
    size_t length;
    const unsigned char *content;
};
struct answer_record answer_record(struct link *link, int limit_ms);

/* Reads up to END_REQUEST of request `id`. The answer may be zeroed or one that was used before. */
void answer_read(struct answer *answer, struct link *link, int id, int limit_ms);

/* The same for a request that was given up: its END_REQUEST may come without an empty STDOUT before it. */
void answer_read_end(struct answer *answer, struct link *link, int id, int limit_ms);
void answer_fini(struct answer *answer);

/* Sends the request and reads its answer. */
void answer_ask(struct answer *answer, struct link *link, const struct record_request *request);

/* The same on a new connection, which is closed afterwards. */
void answer_ask_once(struct answer *answer, const char *address, const struct record_request *request);

/* The CGI status: 200 where no Status line is, -1 where there is no header section. */
int answer_status(struct answer *answer);

/* What follows the header section; length through the pointer. */
const unsigned char *answer_body(struct answer *answer, size_t *length);
bool answer_body_is(struct answer *answer, const char *text);

/* Whether the body has this length and the pattern of tests/apps/bigout.c. */
bool answer_body_is_pattern(struct answer *answer, size_t length);

/* Whether a header line with this text is there, "Name: value", case ignored. */
bool answer_has_header(struct answer *answer, const char *line);

#endif
