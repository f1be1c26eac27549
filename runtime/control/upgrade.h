/*
 * upgrade.h: another program takes over: a new master, executed from the same path beside the old one, with its sockets, its
 * ledger, and the way that draining workers hand connections over. When the new one is ready the old one drains and ends;
 * until then whatever goes wrong leaves the old one as it was.
 *
 * What is passed on is named in a memfd, a line each, whose number is in the environment.
 */
#ifndef CONTROL_UPGRADE_H
#define CONTROL_UPGRADE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/shared.h"
#include "control/sockets.h"
#include "serve/inbox.h"

struct server;

/* In the old master. */
struct upgrade {
    pid_t pid;      /* the new master, 0: none */
    int channel;    /* from it */
    int64_t due_us; /* it is ended when it is not ready by then; 0: nothing is due */
    bool asked;     /* it was told to stop, since it took too long */
    bool done;      /* it has taken over */
    int generation; /* its number there, until that was told; 0: was told, or not done */
    char why[512];  /* its first fault, "" : none */
};

void upgrade_begin(struct server *server); /* when neither a reload nor an upgrade is under way */
bool upgrade_hear(struct server *server); /* false: that was all for now */
bool upgrade_reap(struct server *server, pid_t pid, int status);
void upgrade_fire_due(struct server *server, int64_t now_us);
void upgrade_cancel(struct server *server);

/* Whatever has happened: is every request the new one's from now on? */
void upgrade_look(struct server *server);

/* In the new master: what it has inherited. */
#define UPGRADE_FDS_MAX (SOCKETS_MAX + 8)
struct inheritance {
    struct sockets sockets;
    int ledger_fd;          /* −1: none */
    struct inbox handover;
    int channel;            /* to the old master */
    int fds[UPGRADE_FDS_MAX + 1]; /* all of them, in order, ended by −1 */
};

/* Returns 1 when there is an old master, 0 when not, −1 when what it passes on cannot be understood. */
int upgrade_inherit(struct inheritance *inheritance) __attribute__((warn_unused_result));

/* Tells the old master what is wrong, or that this one serves. */
void upgrade_tell_fault(int channel, const char *line);
void upgrade_tell_ready(int channel, int generation);

#endif
