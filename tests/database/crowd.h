/*
 * crowd.h: many HTTP connections that ask tests/apps/pg_queries.c all at once, each request with a token of its own,
 * most of them right, some failing, slow, writing, or given up midway; every answer must be its own request's. Runs in
 * the caller's thread. What goes wrong fails the case that runs.
 */
#ifndef CROWD_H
#define CROWD_H

#include <stdbool.h>
#include <stdint.h>

enum { CROWD_CONNECTIONS = 48 };

/* Requests up to this many in all; what each is, is decided by the seed. */
void crowd_init(const char *address, long requests_max, uint64_t seed);

/* Sends until that many requests were sent in all, and all were answered or given up. `often_away`: 503 is no
 * failure. */
void crowd_run(long until, bool often_away);

void crowd_open_all(void);
void crowd_close_all(void);

/* What the table `entry` must hold, after the last crowd_run: what was answered is there once, what was refused is not
 * there, what was given up or answered 503 at most once. */
void crowd_check_entries(void);

struct crowd_counts {
    long sent, right, refused, away, given_up, inserted;
};
struct crowd_counts crowd_counts(void);
void crowd_print(void);

#endif
