/*
 * steady.h: one page asked for at a constant rate over HTTP, whatever becomes of the answers (open loop), on a thread
 * of its own; every answer is judged and its time kept, from the moment at which its request was due. Nothing of it
 * fails a case by itself.
 */
#ifndef STEADY_H
#define STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct steady_options {
    const char *address; /* 127.0.0.1:PORT */
    const char *path;
    const char *body; /* that each answer of status 200 has */
    size_t body_length;
    bool numbered; /* each request's number stands behind the path, and in the body before its last byte */
    int rate;      /* requests a second */
};

enum steady_verdict {
    STEADY_WAITS,
    STEADY_RIGHT, /* 200 with the body */
    STEADY_AWAY,  /* 503 with Retry-After and no word of the database server's */
    STEADY_WRONG, /* anything else, or nothing */
};

struct steady;

/* Owns: the caller gives it to steady_free, which stops it. */
struct steady *steady_start(const struct steady_options *options);
void steady_free(struct steady *steady);

/* Sends no more, waits for what is outstanding (at most 10 s: what has no answer then is wrong) and closes the
 * connections. */
void steady_stop(struct steady *steady);

/* While it runs: when the answers began to be all right: the due time of the first request of the present run of
 * right answers, once there are `count` of them; 0 before that. Times are deadline_now_ms(). */
int64_t steady_right_since_ms(const struct steady *steady, int count);

/* After steady_stop: what became of the requests that were due between two times. */
struct steady_sum {
    long requests, right, away, wrong;
    int slowest_ms, p99_ms;
    int64_t slowest_due_ms;
    char first_wrong[200]; /* what is wrong with it */
};
struct steady_sum steady_sum(const struct steady *steady, int64_t from_ms, int64_t to_ms);

#endif
