/* measured.c: what one round of one cell came to; see measured.h. */
#include "results/measured.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "judge/covariate.h"
#include "judge/limiter.h"
#include "judge/little.h"
#include "observe/usage.h"
#include "results/archive.h"
#include "results/field.h"
#include "results/measured_round.h"
#include "words.h"

static void add_reason(struct measured *of, const char *status, const char *text)
{
    json_array_append_new(of->reasons, json_string(text) ?: json_string("a reason that is no text"));
    if (strcmp(of->status, "failed") != 0)
        of->status = status;
}

void measured_fail(struct measured *of, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_reason(of, "failed", text);
}

void measured_void(struct measured *of, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_reason(of, "void", text);
}

json_t *measured_file(struct measured *of, const char *name)
{
    char path[512], why[ARCHIVE_WHY_BYTES];
    snprintf(path, sizeof path, "%s/%s", of->place, name);
    json_t *read = archive_json(of->folder, path, why);
    if (read == NULL)
        measured_fail(of, "%s", why);
    return read;
}

/* -- how it ended
 * --------------------------------------------------------------------------------------------------------- */

static void judge_outcome(struct measured *of)
{
    if (!field_is(of->outcome, "schema", "millbench-outcome/1")) {
        measured_fail(of, "outcome.json is not of the schema millbench-outcome/1");
        return;
    }
    if (json_is_string(field_at(of->outcome, "failed")))
        measured_fail(of, "%s", field_text(of->outcome, "failed"));
    if (!field_true(of->outcome, "server_alive"))
        measured_fail(of, "the server ended by itself: %s", field_text(of->outcome, "dead"));
}

/* -- what was used meanwhile
 * -------------------------------------------------------------------------------------------------- */

/* Of the window's requests those that the samples cover. */
static double requests_sampled(const struct measured *of)
{
    return of->requests * of->usage.seconds * 1e6 / (of->end_us - of->start_us);
}

static json_t *per_request(const struct measured *of)
{
    json_t *all = json_object();
    double serving = 0, requests = requests_sampled(of);
    for (size_t i = 0; i < of->usage.group_count; i++) {
        const struct usage_group *group = &of->usage.groups[i];
        json_object_set_new(all, group->name, field_real(group->cpu_us / requests));
        if (strcmp(group->name, "generator") != 0)
            serving += group->cpu_us / requests;
    }
    json_object_set_new(all, "serving", field_real(serving));
    return all;
}

static json_t *shares(const struct measured *of)
{
    json_t *all = json_pack("{s:o, s:o, s:o, s:o, s:o}", "server", field_real(of->usage.server_busy), "generator",
                            field_real(of->usage.generator_busy), "foreign", field_real(of->usage.foreign), "steal",
                            field_real(of->usage.steal), "softirq", field_real(of->usage.softirq));
    json_t *groups = json_object();
    for (size_t i = 0; i < of->usage.group_count; i++)
        json_object_set_new(groups, of->usage.groups[i].name,
                            field_real(of->usage.groups[i].cpu_us / 1e6 / of->usage.seconds));
    json_object_set_new(all, "groups", groups);
    return all;
}

static json_t *memory(const struct measured *of)
{
    json_t *all = json_object();
    for (size_t i = 0; i < of->usage.group_count; i++) {
        const struct usage_group *group = &of->usage.groups[i];
        json_object_set_new(all, group->name,
                            json_pack("{s:o, s:o, s:o}", "rss", field_real(group->rss_kib), "pss",
                                      field_real(group->pss_kib), "rss_grown", field_real(group->rss_grown_kib)));
    }
    return all;
}

static json_t *switches(const struct measured *of)
{
    json_t *all = json_object();
    double requests = requests_sampled(of);
    for (size_t i = 0; i < of->usage.group_count; i++) {
        const struct usage_group *group = &of->usage.groups[i];
        json_object_set_new(all, group->name,
                            json_pack("{s:o, s:o}", "voluntary", field_real(group->voluntary / requests), "involuntary",
                                      field_real(group->involuntary / requests)));
    }
    return all;
}

static void judge_limiter(struct measured *of)
{
    const struct usage_group *database = usage_group(&of->usage, "postgresql");
    double run_wait = 0;
    for (size_t i = 0; i < of->usage.group_count; i++)
        if (strcmp(of->usage.groups[i].name, "generator") != 0 && !isnan(of->usage.groups[i].run_wait_us))
            run_wait += of->usage.groups[i].run_wait_us / 1e6 / of->usage.seconds;
    const struct limiter_input input = {.server_busy = of->usage.server_busy,
                                        .generator_busy = of->usage.generator_busy,
                                        .generator_spins = of->generator_spins,
                                        .generator_late = of->generator_late,
                                        .is_open = of->is_open};
    const struct limiter_signs signs = {.listen_overflows = of->usage.listen_overflows / of->usage.seconds,
                                        .server_run_wait = run_wait,
                                        .database_busy =
                                            database != NULL ? database->cpu_us / 1e6 / of->usage.seconds : 0,
                                        .concurrency = isnan(of->concurrency) ? 0 : (int)of->concurrency};
    const char *suspects[8];
    enum limiter limiter = limiter_of(&input);
    json_t *list = json_array();
    size_t count = limiter == LIMITER_NEITHER ? limiter_suspects(&input, &signs, suspects, COUNT_OF(suspects)) : 0;
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(suspects[i]));
    json_object_set_new(of->figures, "limiter", json_string(limiter_name(limiter)));
    json_object_set_new(of->figures, "suspects", list);
}

