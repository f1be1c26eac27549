/*
 * scorer.h: judges each reply and each failure of a generating process, and counts it if it belongs to the window.
 */
#ifndef LOAD_SCORER_H
#define LOAD_SCORER_H

#include "load/client.h"
#include "load/driver.h"

/* Borrows everything. */
struct scorer {
    const struct load_options *options;
    struct driver_shared *shared;
    struct tally *tally;
    _Atomic uint8_t *seen;
    int64_t now_us; /* set by the driver, and by scorer_reply and scorer_failure */
};

/* Whether what happens to the client's request now belongs to the window: with -n those count that began in it, else those
 * that end in it. */
bool scorer_counts(const struct scorer *scorer, const struct client *client);

/* Its request has gone out. */
void scorer_sent(struct scorer *scorer, struct client *client);

/* It has a whole reply, right or wrong. Outside the window too, since the first body may come in the warm-up. */
void scorer_reply(struct scorer *scorer, const struct client *client);

/* `error`: an errno, for FAILURE_CONNECT. */
void scorer_failure(struct scorer *scorer, const struct client *client, enum failure kind, int error);

#endif
