/*
 * fuzz_ab.c: libFuzzer entry for what ab prints and for its file of times.
 *
 * Whatever the bytes: they are read without a byte beyond them, and a run is accepted only with figures that a good run
 * has; a piece cut off the end never makes a bad output a good one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "tools/ab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tool_settings settings = {
    .url = "http://127.0.0.1/", .concurrency = 4, .requests = 2000, .keep_alive = true, .body_bytes = 450};

static void check_accepted(const struct ab_reading *reading)
{
    CHECK(reading->fault == NULL && reading->complete == 2000 && reading->failed == 0 && reading->non_2xx == -1);
    CHECK(reading->write_errors == -1 && reading->keep_alive >= 2000 && reading->document_bytes == 450);
    CHECK(isfinite(reading->requests_per_s) && reading->requests_per_s > 0 && reading->concurrency == 4);
}

/* Reads a copy of its own, so that a byte read beyond it is seen. Returns whether the run was accepted. */
static bool is_accepted(const uint8_t *data, size_t size)
{
    struct ab_reading reading;
    struct ruling ruling;
    const struct tool_exit ended = {.started = true, .server_alive = true, .errors = span_of(data, size)};
    char *exact = malloc(size > 0 ? size : 1);
    CHECK(exact != NULL);
    memcpy(exact, data, size);
    CHECK((ab_read(exact, size, &reading) == 0) == (reading.fault == NULL));
    free(exact);
    ruling_init(&ruling);
    ab_judge(&reading, &settings, &ended, &ruling);
    CHECK((ruling.status == RULING_ACCEPTED) == (ruling.reason_count == 0));
    CHECK(reading.fault == NULL || ruling.status == RULING_FAILED);
    if (ruling.status == RULING_ACCEPTED)
        check_accepted(&reading);
    return ruling.status == RULING_ACCEPTED;
}

static void check_times(const uint8_t *data, size_t size)
{
    struct ab_times times;
    bool whole = ab_read_times((const char *)data, size, &times) == 0;
    CHECK(whole == (times.fault == NULL));
    for (int i = 1; whole && i < AB_PERCENTILES; i++)
        CHECK(isfinite(times.ms[i]) && times.ms[i] >= times.ms[i - 1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool accepted = is_accepted(data, size);
    const uint8_t *rate = accepted ? memmem(data, size, "Requests per second:", 20) : NULL;
    CHECK(!accepted || rate != NULL);
    if (accepted)
        CHECK(!is_accepted(data, (size_t)(rate - data)));
    check_times(data, size);
    return 0;
}
