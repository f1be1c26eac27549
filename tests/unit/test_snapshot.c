/* test_snapshot.c: sums of scoreboards and ledger, also while counts go from the ones to the other. */
#include <CUnit/CUnit.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "control/rates.h"
#include "control/snapshot.h"
#include "suite.h"

enum { WORKERS = 2, SLOTS = 2 * WORKERS, LANES = 2, THREADS = 4 };

static const struct settings_route routes[] = {{.path = "/hello"}, {.path = "/echo"}};
static const struct settings_route later_routes[] = {{.path = "/zoo"}, {.path = "/added"}, {.path = "/hello"}};

static struct shared ledger_memory, board_memory, later_memory;
static struct ledger *ledger;
static const struct scoreboard *board, *later;
static struct snapshot_source source;

/* A server with more routes, whose counts take longer to move. */
static void make_wide_board(void)
{
    enum { ROUTES = 10 };
    static char paths[ROUTES][16];
    static struct settings_route many[ROUTES] = {{.path = "/hello"}};
    struct settings settings = {
        .workers = WORKERS, .lanes = LANES, .threads = THREADS, .routes = many, .route_count = ROUTES};

    for (int i = 1; i < ROUTES; i++) {
        snprintf(paths[i], sizeof paths[i], "/x%d", i);
        many[i].path = paths[i];
    }
    shared_fini(&board_memory);
    CU_ASSERT_EQUAL_FATAL(scoreboard_new(&board_memory, &settings, 4), 0);
    board = source.boards[0] = board_memory.at;
    source.board_count = 1;
}

static void start(void)
{
    struct settings settings = {.workers = WORKERS, .lanes = LANES, .threads = THREADS};

    shared_fini(&ledger_memory);
    shared_fini(&board_memory);
    shared_fini(&later_memory);
    CU_ASSERT_EQUAL_FATAL(ledger_new(&ledger_memory), 0);
    settings.routes = routes;
    settings.route_count = SUITE_COUNT(routes);
    CU_ASSERT_EQUAL_FATAL(scoreboard_new(&board_memory, &settings, 4), 0);
    settings.routes = later_routes;
    settings.route_count = SUITE_COUNT(later_routes);
    CU_ASSERT_EQUAL_FATAL(scoreboard_new(&later_memory, &settings, 5), 0);
    ledger = ledger_memory.at;
    board = board_memory.at;
    later = later_memory.at;
    source = (struct snapshot_source){
        .ledger = ledger, .master = 77, .generation = 5, .boards = {board, NULL, later}, .board_count = 3};
}

static void run_worker(const struct scoreboard *of, int slot, int number, int state)
{
    struct scoreboard_slot *to = scoreboard_slot(of, slot);

    to->number = number;
    to->pid = 1000 * of->generation + slot;
    to->started_us = clock_now_us();
    to->state = state;
}

static void count(const struct scoreboard *of, int slot, int route, int requests)
{
    struct scoreboard_counts *counts = scoreboard_counts(of, slot, slot % LANES, route);
    struct scoreboard_durations *durations = scoreboard_durations(of, slot, slot % LANES, route);

    for (int i = 0; i < requests; i++) {
        scoreboard_add_time(&durations->queue, i);
        scoreboard_add_time(&durations->handler, 1000);
        scoreboard_add(&counts->errors, 1);
        scoreboard_add(&counts->requests, 1);
    }
}

static struct snapshot take(void)
{
    struct snapshot snapshot;

    CU_ASSERT_EQUAL_FATAL(snapshot_take(&snapshot, &source), 0);
    return snapshot;
}

static uint64_t requests_of(const struct snapshot *snapshot, const char *path)
{
    for (int i = 0; i < snapshot->route_count; i++) {
        if (strcmp(snapshot->routes[i].path, path) == 0)
            return snapshot->routes[i].requests;
    }
    SUITE_FAIL("no route %s", path);
}

static void an_empty_server(void)
{
    struct snapshot snapshot;

    start();
    source.board_count = 0;
    snapshot = take();
    CU_ASSERT_EQUAL(snapshot.worker_count, 0);
    CU_ASSERT_EQUAL(snapshot.thread_count, 0);
    CU_ASSERT_EQUAL(snapshot.route_count, 1);
    CU_ASSERT_STRING_EQUAL(snapshot.routes[0].path, "");
    CU_ASSERT_EQUAL(snapshot.master, 77);
    CU_ASSERT_EQUAL(snapshot.generation, 5);
    snapshot_fini(&snapshot);
}

