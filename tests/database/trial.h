/*
 * trial.h: one failure of the database under load: 200 requests/s on a page that needs it, as many on /hello, and how
 * both went before, meanwhile and after. One server for all cases of a program; each case:
 *
 *     trial_begin("/database");
 *     postgres_stop("fast");
 *     trial_broken(500);             (stays like that for so long)
 *     postgres_run();
 *     trial_mended();                (waits for right answers, two seconds at most)
 *     trial_end(&(struct trial_limits){.away = 50});
 *
 * What goes wrong fails the case that runs.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdbool.h>

/* Routes: /database straight to PostgreSQL, /detour, /pg_queries and /guestbook (those applications) through
 * detour.h, /locked with a password. */
enum {
    TRIAL_RATE = 200,
    TRIAL_QUERY_TIMEOUT_MS = 1000,
    TRIAL_RECOVERY_MS = 2000,
    TRIAL_SESSIONS = 40, /* for each of four routes 2 for each of two lanes of two workers, and a pool of 4 in each worker */
};

struct trial_limits {
    int away;      /* at least so many answers 503: else nothing was broken */
    int right;     /* at least so many right ones while it was broken */
    int timeouts;  /* query_timeout_ms counts so often for one request; 0: once */
    bool sessions; /* the server may have more sessions than configured for a while: those of closed connections */
};

/* A path that ends with `token=` and some text gets each request's number behind it. Brings everything into its
 * usual state, starts the clients, looks how the pages are answered for half a second. */
void trial_begin(const char *path);

/* Lets the clients go on for that long. */
void trial_broken(int ms);
void trial_mended(void);

/* How many answers were right and 503, from trial_begin on; those that trial_begin has asked for itself are not
 * counted. */
struct trial_counts {
    long right, away;
};
struct trial_counts trial_end(const struct trial_limits *limits);

/* MILLRACE_TEST_LONG is set: more, longer, and by stricter limits, on a machine that does nothing else. */
bool trial_is_long(void);

#endif
