/* covariate.h: what makes a round void: what else happened on the machine, never what came of the round. Pure. */
#ifndef JUDGE_COVARIATE_H
#define JUDGE_COVARIATE_H

#include <stddef.h>

#define COVARIATE_FOREIGN 0.03   /* of a core */
#define COVARIATE_STEAL   0.01   /* of the CPUs of the server, or of the generator */
#define COVARIATE_STEP_US 10000  /* of the wall clock against the monotonic one */
#define COVARIATE_LAG_US  5000   /* p99 of how late an open loop sent */
#define COVARIATE_REASONS 4
#define COVARIATE_BYTES   160

/* NAN: not known, which voids nothing but is no number either. */
struct covariate {
    double foreign;    /* cores, summed over the measured CPUs */
    double steal;      /* the greater share of both sides */
    double clock_step_us;
    double lag_p99_us; /* open loop; NAN in closed loop */
};

/* Writes the reasons, sentences with their numbers, and returns how many: 0, the round counts. */
size_t covariate_judge(const struct covariate *seen, char reasons[COVARIATE_REASONS][COVARIATE_BYTES]);

#endif
