/*
 * activity.c: the calling thread's request. Runs on pool threads.
 */
#include "serve/activity.h"

#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "serve/request.h"
#include "serve/scoreboard.h"

static __thread struct scoreboard_thread *activity_line;
static __thread int activity_number;
static __thread struct request *volatile activity_at_hand;
static _Atomic(struct request *)
    activity_all[SETTINGS_THREADS_MAX + SETTINGS_WAITING_MAX + 2]; /* by the number, from 1 */

void activity_init(int number, struct scoreboard_thread *line)
{
    activity_number = number;
    log_set_thread(number);
    activity_line = line;
    atomic_store_explicit(&line->id, gettid(), memory_order_relaxed);
}

void activity_begin(struct request *request)
{
    int64_t now_us = clock_now_us();
    if (request->started_us == 0)
        request->started_us = request->counts_from_us = now_us;
    request->called_us = now_us;
    log_set_request(request->number);
    activity_at_hand = request;
    atomic_store_explicit(&activity_all[activity_number], request, memory_order_relaxed);
    if (activity_line != NULL)
        scoreboard_begin(activity_line, request->route->number, request->number, request->counts_from_us,
                         request->method, request->uri);
}

void activity_end(struct request *request)
{
    request->handler_us += clock_now_us() - request->called_us;
    if (activity_line != NULL) {
        request->counts_from_us += atomic_load_explicit(&activity_line->excused_us, memory_order_relaxed);
        scoreboard_end(activity_line);
    }
    activity_at_hand = NULL;
    atomic_store_explicit(&activity_all[activity_number], NULL, memory_order_relaxed);
    log_set_request(0);
}

int64_t activity_wait(void)
{
    int64_t now_us = clock_now_us();
    if (activity_line != NULL && activity_at_hand != NULL)
        atomic_store_explicit(&activity_line->waits_since_us, now_us, memory_order_relaxed);
    return now_us;
}

void activity_excuse(int64_t since_us)
{
    if (activity_line == NULL || activity_at_hand == NULL)
        return;
    int64_t excused_us = atomic_load_explicit(&activity_line->excused_us, memory_order_relaxed);
    atomic_store_explicit(&activity_line->excused_us, excused_us + clock_now_us() - since_us, memory_order_relaxed);
    atomic_store_explicit(&activity_line->waits_since_us, 0, memory_order_relaxed);
}

struct request *activity_request(void)
{
    return activity_at_hand;
}

struct request *activity_request_of(int number)
{
    return atomic_load_explicit(&activity_all[number], memory_order_relaxed);
}

int activity_thread(void)
{
    return activity_number;
}

int64_t activity_elapsed_us(const struct scoreboard_thread *line, int64_t now_us)
{
    int64_t since_us = atomic_load_explicit(&line->waits_since_us, memory_order_relaxed);
    if (since_us != 0)
        now_us = since_us;
    return now_us - atomic_load_explicit(&line->started_us, memory_order_relaxed) -
           atomic_load_explicit(&line->excused_us, memory_order_relaxed);
}

int64_t activity_own_elapsed_us(void)
{
    return activity_line == NULL ? 0 : activity_elapsed_us(activity_line, clock_now_us());
}
