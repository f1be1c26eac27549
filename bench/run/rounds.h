/* rounds.h: the order of a run: in each round every server is started afresh, in random order, and each of its cells measured,
 * in random order. Then what a covariate voided is measured again, while its server runs and the time allows. What is there already is left out, so that an interrupted run goes on where it was.
 */
#ifndef RUN_ROUNDS_H
#define RUN_ROUNDS_H

#include "run/cell.h"
#include "run/journal.h"
#include "run/plan.h"

enum rounds_end { ROUNDS_COMPLETE, ROUNDS_INTERRUPTED, ROUNDS_FAILED };

/* Measures whatever the plan asks for and the folder does not have. Blocks for that long; after an interrupt, and when nothing
 * can be written, it stops what it has started first. */
enum rounds_end rounds_run(const struct plan *plan, const struct cell_site *site, const struct target_place *place,
                           struct journal *journal);

/* Seconds that the whole plan takes, estimated. */
double rounds_seconds(const struct plan *plan);

#endif
