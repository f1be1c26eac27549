/* cell.c: one round of one cell; see cell.h. */
#include "run/cell.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "file.h"
#include "run/child.h"
#include "run/command.h"
#include "run/pages.h"
#include "words.h"

#define SLICE_S    0.25 /* of the warm-up: so long is one rate measured */
#define SLICES_MAX 400
#define STEADY     0.05 /* two slices that differ by no more are steady */
#define SETTLE_S   0.2  /* the generator's own connections, inside each window's process and before the window */
#define LIMIT_S    30.0 /* beyond the window */
#define GRACE_US   (2 * CLOCK_SECOND)
#define SAMPLE_MS  200
#define CHECKS     20      /* requests before and after a witness, and each second beside it */
#define LARGE      1048576 /* bytes of a body of which so many would be a load of their own */
#define FEW_CHECKS 2

/* One round at work. */
struct work {
    const struct cell_site *site;
    const struct cell *cell;
    const struct target *target;
    const struct target_page *page;
    char *place; /* the folder while it is incomplete */
    char *list;  /* the right bodies */
    double rates[SLICES_MAX];
    int slices;
    bool steady;
    double warm_up_s;
    struct child_end end; /* of the instrument */
    char *failed;         /* why there is no window */
};

static char *place_of(const struct cell_site *site, const struct cell *cell, int round, const char *suffix)
{
    return words("%s/raw/%s/%02d%s", site->folder, cell->name, round, suffix);
}

bool cell_is_done(const struct cell_site *site, const struct cell *cell, int round)
{
    char *place = place_of(site, cell, round, "");
    bool done = access(place, F_OK) == 0;
    free(place);
    return done;
}

/* -- running something beside the page
 * ----------------------------------------------------------------------------------- */

static struct child_plan plan_of(const struct work *work, const struct command *command, const char *out,
                                 const char *err)
{
    return (struct child_plan){.argv = command->argv,
                               .environment = command_environment,
                               .out = out,
                               .err = err,
                               .cpus = &work->site->generator_cpus};
}

/* millbench load with its JSON in a file of the folder. Returns the parsed JSON, which the caller frees, or NULL. */
static json_t *load_to(const struct work *work, const struct command *command, const char *name, double limit_s)
{
    char *out = words("%s/%s", work->place, name), *err = words("%s/%s.err", work->place, name);
    const struct child_plan plan = plan_of(work, command, out, err);
    struct child child;
    struct child_end end;
    child_start(&child, &plan);
    child_wait(&child, (int64_t)(limit_s * 1e6), GRACE_US, NULL, NULL, &end);
    json_t *result = json_load_file(out, 0, NULL);
    unlink(err);
    free(out);
    free(err);
    return result;
}

/* -- warm-up
 * -------------------------------------------------------------------------------------------------------------- */

/* What one slice came to: its rate; -1 with the reason when nothing right came back. */
static double slice_rate(struct work *work, const json_t *result)
{
    double rate = json_number_value(json_object_get(result, "goodput_per_s"));
    if (rate > 0)
        return rate;
    const char *first = json_string_value(json_object_get(result, "first_error"));
    if (!child_interrupted())
        work->failed =
            words("no request of the warm-up was answered as it should be: %s", first ? first : "no reason is known");
    return -1;
}

static bool is_steady(const struct work *work)
{
    if (work->slices < 2)
        return false;
    double last = work->rates[work->slices - 1], before = work->rates[work->slices - 2];
    return last < before * (1 + STEADY) && last > before * (1 - STEADY);
}

static void warm_up(struct work *work)
{
    struct command command;
    int64_t begun_us = clock_now_us();
    command_of_load(&command, work->site, work->cell, work->page->url, work->list, SLICE_S, 0);
    while (work->failed == NULL && !child_interrupted() && !work->steady && work->slices < SLICES_MAX &&
           clock_now_us() - begun_us < (int64_t)(work->site->warm_up_s * 1e6)) {
        json_t *result = load_to(work, &command, "warm-up.json", LIMIT_S);
        double rate = slice_rate(work, result);
        json_decref(result);
        if (rate >= 0)
            work->rates[work->slices++] = rate;
        work->steady = is_steady(work);
    }
    char *file = words("%s/warm-up.json", work->place);
    unlink(file);
    free(file);
    command_fini(&command);
    work->warm_up_s = (double)(clock_now_us() - begun_us) / 1e6;
}

/* -- the window
 * ------------------------------------------------------------------------------------------------------------- */

