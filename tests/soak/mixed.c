/*
 * mixed.c: a soak test: a long seeded mix of good, odd and broken requests against the real server, each answer
 * checked; afterwards memory, descriptors, processes and threads must be where they were. Loopback only; ends by
 * itself.
 *
 *     mixed [REQUESTS [SEED]]     (1000000 requests, seed 1)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "chance.h"
#include "flow/blocked.h"
#include "flow/deadline.h"
#include "flow/server.h"
#include "kind.h"
#include "line.h"
#include "memory.h"
#include "suite.h"
#include "worker.h"

enum { MIXED_GROWTH_REQUESTS = 1000000 }; /* over fewer the first requests' memory weighs too much */

static long mixed_wanted = 1000000;
static uint64_t mixed_seed = 1;
static const struct server *mixed_server;
static int64_t mixed_start_ms;
static bool mixed_finished;

/* The same state each time: all answers read, all connections open and idle, the closed ones gone in the server too. */
static void take_sample(int number)
{
    line_open_all();
    worker_check_descriptors(LINE_COUNT);
    memory_sample(number, line_request_count());
}

static void start(void)
{
    chance_init(mixed_seed);
    mixed_server = server_start(NULL);
    worker_init(mixed_server);
    good_learn(mixed_server->local);
    line_init(mixed_server, mixed_seed);
    mixed_start_ms = deadline_now_ms();
    take_sample(0);
}

static void show_progress(int percent)
{
    int64_t took_ms = deadline_now_ms() - mixed_start_ms;

    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%3d %%, %ld requests, %" PRId64 " a second%s", percent, line_request_count(),
                line_request_count() * 1000 / (took_ms + 1), percent == 100 ? "\n" : "");
}

static void mixed_requests(void)
{
    start();
    for (int i = 1; i <= MEMORY_SAMPLES; i++) {
        line_run(mixed_wanted / MEMORY_SAMPLES * i + mixed_wanted % MEMORY_SAMPLES * i / MEMORY_SAMPLES);
        take_sample(i);
        worker_check_same();
        show_progress(i * 100 / MEMORY_SAMPLES);
    }
    mixed_finished = true;
}

static void need_finished(void)
{
    if (!mixed_finished)
        suite_skip("the requests did not get through");
}

static void memory_does_not_grow(void)
{
    struct memory_growth growth;

    need_finished();
    memory_print();
    if (mixed_wanted < MIXED_GROWTH_REQUESTS || SERVER_SANITIZED)
        suite_skip("judged over 1000000 requests and more, without a sanitizer");
    growth = memory_growth();
    SUITE_CHECK(growth.upper_bound < 1, "%.3f MiB per million requests, and up to %.3f", growth.slope,
                growth.upper_bound);
}

static void same_workers_and_threads(void)
{
    need_finished();
    worker_check_same();
    worker_check_threads();
}

static void no_descriptor_is_left(void)
{
    need_finished();
    line_close_all();
    worker_check_descriptors(0);
}

static void no_thread_is_lost(void)
{
    need_finished();
    line_close_all();
    blocked_check(mixed_server);
    worker_check_same();
}

static const struct suite_case cases[] = {
    {"every answer is right, every broken connection ends", mixed_requests},
    {"private memory does not grow", memory_does_not_grow},
    {"the same workers with as many threads", same_workers_and_threads},
    {"no descriptor is left", no_descriptor_is_left},
    {"no thread is lost", no_thread_is_lost},
};

/* What the failed batch consisted of, and what the server said at last. */
static void print_failure(void)
{
    char command[SERVER_PATH_MAX + 64];

    line_print_last();
    fflush(stdout);
    snprintf(command, sizeof command, "tail -n 5 '%s/log' | sed 's/^/# log: /'", mixed_server->directory);
    if (system(command) != 0)
        printf("# the server's log cannot be read\n");
}

static void print_result(void)
{
    int64_t took_ms = deadline_now_ms() - mixed_start_ms;

    if (!mixed_finished && mixed_server)
        print_failure();
    printf("# seed %" PRIu64 ": %ld requests in %" PRIu64 " batches, %.1f s with the cases behind them\n", mixed_seed,
           line_request_count(), line_batch_count(), (double)took_ms / 1000);
    kind_print_counts();
}

int main(int argc, char **argv)
{
    int failures;

    if (argc > 1)
        mixed_wanted = strtol(argv[1], NULL, 10);
    if (argc > 2)
        mixed_seed = strtoull(argv[2], NULL, 10);
    if (argc > 3 || mixed_wanted <= 0) {
        fprintf(stderr, "usage: mixed [REQUESTS [SEED]]\n");
        return 2;
    }
    printf("# %ld requests, seed %" PRIu64 "\n", mixed_wanted, mixed_seed);
    failures = suite_main("soak", cases, SUITE_COUNT(cases), 1, argv);
    print_result();
    return failures;
}
