/* replacement.h: which cells want a further round, because rounds of theirs are void. */
#ifndef RUN_REPLACEMENT_H
#define RUN_REPLACEMENT_H

#include <jansson.h>
#include <stdbool.h>

#include "run/plan.h"

/* Sets wanted[i] for each cell of the plan that, with those it is compared with (the same workload, instrument and load), has fewer
 * rounds that no covariate voided on any of them than it should have. A failed round is a result, and is not replaced. `run` is
 * run.json; `rounds` is how many were made. Returns how many cells want one. Reads the folder's files. */
size_t replacement_wanted(const char *folder, const struct plan *plan, const json_t *run, int rounds, bool *wanted);

#endif
