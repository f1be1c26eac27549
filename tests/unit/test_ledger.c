/* test_ledger.c: counts that go from a worker's slot to the ledger, and requests that have crashed a worker. */
#include <CUnit/CUnit.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/ledger.h"
#include "suite.h"

static const struct settings_route routes[] = {{.path = "/hello"}, {.path = "/echo"}};
static const struct settings settings = {
    .workers = 2, .lanes = 2, .threads = 4, .routes = routes, .route_count = SUITE_COUNT(routes)};

static struct shared ledger_memory, board_memory;
static struct ledger *ledger;
static const struct scoreboard *board;

static void start(void)
{
    shared_fini(&ledger_memory);
    shared_fini(&board_memory);
    CU_ASSERT_FATAL(ledger_new(&ledger_memory) == 0 && scoreboard_new(&board_memory, &settings, 1) == 0);
    ledger = ledger_memory.at;
    board = board_memory.at;
}

/* The counts of `requests` requests, every third of them an error, with times from 1 µs on. */
static void count(int slot, int lane, int route, int requests)
{
    struct scoreboard_counts *counts = scoreboard_counts(board, slot, lane, route);
    struct scoreboard_durations *durations = scoreboard_durations(board, slot, lane, route);

    for (int i = 0; i < requests; i++) {
        scoreboard_add(&counts->requests, 1);
        scoreboard_add(&counts->errors, i % 3 == 0);
        scoreboard_add(&counts->refused, i % 6 == 0);
        scoreboard_add_time(&durations->queue, i);
        scoreboard_add_time(&durations->handler, 2 * i);
    }
}

static const struct ledger_route *find(const char *path)
{
    for (int i = 0; i < ledger->route_count; i++) {
        if (strcmp(ledger->routes[i].path, path) == 0)
            return &ledger->routes[i];
    }
    SUITE_FAIL("the ledger has no %s", path);
}

static void what_is_taken_is_there_once(void)
{
    const struct ledger_route *hello;

    start();
    count(0, 0, 0, 30);
    count(0, 1, 0, 60);
    count(1, 0, 0, 1000); /* another worker's */
    count(0, 1, 1, 6);
    count(0, 0, 2, 3); /* no route */
    ledger_take(ledger, &board_memory, 0);
    hello = find("/hello");
    CU_ASSERT_EQUAL(hello->requests, 90);
    CU_ASSERT_EQUAL(hello->errors, 30);
    CU_ASSERT_EQUAL(hello->refused, 15);
    CU_ASSERT_EQUAL(histogram_count(&hello->queue), 90);
    CU_ASSERT_EQUAL(hello->queue.sum_us, 29 * 30 / 2 + 59 * 60 / 2);
    CU_ASSERT_EQUAL(hello->handler.sum_us, 2 * hello->queue.sum_us);
    CU_ASSERT_EQUAL(find("/echo")->requests, 6);
    CU_ASSERT_EQUAL(find("")->requests, 3);
    CU_ASSERT_PTR_EQUAL(find(""), &ledger->routes[0]);
    CU_ASSERT_EQUAL(scoreboard_counts(board, 0, 0, 0)->requests, 0);
    CU_ASSERT_EQUAL(scoreboard_counts(board, 1, 0, 0)->requests, 1000);
    ledger_take(ledger, &board_memory, 0); /* there is nothing left */
    CU_ASSERT_EQUAL(hello->requests, 90);
    ledger_take(ledger, &board_memory, 1);
    CU_ASSERT_EQUAL(hello->requests, 1090);
    CU_ASSERT_EQUAL(ledger->version % 2, 0);
}

/* A route keeps its sums when another generation has other routes, or the same in another order. */
static void routes_outlive_generations(void)
{
    static const struct settings_route others[] = {{.path = "/new"}, {.path = "/hello"}};
    struct settings next = settings;
    struct shared memory;

    start();
    next.routes = others;
    CU_ASSERT_EQUAL_FATAL(scoreboard_new(&memory, &next, 2), 0);
    count(0, 0, 0, 5);
    ledger_take(ledger, &board_memory, 0);
    board = memory.at;
    count(0, 0, 0, 7);
    count(0, 0, 1, 9);
    ledger_take(ledger, &memory, 0);
    CU_ASSERT_EQUAL(find("/hello")->requests, 14);
    CU_ASSERT_EQUAL(find("/new")->requests, 7);
    CU_ASSERT_EQUAL(ledger->route_count,
                    3); /* with that of requests without; none for a route that was never asked for */
    shared_fini(&memory);
}

