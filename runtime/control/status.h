/*
 * status.h: the process that serves the status listener, apart from the workers: it answers when all of them are stuck.
 */
#ifndef CONTROL_STATUS_H
#define CONTROL_STATUS_H

#include "base/account.h"
#include "base/listener.h"
#include "control/snapshot.h"

struct status_start {
    const struct listener *listener; /* listens already; others may accept from it as well */
    int channel;                     /* its end is the end of this process */
    const struct account *account;
    struct snapshot_source source;
};

/* The life of the process, from just after the fork: with one thread. Closes every descriptor but the listener, the channel
 * and the standard ones. Between two requests it sleeps. */
_Noreturn void status_main(const struct status_start *start);

#endif
