/*
 * suspend.c: suspended requests. suspend_begin runs on a handler's thread, suspend_resume on any, the rest on lanes.
 */
#include "serve/suspend.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/race.h"
#include "serve/connection.h"
#include "serve/request.h"
#include "serve/worker.h"

/* A ticket: the suspension's number, its lane, its place in the lane's table. */
#define LANE_SHIFT   18
#define NUMBER_SHIFT 26
#define INDEX_MASK   ((1u << LANE_SHIFT) - 1)
#define LANE_MASK    ((1u << (NUMBER_SHIFT - LANE_SHIFT)) - 1)
#define NONE         UINT32_MAX

/* The word: the number, shifted, and this bit while the request waits. */
#define WAITS       1u
#define NUMBER_MASK (UINT64_MAX >> NUMBER_SHIFT)

_Static_assert(SUSPEND_CHUNK *SUSPEND_CHUNKS <= 1 << LANE_SHIFT, "an index fits a ticket");

static struct lane *all_lanes;
static int all_lanes_count;

void suspend_serve(struct lane *lanes, int count)
{
    all_lanes = lanes;
    all_lanes_count = count;
}

void suspend_init(struct suspend_table *table)
{
    pthread_mutex_init(&table->lock, NULL);
    table->first_free = NONE;
}

void suspend_fini(struct suspend_table *table)
{
    for (int i = 0; i < SUSPEND_CHUNKS; i++)
        free(atomic_load(&table->chunks[i]));
    pthread_mutex_destroy(&table->lock);
}

/* -- the table -------------------------------------------------------------------------------------------------------
 */

static struct suspension *at(struct suspend_table *table, uint32_t index)
{
    struct suspension *chunk = atomic_load_explicit(&table->chunks[index / SUSPEND_CHUNK], memory_order_acquire);
    return chunk == NULL ? NULL : &chunk[index % SUSPEND_CHUNK];
}

/* The next one that was never used. Under the lock. */
static struct suspension *make(struct suspend_table *table)
{
    uint32_t index = table->made;
    if (index == SUSPEND_CHUNK * SUSPEND_CHUNKS)
        return NULL;
    if (index % SUSPEND_CHUNK == 0) {
        struct suspension *chunk = calloc(SUSPEND_CHUNK, sizeof *chunk);
        if (chunk == NULL)
            return NULL;
        atomic_store_explicit(&table->chunks[index / SUSPEND_CHUNK], chunk, memory_order_release);
    }
    table->made++;
    struct suspension *suspension = at(table, index);
    suspension->index = index;
    return suspension;
}

static struct suspension *take(struct suspend_table *table)
{
    pthread_mutex_lock(&table->lock);
    struct suspension *suspension = table->first_free == NONE ? make(table) : at(table, table->first_free);
    if (suspension != NULL && table->first_free != NONE)
        table->first_free = suspension->next_free;
    pthread_mutex_unlock(&table->lock);
    return suspension;
}

static void give_back(struct suspend_table *table, struct suspension *suspension)
{
    pthread_mutex_lock(&table->lock);
    suspension->next_free = table->first_free;
    table->first_free = suspension->index;
    pthread_mutex_unlock(&table->lock);
}

/* -- begin and end ---------------------------------------------------------------------------------------------------
 */

/* Never 0, so that no ticket is. */
static uint64_t next_number(const struct suspension *suspension)
{
    uint64_t number = ((atomic_load_explicit(&suspension->word, memory_order_relaxed) >> 1) + 1) & NUMBER_MASK;
    return number == 0 ? 1 : number;
}

uint64_t suspend_begin(struct request *request, int (*on_wake)(FCGX_Request *, enum mr_wake, void *), void *arg)
{
    struct lane *lane = request->connection->lane;
    bool may = request->suspension == NULL && request->why_woken == MR_RESUMED;
    struct suspension *suspension = may ? take(&lane->suspended) : NULL;
    if (suspension == NULL) {
        errno = may ? ENOMEM : ECANCELED;
        return 0;
    }
    uint64_t number = next_number(suspension);
    suspension->mail.kind = LANE_MAIL_RESUMED;
    suspension->connection = request->connection;
    suspension->on_wake = on_wake;
    suspension->arg = arg;
    suspension->settled = suspension->ended = false;
    atomic_store_explicit(&suspension->word, number << 1 | WAITS, memory_order_release);
    request->suspension = suspension;
    return number << NUMBER_SHIFT | (uint64_t)lane->number << LANE_SHIFT | suspension->index;
}