/* -- Figures of applications ----------------------------------------------------------------------------------------
 */

/* The figure of a route in a worker, made when it is not there. */
static struct mr_figure *figure(int slot, int route, bool counts, const char *name)
{
    struct app_figures figures = scoreboard_figures(board, slot, route);
    const char *why = "";
    struct mr_figure *made = app_figure_new(&figures, counts, name, "What it is", &why);

    SUITE_CHECK(made, "%s: %s", name, why);
    return made;
}

static const struct app_figure *find_figure(const char *path, const char *name)
{
    const struct ledger_route *route = find(path);

    for (int i = 0; i < route->figure_count; i++) {
        if (strcmp(route->figures[i].name, name) == 0)
            return &route->figures[i];
    }
    return NULL;
}

static int64_t kept(const char *path, const char *name)
{
    const struct app_figure *found = find_figure(path, name);

    return found ? found->value : -1;
}

static void counters_are_kept_and_gauges_are_not(void)
{
    start();
    app_figure_add(figure(0, 0, true, "made"), 5);
    app_figure_add(figure(0, 0, false, "open"), 7);
    app_figure_add(figure(0, 1, true, "made"), 100);
    app_figure_add(figure(1, 0, true, "made"), 1000);
    figure(0, 0, true, "never");
    ledger_take(ledger, &board_memory, 0);
    CU_ASSERT_EQUAL(kept("/hello", "made"), 5);
    CU_ASSERT_EQUAL(kept("/echo", "made"), 100);
    CU_ASSERT_EQUAL(find("/hello")->figure_count, 1);
    CU_ASSERT_STRING_EQUAL(find_figure("/hello", "made")->help, "What it is");
    CU_ASSERT_EQUAL(figure(0, 0, true, "made")->value, 0);
    ledger_take(ledger, &board_memory, 0);
    ledger_take(ledger, &board_memory, 1);
    CU_ASSERT_EQUAL(kept("/hello", "made"), 1005);
}

/* An application that renames its counters at each reload: those it has now have room. */
static void counters_that_were_given_up_make_way(void)
{
    char name[APP_FIGURE_NAME_BYTES];

    start();
    for (int generation = 0; generation < 5; generation++) {
        for (int i = 0; i < APP_FIGURES_MAX; i++) {
            snprintf(name, sizeof name, "c%d_%d", i == 3 ? 0 : generation, i);
            app_figure_add(figure(0, 0, true, name), 1 + generation);
        }
        ledger_take(ledger, &board_memory, 0);
        CU_ASSERT_EQUAL(find("/hello")->figure_count, APP_FIGURES_MAX);
        for (int i = 0; i < APP_FIGURES_MAX; i++) {
            snprintf(name, sizeof name, "c%d_%d", i == 3 ? 0 : generation, i);
            SUITE_CHECK(kept("/hello", name) == (i == 3 ? (generation + 1) * (generation + 2) / 2 : 1 + generation),
                        "%s: %d", name, (int)kept("/hello", name));
        }
    }
}

/* A worker that has written anywhere harms nobody but itself. */
static void spoilt_figures_are_left_out(void)
{
    struct app_figures figures;

    start();
    app_figure_add(figure(0, 0, true, "good"), 5);
    strcpy(figure(0, 0, true, "spoilt")->name, "x\"\n");
    figure(0, 1, true, "great")->value = INT64_MAX;
    figure(0, 1, true, "less")->value = INT64_MIN;
    figures = scoreboard_figures(board, 0, 0);
    *figures.count = 1000000;
    for (int i = 0; i < 2; i++)
        ledger_take(ledger, &board_memory, 0);
    CU_ASSERT_EQUAL(kept("/hello", "good"), 5);
    CU_ASSERT_EQUAL(find("/hello")->figure_count, 1);
    CU_ASSERT_EQUAL(kept("/echo", "great"), INT64_MAX);
    CU_ASSERT_PTR_NULL(find_figure("/echo", "less"));
}

