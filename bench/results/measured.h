/* measured.h: what one round of one cell came to, computed from the files that it left.
 */
#ifndef RESULTS_MEASURED_H
#define RESULTS_MEASURED_H

#include <jansson.h>

/* `cell` is that of run.json, `pages` its list of right bodies; attempt 0 is the round's last one, others were put aside. Returns the round as results.json has it: status valid, void or
 * failed with its reasons, and only where it is not failed the figures. Files that are missing, broken or say what cannot be
 * make it failed. The caller frees it. */
json_t *measured_round(const char *folder, const json_t *cell, int round, int attempt, const json_t *pages) __attribute__((warn_unused_result));

#endif
