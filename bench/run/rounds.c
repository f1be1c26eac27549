/* rounds.c: the order of a run; see rounds.h. */
#include "run/rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "observe/equal_work.h"
#include "run/attempt.h"
#include "run/child.h"
#include "run/pages.h"
#include "run/progress.h"
#include "run/shuffle.h"
#include "words.h"

#define START_S 3.0 /* a server's start and stop, with the checks of its pages */

/* The servers of a plan, each with one configuration. */
struct servers {
    struct target *targets;
    size_t count;
};

struct run {
    const struct plan *plan;
    const struct cell_site *site;
    const struct target_place *place;
    struct journal *journal;
    struct servers servers;
    struct progress progress;
    char *pages; /* the folder */
    enum rounds_end end;
};

/* -- servers ----------------------------------------------------------------------------------------------------------
 */

static bool is_of(const struct cell *cell, const struct target *target)
{
    return strcmp(cell->server, target->server) == 0 && strcmp(cell->configuration, target->configuration) == 0;
}

static void find_servers(struct servers *servers, const struct plan *plan)
{
    *servers = (struct servers){.targets = calloc(plan->cell_count, sizeof *servers->targets)};
    CHECK(servers->targets != NULL);
    for (size_t i = 0; i < plan->cell_count; i++) {
        size_t at = 0;
        while (at < servers->count && !is_of(&plan->cells[i], &servers->targets[at]))
            at++;
        if (at == servers->count)
            target_init(&servers->targets[servers->count++], plan->cells[i].server, plan->cells[i].configuration);
    }
}

static void free_servers(struct servers *servers)
{
    for (size_t i = 0; i < servers->count; i++)
        target_fini(&servers->targets[i]);
    free(servers->targets);
}

static bool is_wanted(const struct run *run, const struct cell *cell, const struct target *target, int round)
{
    return is_of(cell, target) && round <= cell->rounds && !cell_is_done(run->site, cell, round);
}

static int count_wanted(const struct run *run, const struct target *target, int round)
{
    int count = 0;
    for (size_t i = 0; i < run->plan->cell_count; i++)
        count += is_wanted(run, &run->plan->cells[i], target, round);
    return count;
}

double rounds_seconds(const struct plan *plan)
{
    struct servers servers;
    double seconds = 0;
    find_servers(&servers, plan);
    for (size_t i = 0; i < plan->cell_count; i++)
        seconds += plan->cells[i].rounds * plan_cell_seconds(plan, &plan->cells[i]);
    for (size_t s = 0; s < servers.count; s++) {
        int rounds = 0;
        for (size_t i = 0; i < plan->cell_count; i++)
            if (is_of(&plan->cells[i], &servers.targets[s]) && plan->cells[i].rounds > rounds)
                rounds = plan->cells[i].rounds;
        seconds += (rounds + 1) * START_S;
    }
    free_servers(&servers);
    return seconds;
}

/* -- starting and stopping
 * ------------------------------------------------------------------------------------------------ */

static void tell(struct run *run, const char *server, const char *what, const char *why)
{
    progress_clear(&run->progress);
    fprintf(stderr, "millbench run: %s: %s: %s\n", server, what, why);
}

static void stop(struct run *run, struct target *target)
{
    char *why = target_stop(target, run->place);
    if (why != NULL)
        tell(run, target->server, "it cannot be stopped", why);
    free(why);
}

/* Returns NULL, or why it is not there to be measured, which the caller frees. */
static char *start(struct run *run, struct target *target)
{
    char *why = target_start(target, run->place);
    if (why == NULL && (why = pages_check(run->pages, target)) != NULL)
        stop(run, target);
    return why;
}

static bool is_page_of(const struct run *run, const struct target *target, const struct target_page *page)
{
    for (size_t i = 0; i < run->plan->cell_count; i++) {
        const struct cell *cell = &run->plan->cells[i];
        if (is_of(cell, target) && strcmp(cell->path, page->path) == 0 && strcmp(cell->workload, page->workload) == 0)
            return true;
    }
    return false;
}