static void figures_have_names_and_room(void)
{
    static const char *const bad[] = {"",    "Upper",   "a-b",       "a b",    "\xc3\xa4",
                                      "a\n", "x_total", "x_created", "_total", "x2345678901234567890123456789012"};
    static const char *const good[] = {"a", "9", "_", "total", "x_totals", "x234567890123456789012345678901"};
    struct app_figures figures;
    const char *why;

    start();
    figures = scoreboard_figures(board, 0, 0);
    for (size_t i = 0; i < SUITE_COUNT(bad); i++)
        SUITE_CHECK(!app_figure_new(&figures, true, bad[i], "", &why), "'%s' is a name", bad[i]);
    CU_ASSERT_PTR_NULL(app_figure_new(&figures, true, NULL, "", &why));
    for (size_t i = 0; i < SUITE_COUNT(good); i++)
        SUITE_CHECK(app_figure_new(&figures, true, good[i], NULL, &why), "'%s': %s", good[i], why);
    CU_ASSERT_PTR_EQUAL(app_figure_new(&figures, true, "a", "", &why), &figures.all[0]);
    CU_ASSERT_PTR_NULL(app_figure_new(&figures, false, "a", "", &why));
    for (int i = SUITE_COUNT(good); i < APP_FIGURES_MAX; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%d", i);
        CU_ASSERT_PTR_NOT_NULL(app_figure_new(&figures, false, name, "", &why));
    }
    CU_ASSERT_PTR_NULL(app_figure_new(&figures, false, "one_more", "", &why));
    CU_ASSERT_PTR_EQUAL(app_figure_new(&figures, true, "a", "", &why), &figures.all[0]);
    CU_ASSERT_PTR_NULL(app_figure_new(&(struct app_figures){0}, true, "a", "", &why));
    CU_ASSERT_EQUAL(*scoreboard_figures(board, 0, 1).count, 0);
}

/* A counter never falls; what is added to none is nothing. */
static void figures_are_added_to(void)
{
    struct mr_figure *counter, *gauge;

    start();
    counter = figure(0, 0, true, "counter");
    gauge = figure(0, 0, false, "gauge");
    app_figure_add(counter, 3);
    app_figure_add(counter, -2);
    app_figure_add(gauge, 3);
    app_figure_add(gauge, -5);
    app_figure_add(NULL, 1);
    CU_ASSERT_EQUAL(counter->value, 3);
    CU_ASSERT_EQUAL(gauge->value, -2);
}

static void help_is_cut_between_characters(void)
{
    char help[APP_FIGURE_HELP_BYTES + 20];
    struct app_figures figures;
    const char *why;

    start();
    figures = scoreboard_figures(board, 0, 0);
    memset(help, 'x', sizeof help);
    help[sizeof help - 1] = '\0';
    memcpy(help + APP_FIGURE_HELP_BYTES - 2, "\u2212", 3); /* over the edge */
    app_figure_new(&figures, true, "cut", help, &why);
    CU_ASSERT_EQUAL(strlen(figures.all[0].help), APP_FIGURE_HELP_BYTES - 2);
    memset(help, 'x', sizeof help - 1);
    memcpy(help + APP_FIGURE_HELP_BYTES - 4, "\u2212", 3); /* just before it */
    app_figure_new(&figures, true, "whole", help, &why);
    CU_ASSERT_EQUAL(strlen(figures.all[1].help), APP_FIGURE_HELP_BYTES - 1);
    CU_ASSERT(strcmp(figures.all[1].help + APP_FIGURE_HELP_BYTES - 4, "\u2212") == 0);
}

static void events_are_counted(void)
{
    start();
    ledger_count(ledger, LEDGER_RELOADS);
    ledger_count(ledger, LEDGER_RELOADS);
    ledger_count(ledger, LEDGER_UPGRADES);
    CU_ASSERT_EQUAL(ledger->events[LEDGER_RELOADS], 2);
    CU_ASSERT_EQUAL(ledger->events[LEDGER_UPGRADES], 1);
    CU_ASSERT_EQUAL(ledger->events[LEDGER_RESTARTS], 0);
}

