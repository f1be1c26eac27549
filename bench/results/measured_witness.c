/* measured_witness.c: what ab or httperf printed in one round, and whether it counts; see measured_round.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "file.h"
#include "results/field.h"
#include "results/measured_round.h"
#include "tools/ab.h"
#include "tools/httperf.h"
#include "words.h"

/* A file of the round with its bytes; "" where there is none. The caller frees it. */
static char *read_text(const struct measured *of, const char *name, size_t *length)
{
    char *path = words("%s/%s/%s", of->folder, of->place, name), *text = file_read(path, length);
    free(path);
    if (text == NULL) {
        *length = 0;
        text = words("%s", "");
    }
    return text;
}

static struct tool_settings settings_of(const struct measured *of)
{
    return (struct tool_settings){.concurrency = (int)of->concurrency,
                                  .seconds = field_number(of->cell, "window_s"),
                                  .keep_alive = true,
                                  .body_bytes = of->body_bytes,
                                  .variable_length = of->body_bytes < 0};
}

static struct tool_exit exit_of(const struct measured *of, struct span errors)
{
    const json_t *outcome = of->outcome;
    double signal = field_number(outcome, "signal"), status = field_number(outcome, "exit");
    return (struct tool_exit){.started = field_true(outcome, "started"),
                              .start_errno = (int)field_number(outcome, "start_errno"),
                              .timed_out = field_true(outcome, "timed_out"),
                              .signal = isnan(signal) ? 0 : (int)signal,
                              .exit_status = isnan(status) ? -1 : (int)status,
                              .seconds = field_number(outcome, "seconds"),
                              .server_alive = field_true(outcome, "server_alive"),
                              .errors = errors};
}

static void take_ruling(struct measured *of, const struct ruling *ruling)
{
    for (int i = 0; i < ruling->reason_count; i++) {
        if (ruling->status == RULING_FAILED)
            measured_fail(of, "%s", ruling->reasons[i]);
        else
            measured_void(of, "%s", ruling->reasons[i]);
    }
}

/* -- the checks before, beside and after it
 * ------------------------------------------------------------------------------------ */

static struct tool_check check_of(const struct measured *of, const char *when)
{
    char name[32];
    snprintf(name, sizeof name, "%s.json", when);
    size_t length;
    char *text = read_text(of, name, &length);
    json_t *check = json_loadb(text, length, 0, NULL);
    double verified = field_number(check, "requests.verified");
    double ended = field_number(check, "requests.sent") - field_number(check, "requests.in_flight_at_end");
    free(text);
    json_decref(check);
    return (struct tool_check){.when = when,
                               .made = !isnan(ended) && !isnan(verified),
                               .sent = isnan(ended) ? 0 : (int64_t)ended,
                               .verified = isnan(verified) ? 0 : (int64_t)verified};
}

static void judge_checks(struct measured *of, struct ruling *ruling)
{
    const struct tool_check checks[] = {check_of(of, "before"), check_of(of, "during"), check_of(of, "after")};
    tool_judge_checks(checks, COUNT_OF(checks), ruling);
}

/* -- figures
 * ----------------------------------------------------------------------------------------------------------------------
 */

static json_t *no_times(const char *kind)
{
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n}", "kind", kind, "min", "p50", "p90", "p99", "p99_9",
                     "max", "mean");
}

static void set(struct measured *of, const char *name, double number)
{
    json_object_set_new(of->figures, name, field_real(number));
}

static void take_common(struct measured *of, double goodput, double requests, double printed_rate)
{
    of->goodput = goodput;
    of->requests = requests;
    of->start_us = field_number(of->outcome, "start_us");
    of->end_us = field_number(of->outcome, "end_us");
    of->ends_with_tool = true;
    set(of, "goodput", goodput);
    set(of, "requests", requests);
    set(of, "tool_rate", printed_rate);
    set(of, "lag_p99_us", NAN);
}

static void take_ab(struct measured *of, const struct ab_reading *reading)
{
    struct ab_times times;
    size_t length;
    char *csv = read_text(of, "times.csv", &length);
    json_t *taken = no_times("service_time");
    take_common(of, (double)reading->complete / reading->taken_s, (double)reading->complete, reading->requests_per_s);
    if (ab_read_times(csv, length, &times) == 0) {
        json_object_set_new(taken, "p50", field_real(1000 * times.ms[50]));
        json_object_set_new(taken, "p90", field_real(1000 * times.ms[90]));
        json_object_set_new(taken, "p99", field_real(1000 * times.ms[99]));
        json_object_set_new(taken, "max", field_real(1000 * times.ms[100]));
    }
    json_object_set_new(taken, "mean", field_real(1000 * reading->request_ms));
    json_object_set_new(of->figures, "time_us", taken);
    set(of, "mib_per_s", (double)reading->total_bytes / reading->taken_s / 1048576);
    set(of, "reuse", NAN);
    set(of, "header_bytes", (double)(reading->total_bytes - reading->html_bytes) / (double)reading->complete);
    free(csv);
}

static void take_httperf(struct measured *of, const struct httperf_reading *reading)
{
    double rate = httperf_rate_per_s(reading);
    json_t *taken = no_times("service_time");
    take_common(of, rate, (double)reading->replies, reading->requests_per_s);
    json_object_set_new(taken, "mean", field_real(1000 * (reading->response_ms + reading->transfer_ms)));
    json_object_set_new(of->figures, "time_us", taken);
    set(of, "mib_per_s", (reading->header_bytes + reading->content_bytes) * rate / 1048576);
    set(of, "reuse", reading->replies_per_connection);
    set(of, "header_bytes", reading->header_bytes);
}

static void read_ab(struct measured *of, const char *output, size_t length, const struct tool_exit *ended,
                    struct ruling *ruling)
{
    struct ab_reading reading;
    const struct tool_settings settings = settings_of(of);
    (void)!ab_read(output, length, &reading);
    ab_judge(&reading, &settings, ended, ruling);
    judge_checks(of, ruling);
    if (ruling->status != RULING_FAILED)
        take_ab(of, &reading);
}

static void read_httperf(struct measured *of, const char *output, size_t length, const struct tool_exit *ended,
                         struct ruling *ruling)
{
    struct httperf_reading reading;
    const struct tool_settings settings = settings_of(of);
    (void)!httperf_read(output, length, &reading);
    httperf_judge(&reading, &settings, ended, ruling);
    judge_checks(of, ruling);
    if (ruling->status == RULING_FAILED)
        return;
    of->generator_spins = true;
    of->generator_late = httperf_limits(&reading, &settings).generator_limited;
    take_httperf(of, &reading);
}

void measured_witness(struct measured *of)
{
    size_t length, error_length;
    char *output = read_text(of, "stdout", &length), *errors = read_text(of, "stderr", &error_length);
    const struct tool_exit ended = exit_of(of, span_of(errors, error_length));
    struct ruling ruling;
    ruling_init(&ruling);
    if (field_is(of->cell, "instrument", "ab"))
        read_ab(of, output, length, &ended, &ruling);
    else
        read_httperf(of, output, length, &ended, &ruling);
    take_ruling(of, &ruling);
    free(output);
    free(errors);
}