static void routes_are_merged_by_their_paths(void)
{
    static const char *const order[] = {"/added", "/echo", "/hello", "/zoo", ""};
    struct snapshot snapshot;

    start();
    run_worker(board, 0, 1, SCOREBOARD_DRAINING);
    run_worker(later, 0, 1, SCOREBOARD_SERVING);
    run_worker(later, 3, 2, SCOREBOARD_SERVING);
    count(board, 0, 0, 10); /* /hello */
    ledger_take(ledger, &board_memory, 0);
    run_worker(board, 0, 1, SCOREBOARD_DRAINING);
    count(board, 0, 0, 20);
    count(later, 0, 2, 300); /* /hello, in another place */
    count(later, 3, 2, 4000);
    count(later, 3, 3, 7); /* no route */
    count(later, 1, 0, 5); /* of no worker that runs */
    snapshot = take();
    CU_ASSERT_EQUAL_FATAL(snapshot.route_count, SUITE_COUNT(order));
    for (size_t i = 0; i < SUITE_COUNT(order); i++)
        CU_ASSERT_STRING_EQUAL(snapshot.routes[i].path, order[i]);
    CU_ASSERT_EQUAL(requests_of(&snapshot, "/hello"), 4330);
    CU_ASSERT_EQUAL(requests_of(&snapshot, "/zoo"), 0);
    CU_ASSERT_EQUAL(requests_of(&snapshot, ""), 7);
    CU_ASSERT_EQUAL(snapshot.routes[2].errors, 4330);
    CU_ASSERT_EQUAL(histogram_count(&snapshot.routes[2].queue), 4330);
    CU_ASSERT_EQUAL(snapshot.routes[2].handler.sum_us, 4330 * 1000);
    snapshot_fini(&snapshot);
}

static void add_to(const struct scoreboard *of, int slot, int route, bool counts, const char *name, int64_t more)
{
    struct app_figures figures = scoreboard_figures(of, slot, route);
    const char *why = "";

    app_figure_add(app_figure_new(&figures, counts, name, of == later ? "newer" : "older", &why), more);
}

static const struct app_figure *figure_of(const struct snapshot *snapshot, const char *path, const char *name)
{
    for (int i = 0; i < snapshot->route_count; i++) {
        const struct snapshot_route *route = &snapshot->routes[i];

        for (int j = 0; strcmp(route->path, path) == 0 && j < route->figure_count; j++) {
            if (strcmp(route->figures[j].is.name, name) == 0)
                return &route->figures[j].is;
        }
    }
    SUITE_FAIL("%s has no %s", path, name);
}

/* Over workers, generations and the ledger; where kinds differ the newer generation is right. */
static void figures_are_summed_by_route_and_name(void)
{
    struct snapshot snapshot;

    start();
    run_worker(board, 0, 1, SCOREBOARD_DRAINING);
    add_to(board, 0, 0, true, "made", 10);
    add_to(board, 0, 0, false, "open", 100);
    add_to(board, 0, 0, true, "was_counter", 5);
    ledger_take(ledger, &board_memory, 0);
    run_worker(board, 0, 1, SCOREBOARD_DRAINING);
    run_worker(later, 0, 1, SCOREBOARD_SERVING);
    run_worker(later, 3, 2, SCOREBOARD_SERVING);
    add_to(later, 0, 2, true, "made", 300); /* /hello, in another place */
    add_to(later, 3, 2, true, "made", 4000);
    add_to(later, 3, 2, false, "open", -1);
    add_to(later, 3, 2, false, "was_counter", 6);
    add_to(later, 0, 2, false, "was_counter", 70);
    add_to(later, 1, 2, true, "made", 1000000); /* of no worker that runs */
    add_to(board, 0, 0, true, "made", 20);
    add_to(board, 0, 0, false, "open", 3);
    add_to(board, 0, 0, true, "was_counter", 8);
    for (int turn = 0; turn < 2; turn++) { /* whichever is read first */
        source.boards[0] = turn == 0 ? board : later;
        source.boards[2] = turn == 0 ? later : board;
        snapshot = take();
        CU_ASSERT_EQUAL(snapshot.routes[2].figure_count, 3); /* /hello, by name */
        CU_ASSERT_STRING_EQUAL(snapshot.routes[2].figures[0].is.name, "made");
        CU_ASSERT_EQUAL(figure_of(&snapshot, "/hello", "made")->value, 4330);
        CU_ASSERT(figure_of(&snapshot, "/hello", "made")->counts);
        CU_ASSERT_STRING_EQUAL(figure_of(&snapshot, "/hello", "made")->help, "newer");
        CU_ASSERT_EQUAL(figure_of(&snapshot, "/hello", "open")->value, 2);
        CU_ASSERT_EQUAL(figure_of(&snapshot, "/hello", "was_counter")->value, 76);
        CU_ASSERT(!figure_of(&snapshot, "/hello", "was_counter")->counts);
        snapshot_fini(&snapshot);
    }
}

