/* interrupt.c: see interrupt.h. Nothing here knows of routes: its threads may outlive them. */
#include "interrupt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { STACK_BYTES = 128 * 1024 };

/* Freed by the second of the two who let go of it, the thread and who has asked. `lock` guards the last two. */
struct interrupt {
    PGcancel *cancel;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool sent;
    bool left_by_one;
};

static atomic_int waiting_count; /* of all routes; relaxed: a count */

static struct interrupt *make(PGconn *connection)
{
    struct interrupt *interrupt = calloc(1, sizeof *interrupt);
    if (interrupt == NULL)
        return NULL;
    interrupt->cancel = PQgetCancel(connection);
    if (interrupt->cancel == NULL) {
        free(interrupt);
        return NULL;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&interrupt->lock, NULL);
    pthread_cond_init(&interrupt->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return interrupt;
}

static void destroy(struct interrupt *interrupt)
{
    PQfreeCancel(interrupt->cancel);
    pthread_cond_destroy(&interrupt->changed);
    pthread_mutex_destroy(&interrupt->lock);
    free(interrupt);
    atomic_fetch_sub_explicit(&waiting_count, 1, memory_order_relaxed);
}

/* Unlocks it, too. */
static void leave(struct interrupt *interrupt)
{
    bool last = interrupt->left_by_one;
    interrupt->left_by_one = true;
    pthread_mutex_unlock(&interrupt->lock);
    if (last)
        destroy(interrupt);
}

static void *run(void *arg)
{
    struct interrupt *interrupt = arg;
    char why[256]; /* nobody asks: the statement goes on, or not */
    bool sent = PQcancel(interrupt->cancel, why, sizeof why);
    pthread_mutex_lock(&interrupt->lock);
    interrupt->sent = sent;
    pthread_cond_signal(&interrupt->changed);
    leave(interrupt);
    return NULL;
}

static int start_thread(struct interrupt *interrupt)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int error = pthread_create(&thread, &attributes, run, interrupt);
    pthread_attr_destroy(&attributes);
    return error == 0 ? 0 : -1;
}

struct interrupt *interrupt_begin(PGconn *connection)
{
    if (atomic_fetch_add_explicit(&waiting_count, 1, memory_order_relaxed) >= INTERRUPT_LIMIT) {
        atomic_fetch_sub_explicit(&waiting_count, 1, memory_order_relaxed);
        return NULL;
    }
    struct interrupt *interrupt = make(connection);
    if (interrupt == NULL) {
        atomic_fetch_sub_explicit(&waiting_count, 1, memory_order_relaxed);
        return NULL;
    }
    if (start_thread(interrupt) < 0) {
        destroy(interrupt);
        return NULL;
    }
    return interrupt;
}

bool interrupt_is_over(struct interrupt *interrupt)
{
    pthread_mutex_lock(&interrupt->lock);
    bool over = interrupt->left_by_one; /* by the thread: who has asked still has it */
    pthread_mutex_unlock(&interrupt->lock);
    return over;
}

bool interrupt_end(struct interrupt *interrupt, int64_t end_us)
{
    if (interrupt == NULL)
        return false;
    struct timespec end = {end_us / 1000000, end_us % 1000000 * 1000};
    pthread_mutex_lock(&interrupt->lock);
    while (!interrupt->sent && !interrupt->left_by_one)
        if (pthread_cond_timedwait(&interrupt->changed, &interrupt->lock, &end) != 0)
            break;
    bool sent = interrupt->sent;
    leave(interrupt);
    return sent;
}
