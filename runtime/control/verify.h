/*
 * verify.h: opens every application of a configuration in a process of its own.
 */
#ifndef CONTROL_VERIFY_H
#define CONTROL_VERIFY_H

#include "serve/settings.h"

/* Applications' constructors run when they are opened, so this happens in a child with the workers' rights. Prints one
 * line a fault to standard error. Blocks until the child has ended. Returns 0, −1 when there was a fault. */
int verify_applications(const struct settings *settings) __attribute__((warn_unused_result));

#endif
