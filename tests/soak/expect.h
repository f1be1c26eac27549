/*
 * expect.h: what must come back on one connection, in its order: noted while the requests are written, checked against
 * what the server sends. What differs fails the case that runs.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdbool.h>
#include <stddef.h>

#include "flow/link.h"

enum { EXPECT_MAX = 48 };

enum expect_what {
    EXPECT_ANSWER,
    EXPECT_END,     /* of a request that was given up: whatever comes, up to END_REQUEST */
    EXPECT_REFUSAL, /* END_REQUEST with a protocol status, and nothing else */
    EXPECT_VALUES,
    EXPECT_UNKNOWN_TYPE,
};

struct expect {
    enum expect_what what;
    const char *request; /* its kind and number, for messages */
    long number;
    int id;
    int status;          /* the CGI status */
    int protocol_status; /* of a refusal */
    int type;            /* that the server does not know */
    const void *body;    /* NULL: `text` */
    size_t body_length;
    char text[24];
    bool any_body, is_pattern, is_variable;
    size_t err_length;
};

struct expect_list {
    const char *request; /* of what is noted next */
    long number;
    struct expect entries[EXPECT_MAX];
    size_t count, at; /* the next one to be checked */
};

/* Notes one more, for the caller to complete: any answer of status 200 with nothing on STDERR. */
struct expect *expect_add(struct expect_list *list, enum expect_what what, int id);

/* An answer with this body, which is borrowed until it was checked. NULL: the caller sets `is_pattern`. */
struct expect *expect_body(struct expect_list *list, int id, const void *body, size_t length);

/* The same with a copy of a short text. */
struct expect *expect_text(struct expect_list *list, int id, const char *text);
void expect_status(struct expect_list *list, int id, int status);
void expect_refusal(struct expect_list *list, int id, int protocol_status);

/* Reads the next one and checks it. Blocks until all of it was read. */
void expect_check(struct expect_list *list, struct link *link);

/* The number of those that were not checked. */
size_t expect_left(const struct expect_list *list);
void expect_clear(struct expect_list *list);

#endif
