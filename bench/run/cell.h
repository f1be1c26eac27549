/* cell.h: one round of one cell: warm-up, the timed window, what was sampled beside it, all written to its folder.
 *
 * It decides nothing: what the round is worth is computed later from what lies in the folder.
 */
#ifndef RUN_CELL_H
#define RUN_CELL_H

#include <sched.h>

#include "observe/sampler.h"
#include "run/plan.h"
#include "run/target.h"

/* What is the same for all cells of a run. */
struct cell_site {
    const char *folder;      /* the run's */
    const char *program;     /* millbench itself, which is the generator */
    double warm_up_s;        /* the longest */
    const char *server_list, *generator_list; /* the CPUs as text, 0-3,5, for the commands */
    cpu_set_t server_cpus, generator_cpus;
    int generator_count;     /* how many CPUs the generator has */
};

enum cell_status { CELL_DONE, CELL_INTERRUPTED, CELL_SERVER_DIED, CELL_UNWRITTEN };

/* Measures the cell and leaves raw/NAME/ROUND in the run's folder, complete; after an interrupt or when nothing can be
 * written, after a line on standard error, nothing of it. Blocks for the warm-up and the window. */
enum cell_status cell_measure(const struct cell_site *site, const struct cell *cell, int round, const struct target *target);

/* Writes the same folder for a round that could not be made, with the reason. Returns 0, -1 after a line on standard error. */
int cell_fail(const struct cell_site *site, const struct cell *cell, int round, const char *reason) __attribute__((warn_unused_result));

/* Whether the round is there, complete. */
bool cell_is_done(const struct cell_site *site, const struct cell *cell, int round);

#endif