static void take_cards(struct run *run, const struct target *target)
{
    for (size_t i = 0; i < target->page_count; i++)
        if (is_page_of(run, target, &target->pages[i]))
            journal_add_card(run->journal, target, &target->pages[i], equal_work_card(target->pages[i].url));
}

/* Every server once before the rounds, in the plan's order: the first one sets what the pages are, and one that does
 * not work at all is known at once. Returns false when the run is over. */
static bool look_at_all(struct run *run)
{
    for (size_t i = 0; i < run->servers.count && !child_interrupted(); i++) {
        struct target *target = &run->servers.targets[i];
        progress_show(&run->progress, 0, plan_rounds(run->plan), "starting every server once, comparing the pages");
        char *why = start(run, target);
        if (why != NULL) {
            if (!child_interrupted())
                tell(run, target->server, "it does not start", why);
            run->end = child_interrupted() ? ROUNDS_INTERRUPTED : ROUNDS_FAILED;
        } else {
            take_cards(run, target);
            stop(run, target);
        }
        free(why);
        if (run->end != ROUNDS_COMPLETE)
            return false;
    }
    journal_set_pages(run->journal, pages_json(run->pages));
    return !child_interrupted();
}

/* -- rounds
 * --------------------------------------------------------------------------------------------------------------------
 */

static void fail_cell(struct run *run, const struct cell *cell, int round, const char *why)
{
    tell(run, cell->name, "failed", why);
    if (cell_fail(run->site, cell, round, why) < 0)
        run->end = ROUNDS_FAILED;
}

/* After a server has died it is started again for what is left of the round. Returns whether it runs. */
static bool start_again(struct run *run, struct target *target, char **why)
{
    stop(run, target);
    free(*why);
    *why = start(run, target);
    return *why == NULL;
}

static void measure_cell(struct run *run, struct target *target, const struct cell *cell, int round, char **why)
{
    progress_show(&run->progress, round, plan_rounds(run->plan), cell->name);
    if (*why != NULL) {
        fail_cell(run, cell, round, *why);
        return;
    }
    switch (cell_measure(run->site, cell, round, target)) {
    case CELL_DONE:
        break;
    case CELL_INTERRUPTED:
        run->end = ROUNDS_INTERRUPTED;
        break;
    case CELL_UNWRITTEN:
        run->end = ROUNDS_FAILED;
        break;
    case CELL_SERVER_DIED:
        tell(run, cell->name, "the server crashed", target_dead(target));
        start_again(run, target, why);
        break;
    }
}

/* Each of the server's cells that is still wanted, in the order given. */
static void measure_wanted(struct run *run, struct target *target, int round, const size_t *order, char **why)
{
    for (size_t i = 0; i < run->plan->cell_count && run->end == ROUNDS_COMPLETE; i++) {
        const struct cell *cell = &run->plan->cells[order[i]];
        if (!is_wanted(run, cell, target, round))
            continue;
        if (child_interrupted())
            run->end = ROUNDS_INTERRUPTED;
        else
            measure_cell(run, target, cell, round, why);
        progress_add(&run->progress, plan_cell_seconds(run->plan, cell));
    }
}

/* Whether what is left, and this cell once more, fit into the plan's minutes. */
static bool has_time(const struct run *run, const struct cell *cell)
{
    int64_t now_us = clock_now_us();
    double end_s = (double)(now_us - run->progress.begun_us) / 1e6 + progress_left_s(&run->progress, now_us) +
                   plan_cell_seconds(run->plan, cell);
    return run->plan->minutes == 0 || end_s <= 60.0 * run->plan->minutes;
}

