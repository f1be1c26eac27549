/*
 * crew.h: starts the generating processes, waits for them, and adds up what they counted.
 */
#ifndef LOAD_CREW_H
#define LOAD_CREW_H

#include "load/driver.h"
#include "load/load_url.h"

struct crew_result {
    struct tally *total; /* owned: crew_result_fini */
    int64_t window_start_us, window_end_us; /* of the monotonic clock; equal when it was stopped before the window */
    uint64_t distinct;        /* different bodies that came and were right */
    bool has_standard;        /* the first body was the standard, and it is */
    struct body standard;
};

/* Blocks until all is done. SIGINT and SIGTERM end it early. Returns 0, 1 after a line on standard error. */
int crew_run(const struct load_options *options, const struct load_url *url, struct crew_result *result) MUST_CHECK;

void crew_result_fini(struct crew_result *result);

#endif
