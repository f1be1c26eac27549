/* limiter.h: what a rate was limited by: the server, the generator, or neither. Pure. */
#ifndef JUDGE_LIMITER_H
#define JUDGE_LIMITER_H

#include <stdbool.h>
#include <stddef.h>

enum limiter { LIMITER_UNKNOWN, LIMITER_SERVER, LIMITER_GENERATOR, LIMITER_NEITHER };

#define LIMITER_BUSY     0.95 /* of the CPUs of one side: it can do no more */
#define LIMITER_AT_EASE  0.90 /* of the generator's: it could do more */
#define LIMITER_HEADROOM 1.25 /* a server that does nothing must be that much faster, or the generator is too near its end */

/* Shares of one side's CPUs from 0 to 1; NAN: not known. */
struct limiter_input {
    double server_busy, generator_busy;
    bool generator_spins; /* httperf: its CPU says nothing, generator_late does */
    bool generator_late;
    bool is_open;         /* a fixed rate: nothing is at its limit, or the rate is not kept */
};

/* In the window, a second and CPU. */
struct limiter_signs {
    double listen_overflows; /* a second */
    double server_run_wait;  /* of the processes that serve: seconds waited for a CPU, a second */
    double database_busy;    /* PostgreSQL's share of the server's CPUs */
    int concurrency;         /* connections, 0: not known */
};

enum limiter limiter_of(const struct limiter_input *input);

/* Returns server, generator, neither or unknown. */
const char *limiter_name(enum limiter limiter);

/* What it may be when it is neither. Writes up to `room` sentences (constant texts) and returns how many. */
size_t limiter_suspects(const struct limiter_input *input, const struct limiter_signs *signs, const char **suspects,
                        size_t room);

#endif