/* Puts aside what a covariate voided, so that it is wanted again. Returns how many there are. */
static size_t set_voids_aside(struct run *run, const struct target *target, int round)
{
    size_t count = 0;
    for (size_t i = 0; i < run->plan->cell_count && run->end == ROUNDS_COMPLETE; i++) {
        const struct cell *cell = &run->plan->cells[i];
        if (!is_of(cell, target) || round > cell->rounds || !cell_is_done(run->site, cell, round) ||
            !has_time(run, cell) || !attempt_wanted(run->site->folder, run->plan, cell, run->journal->json, round))
            continue;
        if (attempt_set_aside(run->site->folder, cell, round) < 0) {
            tell(run, cell->name, "it cannot be put aside", strerror(errno));
            run->end = ROUNDS_FAILED;
        }
        progress_expect(&run->progress, plan_cell_seconds(run->plan, cell));
        count++;
    }
    return count;
}

static void measure_server(struct run *run, struct target *target, int round)
{
    size_t *order = calloc(run->plan->cell_count, sizeof *order);
    CHECK(order != NULL);
    shuffle_order(run->journal->seed, (uint64_t)round, 1 + (uint64_t)(target - run->servers.targets), order,
                  run->plan->cell_count);
    char *why = start(run, target);
    if (why == NULL)
        journal_add_start(run->journal, target, round);
    do
        measure_wanted(run, target, round, order, &why);
    while (run->end == ROUNDS_COMPLETE && set_voids_aside(run, target, round) > 0);
    stop(run, target);
    free(why);
    free(order);
    if (journal_write(run->journal) < 0)
        run->end = ROUNDS_FAILED;
}

static void measure_round(struct run *run, int round)
{
    size_t *order = calloc(run->servers.count, sizeof *order);
    CHECK(order != NULL);
    shuffle_order(run->journal->seed, (uint64_t)round, 0, order, run->servers.count);
    for (size_t i = 0; i < run->servers.count && run->end == ROUNDS_COMPLETE; i++) {
        struct target *target = &run->servers.targets[order[i]];
        if (child_interrupted())
            run->end = ROUNDS_INTERRUPTED;
        else if (count_wanted(run, target, round) > 0)
            measure_server(run, target, round);
    }
    free(order);
}

static void expect(struct run *run)
{
    double seconds = 0;
    int total = 0;
    for (int round = 1; round <= plan_rounds(run->plan); round++)
        for (size_t s = 0; s < run->servers.count; s++) {
            const struct target *target = &run->servers.targets[s];
            int wanted = count_wanted(run, target, round);
            total += wanted;
            for (size_t i = 0; wanted > 0 && i < run->plan->cell_count; i++)
                if (is_wanted(run, &run->plan->cells[i], target, round))
                    seconds += plan_cell_seconds(run->plan, &run->plan->cells[i]);
            seconds += wanted > 0 ? START_S : 0;
        }
    progress_begin(&run->progress, total, seconds);
}

enum rounds_end rounds_run(const struct plan *plan, const struct cell_site *site, const struct target_place *place,
                           struct journal *journal)
{
    struct run run = {.plan = plan, .site = site, .place = place, .journal = journal, .end = ROUNDS_COMPLETE};
    run.pages = words("%s/raw/pages", site->folder);
    find_servers(&run.servers, plan);
    expect(&run);
    if (look_at_all(&run) && journal_write(journal) == 0)
        for (int round = 1; round <= plan_rounds(plan) && run.end == ROUNDS_COMPLETE; round++)
            measure_round(&run, round);
    if (child_interrupted() && run.end == ROUNDS_COMPLETE)
        run.end = ROUNDS_INTERRUPTED;
    progress_clear(&run.progress);
    journal_set_state(journal, run.end == ROUNDS_COMPLETE      ? "complete"
                               : run.end == ROUNDS_INTERRUPTED ? "interrupted"
                                                               : "failed");
    if (journal_write(journal) < 0)
        run.end = ROUNDS_FAILED;
    free_servers(&run.servers);
    free(run.pages);
    return run.end;
}
