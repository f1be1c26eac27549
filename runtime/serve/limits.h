/*
 * limits.h: how long handlers may take, and how much a worker may serve and hold before it is replaced.
 */
#ifndef SERVE_LIMITS_H
#define SERVE_LIMITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct request;
struct worker;

struct limits {
    struct worker *worker;
    int wake_fd;           /* eventfd: a handler has lost its lane */
    _Atomic bool watching; /* the first thread looks at the handlers' time by itself */
    uint64_t *slow;        /* each thread's last request that was reported as slow */
    uint64_t *overdue;     /* and as past the hard limit */
    _Atomic int overdue_count; /* handlers past the hard limit that still run */
    _Atomic uint64_t requests; /* counted only with max_requests */
    _Atomic int64_t asked_us;  /* when the master was last asked for a replacement */
    int traced; /* looks at a thread's stack that have been asked for */
    bool was_dumpable;
    int statm_fd;              /* of this process, −1: max_memory is not set */
};

/* Returns 0, −1 with errno. */
int limits_init(struct limits *limits, struct worker *worker) __attribute__((warn_unused_result));
void limits_fini(struct limits *limits);

/* A handler has lost its lane: from now on it is looked after. Any thread; never blocks. */
void limits_notice(struct limits *limits);

/* Reports handlers past their limits. Returns the milliseconds until the next look, −1: when limits_notice was called. The
 * worker's first thread. */
int limits_look(struct limits *limits);

/* The master's look at a thread's stack is over. The worker's first thread. */
void limits_traced(struct limits *limits);

/* A lane has answered `requests` so far: time to be replaced? Called after each answer; cheap. */
void limits_count(struct limits *limits, uint64_t requests);

/* Milliseconds until the request's soft limit, 0 when it has passed, INT_MAX when there is none. The handler's thread. */
int limits_deadline_ms(const struct request *request);

#endif
