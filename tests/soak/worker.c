/* worker.c: compares the workers with what they were at the start. */
#include "worker.h"

#include <stdbool.h>
#include <string.h>

#include "flow/deadline.h"
#include "flow/server.h"
#include "suite.h"

static const struct server *worker_server;
static struct process_children worker_pids;
static long worker_descriptors[PROCESS_CHILDREN_MAX], worker_threads[PROCESS_CHILDREN_MAX];

void worker_init(const struct server *server)
{
    worker_server = server;
    worker_pids = server_workers_without(server, 0);
    for (size_t i = 0; i < worker_pids.count; i++) {
        worker_descriptors[i] = process_descriptor_count(worker_pids.pids[i]);
        worker_threads[i] = process_thread_count(worker_pids.pids[i]);
    }
}

size_t worker_count(void)
{
    return worker_pids.count;
}

long worker_sum(long (*figure)(pid_t pid))
{
    long sum = 0;

    for (size_t i = 0; i < worker_pids.count; i++) {
        long one = figure(worker_pids.pids[i]);

        SUITE_CHECK(one >= 0, "worker %d has left, or its figures cannot be read", (int)worker_pids.pids[i]);
        sum += one;
    }
    return sum;
}

void worker_check_same(void)
{
    struct process_children now = server_workers(worker_server);

    SUITE_CHECK(memcmp(&now, &worker_pids, sizeof now) == 0,
                "other workers than at the start: %zu instead of %zu, the first %d instead of %d", now.count,
                worker_pids.count, (int)now.pids[0], (int)worker_pids.pids[0]);
}

void worker_check_threads(void)
{
    for (size_t i = 0; i < worker_pids.count; i++) {
        long threads = process_thread_count(worker_pids.pids[i]);

        SUITE_CHECK(threads == worker_threads[i], "worker %zu has %ld threads, %ld before", i, threads,
                    worker_threads[i]);
    }
}

static long worker_descriptors_before(void)
{
    long sum = 0;

    for (size_t i = 0; i < worker_pids.count; i++)
        sum += worker_descriptors[i];
    return sum;
}

static bool worker_descriptors_are(void *context)
{
    int connections = *(int *)context;

    if (worker_sum(process_descriptor_count) != worker_descriptors_before() + connections)
        return false;
    for (size_t i = 0; connections == 0 && i < worker_pids.count; i++) {
        if (process_descriptor_count(worker_pids.pids[i]) != worker_descriptors[i])
            return false;
    }
    return true;
}

void worker_check_descriptors(int connections)
{
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, worker_descriptors_are, &connections),
                "%ld descriptors with %d connections, %ld before without any", worker_sum(process_descriptor_count),
                connections, worker_descriptors_before());
}
