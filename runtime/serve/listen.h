/*
 * listen.h: accepts connections and hands them round the worker's lanes. On a lane's runner.
 */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include <stdbool.h>

struct lane;
struct listener;

/* Registers the worker's listeners with the lane. Returns 0, −1 with errno. */
int listen_begin(struct lane *lane) __attribute__((warn_unused_result));
void listen_end(struct lane *lane);

/* Accepting was paused for want of descriptors; its time has come. */
void listen_resume(struct lane *lane);

bool listen_is_listener(const struct lane *lane, const void *pointer);
void listen_accept(struct lane *lane, struct listener *listener);

#endif
