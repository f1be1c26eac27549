/*
 * pool.c: waiting threads and reservations. Any thread of the worker.
 */
#include "serve/pool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/race.h"
#include "serve/activity.h"
#include "serve/crash.h"
#include "serve/lane.h"
#include "serve/loop.h"
#include "serve/worker.h"

static void push(struct pool_thread **list, struct pool_thread *thread)
{
    thread->next_waiting = *list;
    *list = thread;
}

static struct pool_thread *pop(struct pool_thread **list)
{
    struct pool_thread *thread = *list;
    if (thread != NULL)
        *list = thread->next_waiting;
    return thread;
}

static void push_waiting(struct pool_thread *thread)
{
    pthread_mutex_lock(&thread->pool->lock);
    push(&thread->pool->waiting, thread);
    pthread_mutex_unlock(&thread->pool->lock);
}

static struct pool_thread *pop_waiting(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct pool_thread *thread = pop(&pool->waiting);
    pthread_mutex_unlock(&pool->lock);
    return thread;
}

static void wake_for(struct pool_thread *thread, struct lane *lane)
{
    thread->lane = lane;
    sem_post(&thread->wake);
}

static struct lane *sleep_until_woken(struct pool_thread *thread)
{
    while (sem_wait(&thread->wake) < 0)
        CHECK(errno == EINTR);
    return thread->lane;
}

/* A handler that calls pthread_exit would take a thread, or a lane, with it: that ends the worker, like exit(). */
static void report_exit_of_thread(void *unused)
{
    (void)unused;
    worker_end_by_handler("pthread_exit");
}

/* More threads are in service than there should be: the handlers in whose place they came no longer wait. Returns true
 * when this one has left the service. */
static bool park(struct pool_thread *thread)
{
    struct pool *pool = thread->pool;
    if (atomic_load(&pool->extra) == 0)
        return false;
    pthread_mutex_lock(&pool->lock);
    bool parks = atomic_load(&pool->extra) > pool->waits;
    if (parks) {
        atomic_fetch_sub(&pool->extra, 1);
        push(&pool->parked, thread);
    }
    pthread_mutex_unlock(&pool->lock);
    return parks;
}

static void *thread_main(void *argument)
{
    struct pool_thread *thread = argument;
    struct lane *lane;
    struct worker *worker = thread->pool->worker;
    activity_init(thread->number, scoreboard_thread(worker->start.board, worker->start.slot, thread->number - 1));
    crash_prepare_thread();
    pthread_cleanup_push(report_exit_of_thread, NULL);
    while ((lane = sleep_until_woken(thread)) != NULL) {
        RACE_POINT(pool_woken);
        loop_run(lane);
        RACE_POINT(pool_returning);
        if (park(thread))
            continue;
        push_waiting(thread);
        RACE_POINT(pool_waiting);
        pool_release(thread->pool); /* after the push: a reservation promises that somebody is on the list */
    }
    pthread_cleanup_pop(0);
    return NULL;
}

/* Starts the next one, which waits for its first lane on no list yet. Returns NULL with errno. */
static struct pool_thread *start_thread(struct pool *pool)
{
    struct pool_thread *thread = &pool->threads[pool->count];
    thread->pool = pool;
    thread->number = pool->count + 1;
    sem_init(&thread->wake, 0, 0);
    int error = pthread_create(&thread->id, NULL, thread_main, thread);
    if (error != 0) {
        sem_destroy(&thread->wake);
        errno = error;
        return NULL;
    }
    pool->count++;
    return thread;
}

int pool_start(struct pool *pool, int threads, struct worker *worker)
{
    *pool = (struct pool){.worker = worker};
    pthread_mutex_init(&pool->lock, NULL);
    pool->threads = calloc((size_t)settings_pool_room(worker->settings), sizeof *pool->threads);
    if (pool->threads == NULL)
        return -1;
    for (int i = 0; i < threads; i++) {
        struct pool_thread *thread = start_thread(pool);
        if (thread == NULL)
            return -1;
        push_waiting(thread);
    }
    atomic_store(&pool->unreserved, threads);
    return 0;
}

void pool_begin_wait(struct pool *pool)
{
    struct pool_thread *thread = NULL;
    pthread_mutex_lock(&pool->lock);
    pool->waits++;
    int extra = atomic_load(&pool->extra);
    if (extra < pool->waits && extra < pool->worker->settings->max_waiting) {
        thread = pop(&pool->parked);
        if (thread == NULL)
            thread = start_thread(pool); /* under the lock: it takes the next place */
    }
    if (thread != NULL) {
        atomic_fetch_add(&pool->extra, 1);
        push(&pool->waiting, thread);
    }
    pthread_mutex_unlock(&pool->lock);
    if (thread != NULL)
        pool_release(pool);
}

void pool_end_wait(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->waits--;
    pthread_mutex_unlock(&pool->lock);
}

void pool_stop(struct pool *pool)
{
    int count = 1;
    for (int stopped = 0; stopped < count;) {
        pthread_mutex_lock(&pool->lock);
        count = pool->count;
        struct pool_thread *thread = pop(&pool->waiting);
        if (thread == NULL)
            thread = pop(&pool->parked);
        pthread_mutex_unlock(&pool->lock);
        if (thread == NULL) {
            sched_yield(); /* the last ones are on their way back from a lane that has ended */
            continue;
        }
        wake_for(thread, NULL);
        stopped++;
    }
    for (int i = 0; i < count; i++) {
        pthread_join(pool->threads[i].id, NULL);
        sem_destroy(&pool->threads[i].wake);
    }
    free(pool->threads);
    pthread_mutex_destroy(&pool->lock);
}

bool pool_reserve(struct pool *pool)
{
    int unreserved = atomic_load(&pool->unreserved);
    while (unreserved > 0)
        if (atomic_compare_exchange_weak(&pool->unreserved, &unreserved, unreserved - 1))
            return true;
    return false;
}

void pool_release(struct pool *pool)
{
    atomic_fetch_add(&pool->unreserved, 1); /* before the look at `starving`: pairs with lane_may_call */
    pool_wake_starving(pool);
}

void pool_wake_starving(struct pool *pool)
{
    struct worker *worker = pool->worker;
    for (int i = 0; i < worker->settings->lanes; i++)
        if (atomic_load(&worker->lanes[i].starving) && atomic_exchange(&worker->lanes[i].starving, false))
            lane_wake(&worker->lanes[i]);
}

void pool_hand(struct pool *pool, struct lane *lane)
{
    struct pool_thread *thread = pop_waiting(pool);
    CHECK(thread != NULL);
    RACE_POINT(pool_handing);
    wake_for(thread, lane);
}
