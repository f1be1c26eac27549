/* attempt.h: a window that a covariate voided is measured again; what was measured before stays beside it.
 *
 * raw/CELL/ROUND is the last attempt, raw/CELL/ROUND.1 the first one, ROUND.2 the second.
 */
#ifndef RUN_ATTEMPT_H
#define RUN_ATTEMPT_H

#include <jansson.h>
#include <stdbool.h>

#include "run/plan.h"

/* Whether a further attempt may be made: what lies in the folder is void (a failed round is a result, and stays), and there were
 * fewer than the plan allows. `run` is run.json. Reads the round's files. */
bool attempt_wanted(const char *folder, const struct plan *plan, const struct cell *cell, const json_t *run, int round);

/* Puts it aside, under its attempt's number. Returns 0, -1 with errno. */
int attempt_set_aside(const char *folder, const struct cell *cell, int round) __attribute__((warn_unused_result));

#endif