static void workers_have_an_order(void)
{
    struct snapshot snapshot;

    start();
    run_worker(board, 1, 2, SCOREBOARD_DRAINING);
    run_worker(board, 0, 1, SCOREBOARD_DRAINING);
    run_worker(later, 2, 1, SCOREBOARD_STARTING);
    run_worker(later, 1, 2, SCOREBOARD_SERVING);
    run_worker(later, 0, 1, SCOREBOARD_DRAINING);
    run_worker(later, 3, 9, 17); /* no state at all */
    scoreboard_slot(later, 0)->started_us -= CLOCK_SECOND;
    scoreboard_slot(later, 1)->connections = 5;
    scoreboard_lane(later, 1, 0)->idle = 1;
    scoreboard_lane(later, 1, 1)->idle = 2;
    scoreboard_lane(board, 1, 1)->queued = 4;
    count(later, 1, 0, 6);
    snapshot = take();
    CU_ASSERT_EQUAL_FATAL(snapshot.worker_count, 5);
    CU_ASSERT_EQUAL(snapshot.workers[0].pid, 5000); /* the older of number 1 */
    CU_ASSERT_EQUAL(snapshot.workers[1].pid, 5002);
    CU_ASSERT_EQUAL(snapshot.workers[2].pid, 5001);
    CU_ASSERT_EQUAL(snapshot.workers[3].pid, 4000);
    CU_ASSERT_EQUAL(snapshot.workers[4].pid, 4001);
    CU_ASSERT_EQUAL(snapshot.workers[2].state, SCOREBOARD_SERVING);
    CU_ASSERT_EQUAL(snapshot.workers[2].threads, THREADS);
    CU_ASSERT_EQUAL(snapshot.workers[2].connections, 5);
    CU_ASSERT_EQUAL(snapshot.workers[2].idle, 3);
    CU_ASSERT_EQUAL(snapshot.workers[2].requests, 6);
    CU_ASSERT(snapshot.workers[0].uptime_us >= CLOCK_SECOND && snapshot.workers[0].uptime_us < 10 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(snapshot.idle, 3);
    CU_ASSERT_EQUAL(snapshot.queued, 4);
    snapshot_fini(&snapshot);
}

static void threads_longest_first(void)
{
    int64_t now_us = clock_now_us();
    struct snapshot snapshot;

    start();
    run_worker(board, 1, 2, SCOREBOARD_DRAINING);
    run_worker(later, 0, 1, SCOREBOARD_SERVING);
    scoreboard_begin(scoreboard_thread(board, 1, 0), 0, 11, now_us - 3 * CLOCK_SECOND, "GET", "/hello?1");
    scoreboard_begin(scoreboard_thread(later, 0, THREADS), 3, 22, now_us - 5 * CLOCK_SECOND, "POST", "/a\xff");
    scoreboard_begin(scoreboard_thread(later, 0, 1), 99, 33, now_us + 60 * CLOCK_SECOND, "GET", "/no such route");
    scoreboard_begin(scoreboard_thread(later, 0, 2), 0, 44, now_us, "GET", "/has ended");
    scoreboard_end(scoreboard_thread(later, 0, 2));
    snapshot = take();
    CU_ASSERT_EQUAL_FATAL(snapshot.thread_count, 3);
    CU_ASSERT_EQUAL(snapshot.threads[0].request, 22);
    CU_ASSERT_EQUAL(snapshot.threads[0].number, THREADS + 1);
    CU_ASSERT_STRING_EQUAL(snapshot.threads[0].method, "POST");
    CU_ASSERT_STRING_EQUAL(snapshot.threads[0].uri, "/a\xff");
    CU_ASSERT_STRING_EQUAL(snapshot.threads[0].route, "");
    CU_ASSERT_EQUAL(snapshot.workers[snapshot.threads[0].worker].pid, 5000);
    CU_ASSERT_EQUAL(snapshot.threads[1].request, 11);
    CU_ASSERT_STRING_EQUAL(snapshot.threads[1].route, "/hello");
    CU_ASSERT_EQUAL(snapshot.workers[snapshot.threads[1].worker].pid, 4001);
    CU_ASSERT(snapshot.threads[1].elapsed_us >= 3 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(snapshot.threads[2].elapsed_us, 0);
    CU_ASSERT_EQUAL(snapshot.workers[snapshot.threads[0].worker].threads_busy, 2);
    snapshot_fini(&snapshot);
}

/* -- While counts move ----------------------------------------------------------------------------------------------
 */

/* A master that has workers end all the time: each serves ten requests, then its counts go to the ledger. Another
 * process, as in life. */
static pid_t fork_taker(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (int slot = 0;; slot = !slot) {
        run_worker(board, slot, slot % WORKERS + 1, SCOREBOARD_SERVING);
        count(board, slot, 0, 10);
        ledger_take(ledger, &board_memory, slot);
        usleep(5000); /* longer than a look takes */
    }
}

/* Counts are never lost and never there twice, so what is seen never falls, and all of a request is seen. */
static void no_sum_is_wrong_meanwhile(void)
{
    int64_t end_us = clock_now_us() + CLOCK_SECOND;
    uint64_t before = 0, first = 0;
    int looks = 0;
    pid_t taker;

    start();
    make_wide_board();
    taker = fork_taker();
    CU_ASSERT_FATAL(taker > 0);
    for (; clock_now_us() < end_us; looks++) {
        uint32_t version = ledger->version;
        struct snapshot snapshot = take();
        uint64_t now = requests_of(&snapshot, "/hello");
        const struct snapshot_route *hello = &snapshot.routes[0];

        if (version % 2 != 0 && version == ledger->version) { /* the other process was held up for all this time */
            snapshot_fini(&snapshot);
            continue;
        }
        SUITE_CHECK(now >= before, "%" PRIu64 " requests, %" PRIu64 " before", now, before);
        SUITE_CHECK(hello->errors <= now + 10 && hello->errors + 10 >= now, "%" PRIu64 " errors of %" PRIu64,
                    hello->errors, now);
        SUITE_CHECK(histogram_count(&hello->queue) + 10 * 2 >= now, "%" PRIu64 " times of %" PRIu64,
                    histogram_count(&hello->queue), now);
        first = first != 0 ? first : now;
        before = now;
        snapshot_fini(&snapshot);
    }
    kill(taker, SIGKILL);
    waitpid(taker, NULL, 0);
    SUITE_CHECK(looks >= 20 && before > first, "%d looks, from %" PRIu64 " to %" PRIu64, looks, first, before);
}

/* A master that was killed while it moved sums must not keep anybody from looking, and not for long. */
static void a_master_that_never_finishes(void)
{
    int64_t start_us = clock_now_us();
    struct snapshot snapshot;

    start();
    ledger->version++;
    snapshot = take();
    SUITE_CHECK(clock_now_us() - start_us < CLOCK_SECOND, "it took %" PRId64 " µs", clock_now_us() - start_us);
    snapshot_fini(&snapshot);
}

/* -- Rates ----------------------------------------------------------------------------------------------------------
 */

static double rate_after(int64_t passed_us, uint64_t requests)
{
    static struct snapshot_route route = {.path = "/hello"};
    static int64_t now_us = 1000 * CLOCK_SECOND;
    struct snapshot snapshot = {.routes = &route, .route_count = 1};
    double rate;

    now_us += passed_us;
    route.requests += requests;
    snapshot.taken_us = now_us;
    rate = rates_of(&snapshot, &route);
    rates_add(&snapshot);
    return rate;
}

static void rates_come_from_earlier_looks(void)
{
    CU_ASSERT(rate_after(0, 100) < 0);
    CU_ASSERT(rate_after(10 * CLOCK_MS, 5) < 0); /* too early to tell */
    CU_ASSERT_DOUBLE_EQUAL(rate_after(1990 * CLOCK_MS, 95), 50, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(rate_after(2 * CLOCK_SECOND, 0), 0, 0.01);
    CU_ASSERT(rate_after(11 * CLOCK_SECOND, 10) < 0); /* nobody has looked for too long */
    for (int i = 0; i < 200; i++)                     /* many may look at once */
        rate_after(20 * CLOCK_MS, 1);
    CU_ASSERT_DOUBLE_EQUAL(rate_after(20 * CLOCK_MS, 1), 50, 1);
}

static const struct suite_case cases[] = {
    {"an empty server", an_empty_server},
    {"routes are merged by their paths", routes_are_merged_by_their_paths},
    {"figures are summed by route and name", figures_are_summed_by_route_and_name},
    {"workers have an order", workers_have_an_order},
    {"threads, longest first", threads_longest_first},
    {"no sum is wrong meanwhile", no_sum_is_wrong_meanwhile},
    {"a master that never finishes", a_master_that_never_finishes},
    {"rates come from earlier looks", rates_come_from_earlier_looks},
};

int main(int argc, char **argv)
{
    return suite_main("snapshot", cases, SUITE_COUNT(cases), argc, argv);
}