static int write_text(const struct work *work, const char *name, const char *text)
{
    char *file = words("%s/%s", work->place, name);
    int result = file_write(file, text, strlen(text));
    free(file);
    return result;
}

/* The command as a person would type it, and its whole environment. */
static int write_command(const struct work *work, const struct command *command)
{
    char *line = command_line(command, work->site->generator_list);
    char *part = strstr(line, ".part/");
    if (part != NULL) /* where its file is once the round is complete */
        memmove(part, part + strlen(".part"), strlen(part + strlen(".part")) + 1);
    int result = write_text(work, "command", line);
    free(line);
    char *environment = words("%s\n%s\n", command_environment[0], command_environment[1]);
    if (result == 0)
        result = write_text(work, "environment", environment);
    free(environment);
    return result;
}

static struct sampler *begin_sampling(const struct work *work)
{
    struct sampler_group groups[TARGET_GROUPS_MAX + 1];
    for (size_t i = 0; i < work->target->group_count; i++)
        groups[i] = (struct sampler_group){.name = work->target->groups[i].name, .root = work->target->groups[i].pid};
    groups[work->target->group_count] = (struct sampler_group){.name = "generator", .root = getpid()};
    char *file = words("%s/samples.json", work->place);
    const struct sampler_plan plan = {.server_cpus = &work->site->server_cpus,
                                      .generator_cpus = &work->site->generator_cpus,
                                      .groups = groups,
                                      .group_count = work->target->group_count + 1,
                                      .interval_ms = SAMPLE_MS,
                                      .file = file};
    struct sampler *sampler = sampler_start(&plan);
    free(file);
    return sampler;
}

/* A few requests, each verified: what a witness cannot do itself. */
static void check_page(const struct work *work, const char *name)
{
    struct command command;
    command_of_check(&command, work->site, work->page->url, work->list, CHECKS);
    json_decref(load_to(work, &command, name, LIMIT_S));
    command_fini(&command);
}

/* The instrument, and beside a witness so many requests a second, verified. */
static void run_instrument(struct work *work, const struct command *command, int checks)
{
    bool witness = work->cell->instrument != INSTRUMENT_LOAD;
    char *out = words("%s/%s", work->place, witness ? "stdout" : "load.json"), *err = words("%s/stderr", work->place);
    char *during_out = words("%s/during.json", work->place), *during_err = words("%s/during.err", work->place);
    struct command beside;
    command_of_beside(&beside, work->site, work->page->url, work->list, checks, work->cell->window_s);
    const struct child_plan plan = plan_of(work, command, out, err);
    const struct child_plan beside_plan = plan_of(work, &beside, during_out, during_err);
    struct child child, during;
    struct child_end during_end;
    if (witness)
        child_start(&during, &beside_plan);
    child_start(&child, &plan);
    child_wait(&child, (int64_t)((work->cell->window_s + LIMIT_S) * 1e6), GRACE_US, NULL, NULL, &work->end);
    if (witness)
        child_wait(&during, (int64_t)((work->cell->window_s + LIMIT_S) * 1e6), GRACE_US, NULL, NULL, &during_end);
    unlink(during_err);
    command_fini(&beside);
    free(out);
    free(err);
    free(during_out);
    free(during_err);
}

/* Returns 0, -1 with errno when something cannot be written. */
static int run_window(struct work *work)
{
    struct command command;
    double expected_rate = work->slices > 0 ? work->rates[work->slices - 1] : 0;
    char *times = words("%s/times.csv", work->place);
    char *pages = words("%s/raw/pages", work->site->folder);
    long bytes = pages_length(pages, work->cell->path, work->cell->workload);
    command_of_cell(&command, work->site, work->cell, work->page->url, work->list, SETTLE_S, expected_rate, bytes,
                    times);
    int result = write_command(work, &command);
    if (result == 0 && command.refused[0] != '\0') {
        work->failed = words("%s", command.refused);
    } else if (result == 0) {
        bool witness = work->cell->instrument != INSTRUMENT_LOAD;
        if (witness)
            check_page(work, "before.json");
        struct sampler *sampler = begin_sampling(work);
        run_instrument(work, &command, bytes > LARGE ? FEW_CHECKS : CHECKS);
        result = sampler_stop(sampler);
        if (witness && !child_interrupted())
            check_page(work, "after.json");
    }
    command_fini(&command);
    free(times);
    free(pages);
    return result;
}

/* -- the outcome
 * -------------------------------------------------------------------------------------------------------------- */

static json_t *rates_json(const struct work *work)
{
    json_t *rates = json_array();
    for (int i = 0; i < work->slices; i++)
        json_array_append_new(rates, json_real(work->rates[i]));
    return rates;
}

