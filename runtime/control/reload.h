/*
 * reload.h: a new generation beside the one that serves: read, checked, started and ready before the old one drains. Where
 * anything of that fails the old one stays.
 */
#ifndef CONTROL_RELOAD_H
#define CONTROL_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "control/config.h"
#include "control/sockets.h"
#include "control/verify.h"

struct generation;
struct server;

struct reload {
    struct config config;    /* while it is checked */
    struct verify verify;    /* pid 0: no check is under way */
    struct generation *next; /* while it starts, NULL: none does */
    struct generation *old;  /* the new one serves, and this one still accepts; NULL: no */
    bool logs_changed;       /* its logs are open, and become the old ones again when it fails */
    bool again;              /* asked for once more meanwhile */
    char why[512];           /* the first fault, "" : none yet */
};

/* Begins one, or remembers that another was asked for. */
void reload_begin(struct server *server);

/* The checking child has said something. */
void reload_hear(struct server *server);

/* The checking child takes too long. */
void reload_fire_due(struct server *server, int64_t now_us);

/* Whatever has happened: is the new generation ready, or has it failed? */
void reload_look(struct server *server);

/* The server stops: nothing new is started. */
void reload_cancel(struct server *server);

bool reload_is_under_way(const struct server *server);

#endif
