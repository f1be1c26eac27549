/*
 * test_database_tokens.c: many requests with tokens of their own, one in ten failing, some given up midway so that
 * their queries are cancelled, first while workers are reloaded and backends terminated, then undisturbed: each answer
 * is its own request's, each row is written once, and the workers' memory and descriptors stay what they were. Cases
 * C63, C66, C68. MILLRACE_TEST_REQUESTS says how many (20,000); memory is judged over 1,000,000 and more (`make
 * soak-database`).
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "database/crowd.h"
#include "database/postgres.h"
#include "deadline.h"
#include "direct.h"
#include "server.h"
#include "soak/memory.h"
#include "soak/worker.h"
#include "suite.h"

enum {
    DISTURBED_PERCENT = 20,
    RELOADS = 6,
    WARM_REQUESTS = 1000,      /* each lane has its connections then */
    GROWTH_REQUESTS = 1000000, /* over fewer the first requests' memory weighs too much */
    SETTLED_MS = 200,
};

static long wanted, descriptors;
static uint64_t seed;
static struct server *server;
static bool was_disturbed, has_finished;
static int64_t start_ms;

static void read_options(void)
{
    const char *count = getenv("MILLRACE_TEST_REQUESTS"), *number = getenv("MILLRACE_TEST_SEED");

    wanted = count ? strtol(count, NULL, 10) : 20000;
    seed = number ? strtoull(number, NULL, 10) : (uint64_t)time(NULL);
    SUITE_CHECK(wanted >= 10000, "MILLRACE_TEST_REQUESTS must be 10000 at least");
}

static void start(void)
{
    char options[600];

    read_options();
    postgres_start();
    postgres_do("CREATE TABLE entry (token text, slot int UNIQUE)");
    postgres_do("INSERT INTO entry VALUES ('taken', 0)");
    postgres_do("ALTER TABLE entry OWNER TO millrace");
    snprintf(
        options, sizeof options,
        "app \"/pg_queries\" {\n file = \"%s\"\n options {\n conninfo = \"host=%s dbname=millrace user=millrace\"\n "
        "query_timeout_ms = 10000\n }\n}\n",
        server_app("pg_queries"), postgres_folder());
    server = direct_start(options);
    start_ms = deadline_now_ms();
    crowd_init(direct_address(), wanted, seed);
}

static void *terminate_backends(void *argument)
{
    return postgres_try_terminate() ? argument : NULL;
}

/* The server takes up the signal while requests run, and then every backend is ended while they do. */
static void reload_amid_requests(long until)
{
    pthread_t thread;
    void *done;

    kill(server->pid, SIGHUP);
    crowd_run((crowd_counts().sent + until) / 2, true);
    SUITE_CHECK(pthread_create(&thread, NULL, terminate_backends, server) == 0, "no thread");
    crowd_run(until, true);
    pthread_join(thread, &done);
    SUITE_CHECK(done, "no backend could be ended");
}

static void answers_amid_reloads(void)
{
    start();
    for (int i = 1; i <= RELOADS; i++)
        reload_amid_requests(wanted * DISTURBED_PERCENT / 100 * i / RELOADS);
    server_signal_outcome(server, SIGHUP);
    server_workers_without(server, 0);
    SUITE_CHECK(crowd_counts().away * 5 <= crowd_counts().sent, "%ld of %ld answers are 503", crowd_counts().away,
                crowd_counts().sent);
    was_disturbed = true;
}

/* Connections to PostgreSQL come and go with the load: they are left out. */
static long count_descriptors(void)
{
    return worker_sum(process_socket_count) - postgres_session_count();
}

static void note_descriptors(void)
{
    int64_t since_ms = deadline_now_ms();

    crowd_close_all();
    for (descriptors = count_descriptors(); deadline_now_ms() - since_ms < SETTLED_MS; poll(NULL, 0, 10)) {
        if (count_descriptors() != descriptors)
            since_ms = deadline_now_ms();
        descriptors = count_descriptors();
    }
}

/* Fewer are no leak: cancels and lost connections of the disturbed part may end late. */
static bool descriptors_are_as_noted(void *context)
{
    (void)context;
    return count_descriptors() <= descriptors;
}

static void answers_undisturbed(void)
{
    long from;

    if (!was_disturbed)
        suite_skip("the requests before did not get through");
    crowd_close_all();
    server_workers_without(server, 0); /* those of the last reload alone */
    worker_init(server);
    crowd_run(from = crowd_counts().sent + WARM_REQUESTS, false);
    note_descriptors();
    crowd_open_all();
    for (int i = 0; i <= MEMORY_SAMPLES; i++) {
        crowd_run(from + (wanted - from) / MEMORY_SAMPLES * i, false);
        memory_sample(i, crowd_counts().sent);
    }
    worker_check_same();
    has_finished = true;
}

static void need_finished(void)
{
    if (!has_finished)
        suite_skip("the requests did not get through");
}

static void each_row_once(void)
{
    need_finished();
    crowd_check_entries();
}

static void memory_does_not_grow(void)
{
    struct memory_growth growth;

    need_finished();
    memory_print();
    if (wanted < GROWTH_REQUESTS || SERVER_SANITIZED)
        suite_skip("judged over 1000000 requests and more, without a sanitizer");
    growth = memory_growth();
    SUITE_CHECK(growth.upper_bound < 1, "%.3f MiB per million requests, and up to %.3f", growth.slope,
                growth.upper_bound);
}

static void no_descriptor_is_left(void)
{
    need_finished();
    crowd_close_all();
    SUITE_CHECK(deadline_wait(DEADLINE_USUAL_MS, descriptors_are_as_noted, NULL), "%ld descriptors, %ld before",
                count_descriptors(), descriptors);
    worker_check_same();
    worker_check_threads();
}

static const struct suite_case cases[] = {
    {"answers amid reloads and lost connections", answers_amid_reloads},
    {"answers undisturbed", answers_undisturbed},
    {"each row is written once", each_row_once},
    {"private memory does not grow", memory_does_not_grow},
    {"no descriptor and no thread is left", no_descriptor_is_left},
};

int main(int argc, char **argv)
{
    int failures = suite_main("database_tokens", cases, SUITE_COUNT(cases), argc, argv);

    crowd_print();
    printf("# seed %llu, %.1f s\n", (unsigned long long)seed, (double)(deadline_now_ms() - start_ms) / 1000);
    return failures;
}
