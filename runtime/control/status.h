/*
 * status.h: the process that serves the status listener, apart from the workers: it answers when all of them are stuck.
 */
#ifndef CONTROL_STATUS_H
#define CONTROL_STATUS_H

#include <stdio.h>

#include "base/account.h"
#include "base/listener.h"
#include "control/snapshot.h"

struct status_start {
    const struct listener *listener;
    int channel; /* its end is the end of this process */
    const struct account *account;
    struct snapshot_source source;
};

/* The life of the process, from just after the fork. */
_Noreturn void status_main(const struct status_start *start);

/* Asks a status listener for `path` and prints the body of the answer. Blocks for a few seconds at most.
 * Returns 0, −1 after a line on standard error. */
int status_ask(const struct address *address, const char *path, FILE *to) __attribute__((warn_unused_result));

#endif