static json_t *or_null(bool there, long number)
{
    return there ? json_integer(number) : json_null();
}

static json_t *outcome_json(const struct work *work, const char *dead)
{
    const struct child_end *end = &work->end;
    char utc[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(utc, sizeof utc, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    json_t *warm_up =
        json_pack("{s:o, s:f, s:b}", "rates", rates_json(work), "seconds", work->warm_up_s, "steady", work->steady);
    return json_pack("{s:s, s:b, s:i, s:o, s:o, s:b, s:f, s:I, s:I, s:o, s:b, s:o, s:o, s:s}", "schema",
                     "millbench-outcome/1", "started", end->started, "start_errno", end->error, "exit",
                     or_null(end->exit >= 0, end->exit), "signal", or_null(end->signal != 0, end->signal), "timed_out",
                     end->timed_out, "seconds", (double)(end->end_us - end->start_us) / 1e6, "start_us",
                     (json_int_t)end->start_us, "end_us", (json_int_t)end->end_us, "warm_up", warm_up, "server_alive",
                     dead == NULL, "dead", dead ? json_string(dead) : json_null(), "failed",
                     work->failed ? json_string(work->failed) : json_null(), "utc", utc);
}

static int write_outcome(const struct work *work, const char *dead)
{
    json_t *outcome = outcome_json(work, dead);
    char *text = json_dumps(outcome, JSON_SORT_KEYS | JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    CHECK(text != NULL);
    char *lines = words("%s\n", text);
    int result = write_text(work, "outcome.json", lines);
    free(lines);
    free(text);
    json_decref(outcome);
    return result;
}

/* Returns 0, -1 with errno: an empty folder under the name of the incomplete one. */
static int make_place(struct work *work, int round)
{
    char *above = words("%s/raw/%s", work->site->folder, work->cell->name);
    mkdir(above, 0755);
    free(above);
    work->place = place_of(work->site, work->cell, round, ".part");
    return file_remove_tree(work->place) < 0 ? -1 : mkdir(work->place, 0755);
}

static int keep_place(const struct work *work, int round)
{
    char *final = place_of(work->site, work->cell, round, "");
    int result = rename(work->place, final);
    free(final);
    return result;
}

static void work_fini(struct work *work)
{
    free(work->place);
    free(work->list);
    free(work->failed);
}

static int cannot_write(const struct work *work)
{
    fprintf(stderr, "millbench run: %s: cannot be written: %s\n", work->place ? work->place : work->cell->name,
            strerror(errno));
    return -1;
}

/* -- a round
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* Returns 0, -1 with errno. */
static int measure(struct work *work)
{
    work->page = target_page(work->target, work->cell->path, work->cell->workload);
    if (work->page == NULL) {
        work->failed = words("%s has no page %s %s", work->cell->server, work->cell->path, work->cell->workload);
        return 0;
    }
    char *pages = words("%s/raw/pages", work->site->folder);
    work->list = pages_list(pages, work->cell->path, work->cell->workload);
    free(pages);
    warm_up(work);
    return work->failed == NULL && !child_interrupted() ? run_window(work) : 0;
}

enum cell_status cell_measure(const struct cell_site *site, const struct cell *cell, int round,
                              const struct target *target)
{
    struct work work = {.site = site, .cell = cell, .target = target};
    enum cell_status status = CELL_DONE;
    if (make_place(&work, round) < 0 || measure(&work) < 0) {
        cannot_write(&work);
        status = CELL_UNWRITTEN;
    } else if (child_interrupted()) {
        status = CELL_INTERRUPTED;
    } else {
        const char *dead = target_dead(target);
        if (write_outcome(&work, dead) < 0 || keep_place(&work, round) < 0) {
            cannot_write(&work);
            status = CELL_UNWRITTEN;
        } else if (dead != NULL) {
            status = CELL_SERVER_DIED;
        }
    }
    if (status == CELL_INTERRUPTED || status == CELL_UNWRITTEN)
        (void)!file_remove_tree(work.place);
    work_fini(&work);
    return status;
}

int cell_fail(const struct cell_site *site, const struct cell *cell, int round, const char *reason)
{
    struct work work = {.site = site, .cell = cell, .failed = words("%s", reason), .end = {.exit = -1}};
    int result = make_place(&work, round);
    if (result == 0)
        result = write_outcome(&work, cell->server);
    if (result == 0)
        result = keep_place(&work, round);
    if (result < 0)
        cannot_write(&work);
    work_fini(&work);
    return result;
}
