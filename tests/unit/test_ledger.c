/* test_ledger.c: counts go from scoreboards to the ledger and into snapshots, none twice and none lost; crashed
 * requests. */
#include <CUnit/CUnit.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "control/snapshot.h"
#include "serve/ledger.h"
#include "suite.h"

static const struct settings_route routes[] = {{.path = "/b"}, {.path = "/a"}};
static const struct settings settings = {
    .workers = 2, .lanes = 2, .threads = 4, .routes = routes, .route_count = COUNT_OF(routes)};

static struct shared ledger, board;
static struct snapshot_source source;

static void set_up(void)
{
    shared_fini(&board);
    shared_fini(&ledger);
    CU_ASSERT_EQUAL_FATAL(ledger_new(&ledger), 0);
    CU_ASSERT_EQUAL_FATAL(scoreboard_new(&board, &settings, 7), 0);
    source = (struct snapshot_source){
        .ledger = ledger.at, .master = 1, .generation = 7, .boards = {board.at}, .board_count = 1};
}

static void count(int slot, int lane, int route, int requests)
{
    struct scoreboard_counts *counts = scoreboard_counts(board.at, slot, lane, route);
    atomic_store(&scoreboard_slot(board.at, slot)->state, SCOREBOARD_SERVING);
    for (int i = 0; i < requests; i++) {
        scoreboard_add(&counts->requests, 1);
        scoreboard_add_time(&counts->handler, 100);
    }
}

static uint64_t requests_of(const char *path)
{
    struct snapshot snapshot;
    uint64_t requests = UINT64_MAX;
    CU_ASSERT_EQUAL_FATAL(snapshot_take(&snapshot, &source), 0);
    for (int i = 0; i < snapshot.route_count; i++) {
        if (strcmp(snapshot.routes[i].path, path) != 0)
            continue;
        requests = snapshot.routes[i].requests;
        CU_ASSERT_EQUAL(histogram_count(&snapshot.routes[i].handler), requests);
        CU_ASSERT_EQUAL(snapshot.routes[i].handler.sum_us, requests * 100);
    }
    snapshot_fini(&snapshot);
    return requests;
}

static void counts_outlive_workers(void)
{
    set_up();
    count(0, 0, 0, 5);
    count(0, 1, 0, 6);
    count(3, 1, 1, 7);
    count(3, 0, 2, 8); /* no route */
    CU_ASSERT_EQUAL(requests_of("/b"), 11);
    ledger_take(ledger.at, &board, 0);
    CU_ASSERT_EQUAL(requests_of("/b"), 11);
    CU_ASSERT_EQUAL(atomic_load(&scoreboard_slot(board.at, 0)->state), SCOREBOARD_NONE);
    count(0, 0, 0, 1); /* another worker in its place */
    CU_ASSERT_EQUAL(requests_of("/b"), 12);
    ledger_take(ledger.at, &board, 0);
    ledger_take(ledger.at, &board, 0); /* of nothing */
    ledger_take(ledger.at, &board, 3);
    CU_ASSERT_EQUAL(requests_of("/b"), 12);
    CU_ASSERT_EQUAL(requests_of("/a"), 7);
    CU_ASSERT_EQUAL(requests_of(""), 8);
}

/* One process takes again and again while another looks: whatever it sees is the whole. */
static void no_reader_sees_half(void)
{
    enum { ROUNDS = 3000, STEP = 10 };
    set_up();
    pid_t taker = fork();
    if (taker == 0) {
        for (int i = 0; i < ROUNDS; i++) {
            count(1, 0, 0, STEP);
            ledger_take(ledger.at, &board, 1);
        }
        _exit(0);
    }
    uint64_t last = 0;
    while (last < (uint64_t)ROUNDS * STEP) {
        struct snapshot snapshot;
        CU_ASSERT_EQUAL_FATAL(snapshot_take(&snapshot, &source), 0);
        uint64_t seen = 0;
        for (int i = 0; i < snapshot.route_count; i++)
            seen += snapshot.routes[i].requests;
        snapshot_fini(&snapshot);
        SUITE_CHECK(seen >= last, "%llu after %llu", (unsigned long long)seen, (unsigned long long)last);
        last = seen;
    }
    CU_ASSERT_EQUAL(waitpid(taker, NULL, 0), taker);
    CU_ASSERT_EQUAL(last, ROUNDS * STEP);
}