/* Returns true for the one who does. */
static bool end(struct suspension *suspension, uint64_t number)
{
    uint64_t waiting = number << 1 | WAITS;
    return atomic_compare_exchange_strong(&suspension->word, &waiting, number << 1);
}

int suspend_resume(uint64_t ticket)
{
    uint32_t lane = (uint32_t)(ticket >> LANE_SHIFT) & LANE_MASK;
    if (ticket == 0 || lane >= (uint32_t)all_lanes_count)
        return 0;
    struct suspension *suspension = at(&all_lanes[lane].suspended, (uint32_t)ticket & INDEX_MASK);
    if (suspension == NULL || !end(suspension, ticket >> NUMBER_SHIFT))
        return 0;
    RACE_POINT(suspend_resuming);
    lane_post(&all_lanes[lane], &suspension->mail);
    return 1;
}

/* -- the lane's runner -----------------------------------------------------------------------------------------------
 */

static struct lane *lane_of(const struct suspension *suspension)
{
    return suspension->connection->lane;
}

static void count(struct lane *lane, int more)
{
    lane->suspended_length += more;
    atomic_store_explicit(&lane->board->suspended, lane->suspended_length, memory_order_relaxed);
}

static void wake(struct suspension *suspension, enum mr_wake why)
{
    struct lane *lane = lane_of(suspension);
    suspension->why = why;
    suspension->ended = true;
    if (!suspension->settled)
        return; /* remembered until then */
    heap_remove(&lane->limits, &suspension->limit);
    list_append(&lane->woken, &suspension->woken);
    lane->woken_more = true;
}

/* The lane's own reasons. One that comes too late finds the resumption on its way. */
static void wake_unless_resumed(struct suspension *suspension, enum mr_wake why)
{
    if (end(suspension, atomic_load_explicit(&suspension->word, memory_order_relaxed) >> 1))
        wake(suspension, why);
    else
        heap_remove(&lane_of(suspension)->limits, &suspension->limit);
}

void suspend_settle(struct connection *connection)
{
    struct suspension *suspension = connection->request->suspension;
    int64_t limit_us = connection->request->route->settings->request_timeout_us;
    count(connection->lane, 1);
    suspension->settled = true;
    if (suspension->ended) {
        wake(suspension, suspension->why);
        return;
    }
    if (limit_us > 0 && lane_has_time_limits(connection->lane))
        heap_add(&connection->lane->limits, &suspension->limit, connection->request->counts_from_us + limit_us);
    if (connection->gone || connection->more || connection->ended)
        suspend_look(connection);
}

void suspend_look(struct connection *connection)
{
    struct suspension *suspension = connection->request->suspension;
    if (suspension->ended)
        return;
    if (connection->gone || connection->transport->is_aborted(connection->request))
        wake_unless_resumed(suspension, MR_CLIENT_GONE);
}

void suspend_hear(struct mail *mail)
{
    wake((struct suspension *)mail, MR_RESUMED);
}

void suspend_expire(struct lane *lane)
{
    while (lane->limits.first != NULL && lane->limits.first->key <= lane->now_us) {
        struct suspension *suspension = HEAP_ELEMENT(lane->limits.first, struct suspension, limit);
        wake_unless_resumed(suspension, MR_TIMED_OUT);
    }
}

/* From here on a ticket of it is out of date. */
static bool call_back(struct suspension *suspension)
{
    struct connection *connection = suspension->connection;
    struct request *request = connection->request;
    list_remove(&suspension->woken);
    count(connection->lane, -1);
    request->on_wake = suspension->on_wake;
    request->wake_arg = suspension->arg;
    request->why_woken = suspension->why;
    request->suspension = NULL;
    give_back(&connection->lane->suspended, suspension);
    return connection_serve(connection);
}

/* Those that are woken meanwhile are called back in the next turn. */
bool suspend_call_woken(struct lane *lane)
{
    struct list *last = lane->woken.previous, *link = &lane->woken, *next = lane->woken.next;
    lane->woken_more = false;
    while (link != last) {
        link = next;
        next = link->next;
        struct suspension *suspension = LIST_ELEMENT(link, struct suspension, woken);
        if (lane_may_call(lane, suspension->connection->request->route) && !call_back(suspension))
            return false;
        if (!lane_is_reserved(lane))
            return true; /* no thread is free */
    }
    return true;
}
