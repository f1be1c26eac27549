/*
 * pool.h: the threads of a worker, started in advance. A thread runs a lane, or a handler that has lost its lane, or waits.
 *
 * A handler that waits for its peer keeps its thread, but does not count as one: another takes its place meanwhile. There
 * are as many of those as such handlers, at most max_waiting, and they are started when they are first needed.
 */
#ifndef SERVE_POOL_H
#define SERVE_POOL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

struct lane;
struct pool;
struct worker;

struct pool_thread {
    struct pool *pool;
    struct pool_thread *next_waiting;
    struct lane *lane; /* what it was woken for; NULL: to end */
    sem_t wake;
    pthread_t id;
    int number;
};

struct pool {
    struct pool_thread *threads;
    int count; /* started so far; guarded by the lock */
    struct worker *worker;
    _Atomic int unreserved; /* waiting threads that no lane has set aside; never more than wait */
    _Atomic int extra;      /* threads in service beyond the first ones; changed under the lock */
    pthread_mutex_t lock;   /* guards the lists and counts; nothing is locked inside */
    struct pool_thread *waiting;
    struct pool_thread *parked; /* extra ones that are not needed now */
    int waits;                  /* handlers that wait for their peer */
};

/* Starts `threads` of them; they wait. The worker's lanes are there by then. Returns 0, −1 with errno. */
int pool_start(struct pool *pool, int threads, struct worker *worker) __attribute__((warn_unused_result));

/* Ends the waiting threads and waits for all others to come back. Blocks as long as a handler runs. */
void pool_stop(struct pool *pool);

/* Sets one waiting thread aside. Never blocks. Returns false when there is none. */
bool pool_reserve(struct pool *pool) __attribute__((warn_unused_result));

/* Gives a reservation back; lanes that starve are woken. */
void pool_release(struct pool *pool);

/* Around a handler's wait for its peer, whose lane has been given away. Its own thread. */
void pool_begin_wait(struct pool *pool);
void pool_end_wait(struct pool *pool);

/* Wakes the lanes that wait until a handler has returned. Any thread. */
void pool_wake_starving(struct pool *pool);

/* Spends a reservation: a waiting thread runs the lane from now on. */
void pool_hand(struct pool *pool, struct lane *lane);

#endif
