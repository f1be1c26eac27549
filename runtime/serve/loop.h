/*
 * loop.h: runs a lane.
 */
#ifndef SERVE_LOOP_H
#define SERVE_LOOP_H

struct lane;

/* Runs the lane until it has ended or this thread has lost it. */
void loop_run(struct lane *lane);

/* The lane has ended: takes the last mail in, such as callbacks that hooks have freed, and frees what is buried. */
void loop_clear(struct lane *lane);

#endif
