/* covariate.c: what makes a round void; see covariate.h. */
#include "judge/covariate.h"

#include <math.h>
#include <stdio.h>

size_t covariate_judge(const struct covariate *seen, char reasons[COVARIATE_REASONS][COVARIATE_BYTES])
{
    size_t count = 0;
    if (seen->foreign > COVARIATE_FOREIGN)
        snprintf(reasons[count++], COVARIATE_BYTES, "other programs took %.1f %% of a core (at most %.0f %%)",
                 100 * seen->foreign, 100 * COVARIATE_FOREIGN);
    if (seen->steal > COVARIATE_STEAL)
        snprintf(reasons[count++], COVARIATE_BYTES,
                 "the hypervisor took %.1f %% of the CPUs of one side (at most %.0f %%)", 100 * seen->steal,
                 100 * COVARIATE_STEAL);
    if (fabs(seen->clock_step_us) > COVARIATE_STEP_US)
        snprintf(reasons[count++], COVARIATE_BYTES, "the clock was set by %.0f ms (at most %d ms)",
                 seen->clock_step_us / 1000, COVARIATE_STEP_US / 1000);
    if (seen->lag_p99_us > COVARIATE_LAG_US)
        snprintf(reasons[count++], COVARIATE_BYTES,
                 "the generator sent 1 %% of the requests %.1f ms late or later (at most %d ms)",
                 seen->lag_p99_us / 1000, COVARIATE_LAG_US / 1000);
    return count;
}