static void another_program_takes_it_over(void)
{
    struct shared adopted;

    start();
    count(0, 0, 0, 5);
    ledger_take(ledger, &board_memory, 0);
    CU_ASSERT_EQUAL_FATAL(ledger_adopt(&adopted, dup(ledger_memory.fd)), 0);
    CU_ASSERT_EQUAL(((struct ledger *)adopted.at)->routes[1].requests, 5);
    shared_fini(&adopted);
    ledger->layout++;
    CU_ASSERT_EQUAL(ledger_adopt(&adopted, dup(ledger_memory.fd)), -1);
    CU_ASSERT_EQUAL(errno, EINVAL);
    CU_ASSERT_EQUAL(ledger_adopt(&adopted, dup(board_memory.fd)), -1);
    CU_ASSERT_EQUAL(errno, EINVAL);
}

/* -- Crashes --------------------------------------------------------------------------------------------------------
 */

static uint64_t fingerprint(const char *first, const char *second)
{
    char *envp[] = {(char *)first, (char *)second, NULL};

    return ledger_fingerprint(envp);
}

static void fingerprints_tell_requests_apart(void)
{
    uint64_t one = fingerprint("REQUEST_URI=/a", "REMOTE_PORT=1");

    CU_ASSERT_EQUAL(one, fingerprint("REQUEST_URI=/a", "REMOTE_PORT=1"));
    CU_ASSERT_NOT_EQUAL(one, fingerprint("REQUEST_URI=/a", "REMOTE_PORT=2"));
    CU_ASSERT_NOT_EQUAL(one, fingerprint("REQUEST_URI=/b", "REMOTE_PORT=1"));
    CU_ASSERT_NOT_EQUAL(one, fingerprint("REMOTE_PORT=1", "REQUEST_URI=/a"));
    CU_ASSERT_NOT_EQUAL(fingerprint("a", "bc"), fingerprint("ab", "c")); /* where one ends matters */
    CU_ASSERT_NOT_EQUAL(fingerprint("a", NULL), fingerprint("a", ""));
    CU_ASSERT_NOT_EQUAL(fingerprint(NULL, NULL), 0);
}

static void a_crash_is_known_for_two_seconds(void)
{
    int64_t now_us = clock_now_us();
    uint64_t one = fingerprint("a", NULL), other = fingerprint("b", NULL);

    start();
    CU_ASSERT(!ledger_has_crashes(ledger, now_us));
    CU_ASSERT(!ledger_knows_crash(ledger, one, now_us));
    ledger_add_crash(ledger, one, now_us);
    CU_ASSERT(ledger_has_crashes(ledger, now_us + CLOCK_SECOND));
    CU_ASSERT(ledger_knows_crash(ledger, one, now_us + CLOCK_SECOND));
    CU_ASSERT(!ledger_knows_crash(ledger, other, now_us + CLOCK_SECOND));
    CU_ASSERT(!ledger_has_crashes(ledger, now_us + 2 * CLOCK_SECOND));
    CU_ASSERT(!ledger_knows_crash(ledger, one, now_us + 2 * CLOCK_SECOND));
}

static void the_latest_crashes_are_known(void)
{
    int64_t now_us = clock_now_us();

    start();
    for (uint64_t i = 1; i <= 3 * LEDGER_CRASHES; i++)
        ledger_add_crash(ledger, i, now_us);
    for (uint64_t i = 1; i <= 3 * LEDGER_CRASHES; i++)
        CU_ASSERT_EQUAL(ledger_knows_crash(ledger, i, now_us), i > 2 * LEDGER_CRASHES);
}

static const struct suite_case cases[] = {
    {"what is taken is there once", what_is_taken_is_there_once},
    {"routes outlive generations", routes_outlive_generations},
    {"counters are kept and gauges are not", counters_are_kept_and_gauges_are_not},
    {"counters that were given up make way", counters_that_were_given_up_make_way},
    {"spoilt figures are left out", spoilt_figures_are_left_out},
    {"figures have names and room", figures_have_names_and_room},
    {"figures are added to", figures_are_added_to},
    {"help is cut between characters", help_is_cut_between_characters},
    {"events are counted", events_are_counted},
    {"another program takes it over", another_program_takes_it_over},
    {"fingerprints tell requests apart", fingerprints_tell_requests_apart},
    {"a crash is known for two seconds", a_crash_is_known_for_two_seconds},
    {"the latest crashes are known", the_latest_crashes_are_known},
};

int main(int argc, char **argv)
{
    return suite_main("ledger", cases, SUITE_COUNT(cases), argc, argv);
}
