/*
 * master.h: the process that keeps the workers alive.
 */
#ifndef CONTROL_MASTER_H
#define CONTROL_MASTER_H

#include "control/config.h"
#include "control/sockets.h"
#include "control/upgrade.h"

enum master_exit { MASTER_EXIT_STOPPED = 0, MASTER_EXIT_CANNOT_START = 1, MASTER_EXIT_BAD_USAGE = 2 };

struct master_start {
    const char *configuration; /* its path */
    const char *program;       /* this one's path */
    struct config *config;     /* taken over */
    struct sockets *sockets;   /* taken over */
    struct inheritance *inheritance; /* of a master before this one, NULL: there is none */
    int access_fd;             /* the access log, −1: none */
};

/* Runs until the server has stopped. Returns the exit status. */
int master_run(const struct master_start *start) __attribute__((warn_unused_result));

/* Serves in this process alone: one lane, no watchdog, no time limits. For debuggers. Never returns. */
_Noreturn void master_debug(const struct master_start *start);

#endif
