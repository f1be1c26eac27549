/*
 * sockets.h: where the listening sockets come from: a master before this one, systemd, descriptor 0, or the configuration.
 */
#ifndef CONTROL_SOCKETS_H
#define CONTROL_SOCKETS_H

#include "base/listener.h"
#include "control/config.h"

#define SOCKETS_MAX (LISTENER_PROTOCOLS * CONFIG_LISTENERS_MAX)

struct sockets {
    struct listener listeners[SOCKETS_MAX]; /* for requests */
    int count;
    struct listener status; /* fd −1: none */
    bool inherited[LISTENER_PROTOCOLS]; /* from systemd or descriptor 0: no configuration changes those of this protocol */
    bool status_inherited;
};

/* Closes every inherited descriptor but the standard ones, systemd's sockets and those of a master before this one (a list
 * ended by −1, in order; NULL: none): no worker, and nothing that a handler executes, shall hold a stranger's file open.
 * Call it first. */
void sockets_close_strangers(const int *keep);

/* Moves inherited sockets out of the way of descriptor 0, makes all close-on-exec, and binds what the configuration names
 * and nobody has brought. Returns 0, −1 after a report. */
int sockets_open(struct sockets *sockets, const struct config *config, config_report report)
    __attribute__((warn_unused_result));

/* Those that another configuration names: the ones of `sockets` where they are the same, new ones where not. `next` shares
 * descriptors with `sockets` until one of the two is dropped. Returns 0, −1 after a report. */
int sockets_change(struct sockets *next, const struct sockets *sockets, const struct config *config, config_report report)
    __attribute__((warn_unused_result));

/* Closes those of `dropped` that `kept` does not share, and turns away who connects to them. */
void sockets_drop(struct sockets *dropped, const struct sockets *kept);

/* Closes all, and removes the files of those that were bound here. */
void sockets_close(struct sockets *sockets);

/* Their files belong to another process now, which removes them. */
void sockets_disown(struct sockets *sockets);

/* What was handed on is this process's alone from now on. */
void sockets_own(struct sockets *sockets);

/* One log line a listener: address, where it comes from, effective backlog. */
void sockets_log(const struct sockets *sockets, int backlog);

#endif
