/*
 * listen.h: accepts connections and hands them round the workers and their lanes. On a lane's runner.
 */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <stdbool.h>

struct lane;

/* Registers the worker's listeners and its inbox with the lane. Returns 0, −1 with errno. */
int listen_begin(struct lane *lane) __attribute__((warn_unused_result));

/* Stops accepting. With `all` those who have connected by now are taken in first, else they are others'. */
void listen_end(struct lane *lane, bool all);

/* Accepting was paused for want of descriptors; its time has come. */
void listen_resume(struct lane *lane);

/* An event's pointer: one of the worker's listeners, or its inbox? Takes in what waits there. */
bool listen_is_source(const struct lane *lane, const void *pointer);
void listen_take(struct lane *lane, void *source);

#endif
