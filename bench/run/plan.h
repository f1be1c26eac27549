/* plan.h: a plan, a text file that says what is measured: servers, paths, workloads, instruments, loads, rounds and windows.
 *
 * Reading one expands its blocks to cells, each of which is measured once a round. It knows no server and starts nothing.
 */
#ifndef RUN_PLAN_H
#define RUN_PLAN_H

#include <stdbool.h>
#include <stddef.h>

enum instrument { INSTRUMENT_LOAD, INSTRUMENT_AB, INSTRUMENT_HTTPERF };

/* The strings belong to the plan. */
struct cell {
    char *name;          /* server.configuration.path.workload.instrument.load, a folder's name as well */
    char *section;       /* where a report shows it: matrix, rate, sweep, bandwidth, null, ...; the title of its block, if it does not say */
    char *server;        /* a target or a peer */
    char *configuration;
    char *path;
    char *workload;
    enum instrument instrument;
    int concurrency;     /* closed loop; 0 in open loop */
    int rate;            /* open loop, requests a second; 0 in closed loop */
    int rounds;
    double window_s;
};

struct plan {
    char *name;          /* the file's without .conf */
    char *description;
    char *layout;        /* 1+1, sets or shared */
    int rounds, witness_rounds; /* what a block does not say itself: of load, of ab and httperf */
    int attempts;        /* at most so many times is a window measured that a covariate voids */
    double minutes;      /* ... while the whole run still ends within so many; 0: however long it takes */
    double window_s;     /* the timed window */
    double warm_up_s;    /* the longest warm-up */
    struct cell *cells;
    size_t cell_count;
};

/* Reads a plan. Returns 0, or -1 after saying on standard error which line is wrong and why. */
int plan_read(struct plan *plan, const char *file) __attribute__((warn_unused_result));
void plan_fini(struct plan *plan);

/* Keeps only the cells whose name holds the pattern (fnmatch(3), with * at both ends). */
void plan_keep(struct plan *plan, const char *pattern);

/* The strings of a cell that has been taken out of its plan. */
void plan_free_cell(struct cell *cell);

/* The greatest number of rounds of any cell. */
int plan_rounds(const struct plan *plan);

/* Seconds that one round of a cell takes: warm-up, window, checks. An estimate. */
double plan_cell_seconds(const struct plan *plan, const struct cell *cell);

const char *plan_instrument(enum instrument instrument); /* load, ab, httperf */

#endif