static void threads_are_seen(void)
{
    struct snapshot snapshot;
    set_up();
    int64_t now_us = clock_now_us();
    count(2, 0, 0, 1);
    scoreboard_begin(scoreboard_thread(board.at, 2, 4), 1, 77, now_us - 5000, "POST", "/a?x");
    scoreboard_begin(scoreboard_thread(board.at, 2, 0), 0, 78, now_us - 9000, "GET", "/b");
    CU_ASSERT_EQUAL_FATAL(snapshot_take(&snapshot, &source), 0);
    CU_ASSERT_EQUAL_FATAL(snapshot.thread_count, 2);
    CU_ASSERT_STRING_EQUAL(snapshot.threads[0].route, "/b"); /* the longest first */
    CU_ASSERT_STRING_EQUAL(snapshot.threads[1].uri, "/a?x");
    CU_ASSERT_EQUAL(snapshot.threads[1].number, 5);
    CU_ASSERT_EQUAL(snapshot.threads[1].request, 77);
    CU_ASSERT(snapshot.threads[1].elapsed_us >= 5000);
    CU_ASSERT_EQUAL(snapshot.workers[0].threads_busy, 2);
    snapshot_fini(&snapshot);
    scoreboard_end(scoreboard_thread(board.at, 2, 4));
    CU_ASSERT_EQUAL_FATAL(snapshot_take(&snapshot, &source), 0);
    CU_ASSERT_EQUAL(snapshot.thread_count, 1);
    snapshot_fini(&snapshot);
}

/* A ledger that another program has made: taken when it is of the same layout, refused when not. */
static void ledgers_are_handed_on(void)
{
    struct shared other;
    set_up();
    count(0, 0, 0, 3);
    ledger_take(ledger.at, &board, 0);
    CU_ASSERT_EQUAL_FATAL(ledger_adopt(&other, dup(ledger.fd)), 0);
    CU_ASSERT_EQUAL(((struct ledger *)other.at)->routes[1].requests, 3);
    ((struct ledger *)other.at)->layout++;
    shared_fini(&other);
    CU_ASSERT_EQUAL(ledger_adopt(&other, dup(ledger.fd)), -1);
    CU_ASSERT_EQUAL(ledger_adopt(&other, dup(board.fd)), -1);
}

static void crashes_are_remembered_for_a_while(void)
{
    char uri[] = "REQUEST_URI=/x", port[] = "REMOTE_PORT=1", port_2[] = "REMOTE_PORT=2",
         both[] = "REQUEST_URI=/xREMOTE_PORT=1";
    char *one[] = {uri, port, NULL}, *other[] = {uri, port_2, NULL}, *joined[] = {both, NULL};
    uint64_t print = ledger_fingerprint(one);
    set_up();
    struct ledger *of = ledger.at;
    CU_ASSERT(print != ledger_fingerprint(other) && print != ledger_fingerprint(joined) && print != 0);
    CU_ASSERT(!ledger_has_crashes(of, 1000));
    ledger_add_crash(of, print, 1000);
    CU_ASSERT(ledger_has_crashes(of, 1500) && ledger_knows_crash(of, print, 1500));
    CU_ASSERT(!ledger_knows_crash(of, ledger_fingerprint(other), 1500));
    CU_ASSERT(!ledger_has_crashes(of, 1000 + 3 * CLOCK_SECOND) &&
              !ledger_knows_crash(of, print, 1000 + 3 * CLOCK_SECOND));
    for (int i = 0; i < LEDGER_CRASHES - 1; i++)
        ledger_add_crash(of, (uint64_t)i + 100, 2000);
    CU_ASSERT(ledger_knows_crash(of, print, 2500));
    ledger_add_crash(of, 999, 2000);
    CU_ASSERT(!ledger_knows_crash(of, print, 2500)); /* the oldest makes room */
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"counts outlive workers", counts_outlive_workers},
        {"no reader sees half", no_reader_sees_half},
        {"threads are seen", threads_are_seen},
        {"ledgers are handed on", ledgers_are_handed_on},
        {"crashes are remembered for a while", crashes_are_remembered_for_a_while},
    };
    return suite_main("ledger", cases, COUNT_OF(cases), argc, argv);
}
