/*
 * suspend.h: requests that wait without a thread, and the tickets that end their waiting.
 *
 * A suspension is taken by the handler that suspends, ended once, by whichever comes first: mr_resume (any thread), the
 * request's time limit or its client's leaving (the lane), and given back when its on_wake is about to be called. It lies in
 * a table of its lane, so that a ticket that is out of date meets another suspension's number instead of freed memory.
 *
 * Ordering: `word` holds the suspension's number and whether it still waits; ending is one compare-and-swap on it, and the
 * mailbox carries a resumption to the lane.
 */
#ifndef SERVE_SUSPEND_H
#define SERVE_SUSPEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "millrace.h"

struct connection;
struct lane;
struct request;

#define SUSPEND_CHUNK  256  /* suspensions that are allocated together */
#define SUSPEND_CHUNKS 1024 /* of a lane */

struct suspension {
    struct mail mail; /* first: how a resumption reaches the lane */
    _Atomic uint64_t word;
    uint32_t index, next_free;
    struct connection *connection;
    int (*on_wake)(FCGX_Request *req, enum mr_wake why, void *arg);
    void *arg;

    /* The lane's runner alone. */
    struct heap_node limit; /* in the lane's heap of time limits */
    struct list woken;      /* in the lane's list of those whose on_wake is to be called */
    enum mr_wake why;
    bool settled; /* the handler that suspended has returned, the lane has the connection */
    bool ended;   /* why is known */
};

struct suspend_table {
    pthread_mutex_t lock; /* guards what follows; nothing is locked inside */
    _Atomic(struct suspension *) chunks[SUSPEND_CHUNKS];
    uint32_t made, first_free; /* suspensions that were ever used; UINT32_MAX: none is free */
};

void suspend_init(struct suspend_table *table);
void suspend_fini(struct suspend_table *table);

/* Tells tickets of this process where its lanes are. */
void suspend_serve(struct lane *lanes, int count);

/* mr_suspend and mr_resume. */
uint64_t suspend_begin(struct request *request, int (*on_wake)(FCGX_Request *, enum mr_wake, void *), void *arg);
int suspend_resume(uint64_t ticket);

/* -- the lane's runner ----------------------------------------------------------------------------------------------- */

/* A connection whose handler has suspended its request is the lane's again: it waits from now on. */
void suspend_settle(struct connection *connection);

/* The client of a suspended request may have left: something has arrived. */
void suspend_look(struct connection *connection);

/* A resumption, out of the mailbox. */
void suspend_hear(struct mail *mail);

/* Ends the waiting of requests whose time is over. */
void suspend_expire(struct lane *lane);

/* Calls back what was woken, as far as threads allow. Returns false when this thread has lost the lane. */
bool suspend_call_woken(struct lane *lane) __attribute__((warn_unused_result));

#endif