static void judge_covariates(struct measured *of)
{
    char reasons[COVARIATE_REASONS][COVARIATE_BYTES];
    const struct covariate seen = {.foreign = of->usage.foreign,
                                   .steal = of->usage.steal,
                                   .clock_step_us = of->usage.clock_step_us,
                                   .lag_p99_us = of->lag_p99_us};
    size_t count = covariate_judge(&seen, reasons);
    for (size_t i = 0; i < count; i++)
        measured_void(of, "%s", reasons[i]);
}

static void add_usage(struct measured *of)
{
    json_t *samples = measured_file(of, "samples.json");
    double end_us = of->ends_with_tool ? usage_last_sample_us(samples, of->end_us) : of->end_us;
    const char *why = samples == NULL ? "" : usage_read(samples, of->start_us, end_us, &of->usage);
    if (samples != NULL && why != NULL)
        measured_fail(of, "%s", why);
    if (why == NULL) {
        json_object_set_new(of->figures, "cpu_us_per_request", per_request(of));
        json_object_set_new(of->figures, "busy", shares(of));
        json_object_set_new(of->figures, "memory_kib", memory(of));
        json_object_set_new(of->figures, "switches", switches(of));
        judge_limiter(of);
        judge_covariates(of);
    }
    json_decref(samples);
}

/* -- figures that must fit each other
 * ---------------------------------------------------------------------------------------------- */

static void judge_times(struct measured *of)
{
    const json_t *times = json_object_get(of->figures, "time_us");
    const double percentiles[] = {field_number(times, "min"), field_number(times, "p50"),   field_number(times, "p90"),
                                  field_number(times, "p99"), field_number(times, "p99_9"), field_number(times, "max")};
    if (!little_ordered(percentiles, COUNT_OF(percentiles)))
        measured_fail(of, "its percentiles are not in order");
    double ratio = of->is_open || isnan(of->concurrency)
                       ? NAN
                       : little_ratio(of->goodput, field_number(times, "mean"), (int)of->concurrency);
    json_object_set_new(of->figures, "little",
                        isnan(ratio) ? json_null()
                                     : json_pack("{s:f, s:b}", "ratio", ratio, "ok", little_holds(ratio)));
}

/* -- a round
 * -------------------------------------------------------------------------------------------------------------------------
 */

static const json_t *page_of(const json_t *pages, const json_t *cell)
{
    size_t i;
    json_t *page;
    json_array_foreach((json_t *)pages, i, page)
    {
        if (field_is(page, "path", field_text(cell, "path")) &&
            field_is(page, "workload", field_text(cell, "workload")))
            return page;
    }
    return NULL;
}

/* The length of all bodies, -1 where they differ. */
static long long body_bytes(const json_t *page)
{
    const json_t *bodies = json_object_get(page, "bodies");
    long long length = -1;
    for (size_t i = 0; i < json_array_size(bodies); i++) {
        long long one = atoll(json_string_value(json_array_get(bodies, i)) ?: "-1");
        if (i > 0 && one != length)
            return -1;
        length = one;
    }
    return length;
}

static json_t *finish(struct measured *of, int round)
{
    bool failed = strcmp(of->status, "failed") == 0;
    json_t *result = failed ? json_object() : json_incref(of->figures);
    json_object_set_new(result, "round", json_integer(round));
    json_object_set_new(result, "status", json_string(of->status));
    json_object_set_new(result, "reasons", of->reasons);
    json_object_set_new(result, "warm_up_s", field_real(field_number(of->outcome, "warm_up.seconds")));
    json_object_set_new(result, "warm_up_steady", json_boolean(field_true(of->outcome, "warm_up.steady")));
    json_decref(of->figures);
    json_decref(of->outcome);
    return result;
}

json_t *measured_round(const char *folder, const json_t *cell, int round, int attempt, const json_t *pages)
{
    struct measured of = {.folder = folder,
                          .cell = cell,
                          .status = "valid",
                          .reasons = json_array(),
                          .figures = json_object(),
                          .goodput = NAN,
                          .lag_p99_us = NAN,
                          .requests = NAN,
                          .concurrency = field_number(cell, "concurrency"),
                          .is_open = field_is(cell, "loop", "open"),
                          .body_bytes = body_bytes(page_of(pages, cell))};
    int length = snprintf(of.place, sizeof of.place, "raw/%s/%02d", field_text(cell, "name"), round);
    if (attempt > 0 && length < (int)sizeof of.place)
        snprintf(of.place + length, sizeof of.place - (size_t)length, ".%d", attempt);
    of.outcome = measured_file(&of, "outcome.json");
    if (of.outcome != NULL)
        judge_outcome(&of);
    if (strcmp(of.status, "valid") == 0) {
        if (field_is(cell, "instrument", "load"))
            measured_load(&of);
        else
            measured_witness(&of);
    }
    if (strcmp(of.status, "failed") != 0) {
        judge_times(&of);
        add_usage(&of);
    }
    return finish(&of, round);
}
