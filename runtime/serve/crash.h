/*
 * crash.h: what a worker that crashes leaves for the master to report: the request and the addresses on the stack.
 */
#ifndef SERVE_CRASH_H
#define SERVE_CRASH_H

#include <stdint.h>

struct worker;

/* From now on a deadly signal in this process is written to the worker's slot of the scoreboard before it takes effect. */
void crash_init(struct worker *worker);

/* Gives the calling thread a stack of its own for that, so that an overflowing one is reported as well. */
void crash_prepare_thread(void);

/* The worker is about to end because of the request at hand, without a signal: a repeated one shall not end another. */
void crash_blame_request(void);

#endif
