/*
 * driver.h: one generating process: its connections, its clock, its part of the load.
 */
#ifndef LOAD_DRIVER_H
#define LOAD_DRIVER_H

#include <stdatomic.h>
#include <sys/socket.h>

#include "load/load_options.h"
#include "load/tally.h"

/* What the processes share, besides their tallies. */
struct driver_shared {
    /* Without an expected body the first verified one is the standard. Whoever puts its hash here first (0: none yet) writes
     * the length plus one behind it (0: not yet known), so a reader that finds the hash may have to do without the length. */
    _Atomic uint64_t standard_hash, standard_length;
    int64_t begin_us, window_start_us, window_end_us; /* written before any process runs; the end INT64_MAX with -n */
};

struct driver_job {
    const struct load_options *options;
    const struct sockaddr *address;
    socklen_t address_length;
    const char *request;
    size_t request_length;
    struct driver_shared *shared;
    _Atomic uint8_t *seen; /* for each expected body (one when there is none): whether one came; shared as well */
    struct tally *tally;
    int number; /* of this process, from 0 */
};

/* Generates load until the window ends, all is done or a signal asks to stop. Blocks. Returns the exit status of the process,
 * after a line on standard error when it is not 0. */
int driver_run(const struct driver_job *job);

#endif
