/*
 * fuzz_httperf.c: libFuzzer entry for what httperf prints.
 *
 * Whatever the bytes: they are read without a byte beyond them, and a run is accepted only with figures that a good run
 * has; what ends before the last line of errors is none.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "tools/httperf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tool_settings settings = {
    .url = "http://127.0.0.1/", .concurrency = 4, .requests = 2000, .keep_alive = true, .body_bytes = 450};

static void check_accepted(const struct httperf_reading *reading)
{
    double rate = httperf_rate_per_s(reading);
    CHECK(reading->fault == NULL && reading->replies == 2000 && reading->replies_2xx == 2000);
    CHECK(reading->requests <= 2000 && reading->content_bytes == 450 && reading->concurrent_max == 4);
    CHECK(reading->errors == 0 && reading->other == 0 && reading->descriptors_unavailable == 0);
    CHECK(isfinite(rate) && rate > 0);
    CHECK((reading->samples > 0) || isnan(reading->sampled_avg));
}

/* Reads a copy of its own, so that a byte read beyond it is seen. Returns whether the run was accepted. */
static bool is_accepted(const uint8_t *data, size_t size)
{
    struct httperf_reading reading;
    struct ruling ruling;
    const struct tool_exit ended = {.started = true, .server_alive = true, .errors = span_of(data, size)};
    char *exact = malloc(size > 0 ? size : 1);
    CHECK(exact != NULL);
    memcpy(exact, data, size);
    CHECK((httperf_read(exact, size, &reading) == 0) == (reading.fault == NULL));
    free(exact);
    ruling_init(&ruling);
    httperf_judge(&reading, &settings, &ended, &ruling);
    CHECK((ruling.status == RULING_ACCEPTED) == (ruling.reason_count == 0));
    CHECK(reading.fault == NULL || ruling.status == RULING_FAILED);
    httperf_limits(&reading, &settings);
    if (ruling.status == RULING_ACCEPTED)
        check_accepted(&reading);
    return ruling.status == RULING_ACCEPTED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *last = memmem(data, size, "Errors: fd-unavail", 18);
    if (is_accepted(data, size)) {
        CHECK(last == NULL || !is_accepted(data, (size_t)(last - data)));
        CHECK(!is_accepted(data, 0));
    }
    return 0;
}
