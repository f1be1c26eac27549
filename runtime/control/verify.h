/*
 * verify.h: opens every application in a child that has the workers' rights, before a generation is started: constructors
 * run there, and never in the master. The child makes a private copy of each shared object, which the generation keeps: a
 * file that is written over harms nobody, and a worker that is started later gets the same as the others.
 */
#ifndef CONTROL_VERIFY_H
#define CONTROL_VERIFY_H

#include <sys/types.h>

#include "control/config.h"

struct verify {
    pid_t pid;   /* 0: none runs */
    int channel; /* readable when there is something to hear */
    int faults;
    int64_t due_us; /* it is ended when it has not ended by then */
    int at; /* the route whose application is being opened, −1: none yet */
};

enum verify_result { VERIFY_MORE, VERIFY_DONE, VERIFY_FAILED };

/* Starts the child. Returns 0, −1 with errno. */
int verify_begin(struct verify *verify, const struct config *config) __attribute__((warn_unused_result));

/* Hears one thing from the child, waiting for it: takes a copy (route->object_fd of `config`), or reports a fault. After
 * VERIFY_DONE or VERIFY_FAILED the child is about to end, or has; it is the caller's to reap. */
enum verify_result verify_hear(struct verify *verify, struct config *config, config_report report)
    __attribute__((warn_unused_result));

/* It takes too long. What it has heard by then is heard, and then that it has ended. */
void verify_end(const struct verify *verify);

/* All of it, waiting for the end. Returns 0, −1 after a fault. */
int verify_wait(struct config *config, config_report report) __attribute__((warn_unused_result));

#endif
