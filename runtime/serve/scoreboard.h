/*
 * scoreboard.h: what the processes of a server tell each other, in memory that they share.
 *
 * Each worker writes its own slot; the master clears the slot of one that has ended. All members are atomics that order
 * nothing: they are read as hints.
 */
#ifndef SERVE_SCOREBOARD_H
#define SERVE_SCOREBOARD_H

#include <stdatomic.h>
#include <stdbool.h>

struct scoreboard_slot {
    _Alignas(64) _Atomic int connections; /* accepted and not closed */
    _Atomic int arriving;                 /* handed over by others and not taken in yet */
    _Atomic bool serving;                 /* ready, and not draining */
};

struct scoreboard {
    int count;
    struct scoreboard_slot slots[];
};

/* Shared with every process forked from now on. NULL with errno. */
struct scoreboard *scoreboard_new(int workers) __attribute__((warn_unused_result));
void scoreboard_free(struct scoreboard *scoreboard);

void scoreboard_clear(struct scoreboard *scoreboard, int worker);

/* Count a connection that is handed over, and one that has been taken in (or was not handed over after all). */
void scoreboard_sent(struct scoreboard *scoreboard, int worker);
void scoreboard_received(struct scoreboard *scoreboard, int worker);

/* Which worker should have the connection that `self` has accepted: itself, unless another has clearly fewer. */
int scoreboard_choose(const struct scoreboard *scoreboard, int self);

#endif
