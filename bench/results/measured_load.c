/* measured_load.c: what millbench load counted in one round; see measured_round.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "results/field.h"
#include "results/measured_round.h"

#define UNSENT_SHARE 0.01 /* of an open loop's requests: more, and the rate was not kept */

/* Everything that can go wrong with a request, as load.json names it. */
static const char *const failures[] = {"wrong_status", "wrong_length", "wrong_hash",   "bad_framing",
                                       "timeouts",     "resets",       "closed_early", "connect_errors"};

static double count_failures(const json_t *requests, char *text, size_t size)
{
    double sum = 0;
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        double count = field_number(requests, failures[i]);
        if (!(count > 0))
            continue;
        sum += count;
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s %.0f", length > 0 ? ", " : "", failures[i], count);
        if (length >= size)
            length = size - 1;
    }
    return sum;
}

static void judge_requests(struct measured *of, const json_t *load)
{
    char text[256];
    const json_t *requests = json_object_get(load, "requests");
    double verified = field_number(requests, "verified"), not_sent = field_number(requests, "not_sent");
    double failed = count_failures(requests, text, sizeof text);
    const char *first = field_text(load, "first_error");
    for (size_t i = 0; i < COUNT_OF(failures); i++)
        if (isnan(field_number(requests, failures[i])))
            measured_fail(of, "load.json lacks requests.%s", failures[i]);
    if (failed > 0)
        measured_fail(of, "%.0f requests failed beside %.0f verified ones: %s%s%.200s", failed, verified, text,
                      *first ? "; first: " : "", first);
    else if (!(verified > 0))
        measured_fail(of, "no reply was verified%s%.200s", *first ? ": " : "", first);
    if (field_true(load, "stopped_early"))
        measured_fail(of, "the generator was stopped early");
    if (of->is_open && not_sent > UNSENT_SHARE * verified)
        measured_void(of, "%.0f requests could not be sent: the rate was not kept", not_sent);
}

static json_t *times_of(const json_t *load)
{
    static const char *const names[] = {"min", "p50", "p90", "p99", "p99_9", "max", "mean"};
    const json_t *from = json_object_get(load, "time_us");
    json_t *times = json_pack("{s:s}", "kind", field_text(from, "kind"));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        json_object_set_new(times, names[i], field_real(field_number(from, names[i])));
    return times;
}

static void take_figures(struct measured *of, const json_t *load)
{
    double seconds = (of->end_us - of->start_us) / 1e6, opened = field_number(load, "connections.opened");
    of->requests = field_number(load, "requests.verified");
    of->goodput = of->requests / seconds;
    of->lag_p99_us = of->is_open ? field_number(load, "lag_us.p99") : NAN;
    json_object_set_new(of->figures, "goodput", field_real(of->goodput));
    json_object_set_new(of->figures, "requests", field_real(of->requests));
    json_object_set_new(of->figures, "tool_rate", json_null());
    json_object_set_new(of->figures, "time_us", times_of(load));
    json_object_set_new(of->figures, "lag_p99_us", field_real(of->lag_p99_us));
    json_object_set_new(of->figures, "mib_per_s", field_real(field_number(load, "bytes.total") / seconds / 1048576));
    json_object_set_new(
        of->figures, "reuse",
        field_real(opened > 0 ? (field_number(load, "connections.kept_requests") + opened) / opened : NAN));
    json_object_set_new(of->figures, "header_bytes", field_real(field_number(load, "bodies.header_bytes_max")));
    json_object_set_new(of->figures, "distinct_bodies", field_real(field_number(load, "bodies.distinct")));
}

void measured_load(struct measured *of)
{
    json_t *load = measured_file(of, "load.json");
    if (load == NULL)
        return;
    of->start_us = field_number(load, "window_start_us");
    of->end_us = field_number(load, "window_end_us");
    if (!field_is(load, "schema", "millbench-load/1"))
        measured_fail(of, "load.json is not of the schema millbench-load/1");
    else if (!field_is(load, "loop", of->is_open ? "open" : "closed"))
        measured_fail(of, "load.json is of a loop of the other kind");
    else if (!(of->end_us > of->start_us))
        measured_fail(of, "load.json has no window");
    else {
        judge_requests(of, load);
        take_figures(of, load);
    }
    json_decref(load);
}
