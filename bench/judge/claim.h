/* claim.h: what may be said of two servers. The only sentences about them that a report prints. Pure. */
#ifndef JUDGE_CLAIM_H
#define JUDGE_CLAIM_H

#include <stdbool.h>
#include <stddef.h>

#include "judge/limiter.h"
#include "judge/signed_rank.h"

#define CLAIM_ROUNDS     10   /* fewer pairs of rounds allow no claim */
#define CLAIM_LEVEL      0.95
#define CLAIM_EQUIVALENT 0.02 /* an interval within that is equality */
#define CLAIM_BYTES      400

enum claim_verdict { CLAIM_NONE, CLAIM_FASTER, CLAIM_EQUAL, CLAIM_INCONCLUSIVE, CLAIM_AT_LEAST };

struct claim_side {
    const char *name;
    enum limiter limiter;
    double goodput;       /* median, a second */
    const char *problem;  /* "failed in round 2: it crashed"; NULL: every round was right */
};

/* Pairs: rounds that both sides have and that no covariate voided. */
struct claim_input {
    struct claim_side a, b;
    const double *rate_ratios;  /* ln(a ÷ b) of goodput */
    size_t rate_count;
    const double *cpu_ratios;   /* ln(b ÷ a) of the server's CPU per request: positive where a does more with it */
    size_t cpu_count;
    double noise;               /* |ln| of what the same server under two names differed by; NAN: not measured */
};

struct claim {
    enum claim_verdict verdict;
    struct estimate first, second; /* ln; n = 0: there is none */
    bool agrees;                   /* the second has the first's sign, or there is none */
    char text[CLAIM_BYTES];
};

void claim_make(const struct claim_input *input, struct claim *claim);

/* How many rounds would decide, where `estimate` does not: the interval narrows with their square root. 0: no number would. */
size_t claim_rounds_needed(const struct estimate *estimate, double noise);

/* Returns faster, equivalent, inconclusive, at_least or none. */
const char *claim_name(enum claim_verdict verdict);

/* ln(ratio) as per cent: 0.05 gives 5.13. */
double claim_percent(double log_ratio);

#endif
