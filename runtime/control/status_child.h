/*
 * status_child.h: the process that serves the status listener, as the master sees it: a child for each generation, started
 * again when it ends by itself.
 */
#ifndef CONTROL_STATUS_CHILD_H
#define CONTROL_STATUS_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct server;

struct status_child {
    pid_t pid;      /* 0: none */
    int channel;    /* closed to end it; −1: none */
    int64_t due_us; /* when it is started again; 0: nothing is due */
};

/* Starts one that knows all generations, if there is a status listener, and ends the one before it. */
void status_child_start(struct server *server);
void status_child_end(struct server *server);

/* A process has ended: it was this one? */
bool status_child_reap(struct server *server, pid_t pid, int status);
void status_child_fire_due(struct server *server, int64_t now_us);

#endif
