/*
 * scoreboard.c: the shared memory. Made by the master, used by every process.
 */
#include "serve/scoreboard.h"

#include <stddef.h>
#include <sys/mman.h>

static size_t size_of(int workers)
{
    return sizeof(struct scoreboard) + (size_t)workers * sizeof(struct scoreboard_slot);
}

struct scoreboard *scoreboard_new(int workers)
{
    struct scoreboard *scoreboard =
        mmap(NULL, size_of(workers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (scoreboard == MAP_FAILED)
        return NULL;
    scoreboard->count = workers;
    return scoreboard;
}

void scoreboard_free(struct scoreboard *scoreboard)
{
    munmap(scoreboard, size_of(scoreboard->count));
}

void scoreboard_clear(struct scoreboard *scoreboard, int worker)
{
    atomic_store_explicit(&scoreboard->slots[worker].serving, false, memory_order_relaxed);
    atomic_store_explicit(&scoreboard->slots[worker].connections, 0, memory_order_relaxed);
    atomic_store_explicit(&scoreboard->slots[worker].arriving, 0, memory_order_relaxed);
}

void scoreboard_sent(struct scoreboard *scoreboard, int worker)
{
    atomic_fetch_add_explicit(&scoreboard->slots[worker].arriving, 1, memory_order_relaxed);
}

/* What was sent to a worker that has ended was forgotten with it: the count does not go below zero. */
void scoreboard_received(struct scoreboard *scoreboard, int worker)
{
    _Atomic int *arriving = &scoreboard->slots[worker].arriving;
    int count = atomic_load_explicit(arriving, memory_order_relaxed);
    while (count > 0 && !atomic_compare_exchange_weak_explicit(arriving, &count, count - 1, memory_order_relaxed,
                                                               memory_order_relaxed))
        ;
}

static int connections_of(const struct scoreboard *scoreboard, int worker)
{
    const struct scoreboard_slot *slot = &scoreboard->slots[worker];
    return atomic_load_explicit(&slot->connections, memory_order_relaxed) +
           atomic_load_explicit(&slot->arriving, memory_order_relaxed);
}

int scoreboard_choose(const struct scoreboard *scoreboard, int self)
{
    int chosen = self, fewest = connections_of(scoreboard, self);
    for (int i = 0; i < scoreboard->count; i++) {
        int connections = connections_of(scoreboard, i);
        if (connections < fewest && atomic_load_explicit(&scoreboard->slots[i].serving, memory_order_relaxed)) {
            chosen = i;
            fewest = connections;
        }
    }
    /* Handing over costs two system calls: a small difference is not worth them. */
    int difference = connections_of(scoreboard, self) - fewest;
    return difference > 1 && difference > fewest / 8 ? chosen : self;
}
