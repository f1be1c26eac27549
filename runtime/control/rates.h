/*
 * rates.h: requests per second, from what earlier looks at the server saw. Nothing is sampled while nobody looks.
 */
#ifndef CONTROL_RATES_H
#define CONTROL_RATES_H

#include "control/snapshot.h"

/* Takes note of a look. */
void rates_add(const struct snapshot *snapshot);

/* The requests per second of a route of the snapshot over the last seconds; −1: nobody has looked within the last ten. */
double rates_of(const struct snapshot *snapshot, const struct snapshot_route *route);

#endif
