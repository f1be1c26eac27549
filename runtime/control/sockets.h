/*
 * sockets.h: where the listening sockets come from: systemd, descriptor 0, or the configuration.
 */
#ifndef CONTROL_SOCKETS_H
#define CONTROL_SOCKETS_H

#include "base/listener.h"
#include "control/config.h"

struct sockets {
    struct listener listeners[CONFIG_LISTENERS_MAX];
    int count;
};

/* Closes every inherited descriptor but the standard ones and systemd's sockets: no worker, and nothing that a handler
 * executes, shall hold a stranger's file open. Call it first. */
void sockets_close_strangers(void);

/* Moves inherited sockets out of the way of descriptor 0 and makes all close-on-exec. Prints one line to standard error
 * for a fault. Returns 0, −1. */
int sockets_open(struct sockets *sockets, const struct config *config) __attribute__((warn_unused_result));

/* Closes all, and removes the files of those that were bound here. */
void sockets_close(struct sockets *sockets);

/* One log line a listener: address, where it comes from, effective backlog. */
void sockets_log(const struct sockets *sockets, int backlog);

#endif
