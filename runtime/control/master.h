/*
 * master.h: the process that keeps the workers alive.
 */
#ifndef CONTROL_MASTER_H
#define CONTROL_MASTER_H

#include "control/config.h"
#include "control/sockets.h"

enum master_exit { MASTER_EXIT_STOPPED = 0, MASTER_EXIT_CANNOT_START = 1, MASTER_EXIT_BAD_USAGE = 2 };

/* Runs until the server has stopped. Returns the exit status. */
int master_run(const struct config *config, struct sockets *sockets) __attribute__((warn_unused_result));

/* Serves in this process alone: one lane, no watchdog, no time limits. For debuggers. Never returns. */
_Noreturn void master_debug(const struct config *config, struct sockets *sockets);

#endif
