/*
 * status_ask.h: a client of the status listener: what `millrace status` is made of.
 */
#ifndef CONTROL_STATUS_ASK_H
#define CONTROL_STATUS_ASK_H

#include <stdio.h>

#include "base/address.h"

/* Asks a status listener for `path` and prints the body of its answer. Blocks for 5 s until the connection is there, and
 * for 10 s until the answer is.
 * Returns 0, −1 after a line on standard error when no server answers or the answer is not the one that was asked for. */
int status_ask(const struct address *address, const char *path, FILE *to) __attribute__((warn_unused_result));

#endif
