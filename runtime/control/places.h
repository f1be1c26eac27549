/*
 * places.h: whether the files that the master makes can be where the configuration puts them.
 */
#ifndef CONTROL_PLACES_H
#define CONTROL_PLACES_H

#include "control/config.h"

/* Looks at the directories of sockets, logs and the pid file: they are there, and when root starts the server nobody whose
 * rights the workers have could put something else in a file's place. Creates nothing. Returns 0, −1 after reports. */
int places_check(const struct config *config, config_report report) __attribute__((warn_unused_result));

#endif
