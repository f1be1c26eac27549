/*
 * environment.h: what the environment says about the server. Each configuration that is read gets it, at a reload as well.
 */
#ifndef CONTROL_ENVIRONMENT_H
#define CONTROL_ENVIRONMENT_H

#include "control/config.h"

/* Takes the server's own variables out of the environment: they are not for what handlers execute. Call it first. */
void environment_init(void);

/* Completes the configuration. Returns 0, −1 after a report. */
int environment_apply(struct config *config, config_report report) __attribute__((warn_unused_result));

/* Puts them back, for a program that takes the server over. */
void environment_pass_on(void);

#endif
