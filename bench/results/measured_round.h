/* measured_round.h: a round while it is computed; what measured.c and its instruments share. */
#ifndef RESULTS_MEASURED_ROUND_H
#define RESULTS_MEASURED_ROUND_H

#include <jansson.h>
#include <stdbool.h>

#include "observe/usage.h"

struct measured {
    const char *folder;
    char place[300];      /* raw/CELL/ROUND */
    const json_t *cell;
    json_t *outcome;
    const char *status;   /* valid, void, failed */
    json_t *reasons;      /* sentences */
    json_t *figures;
    double goodput;       /* a second */
    double requests;      /* answered rightly in the window: what CPU is divided by */
    double concurrency;   /* NAN in open loop */
    double start_us, end_us; /* the window */
    bool ends_with_tool;     /* its end is that of the process that generates, which has no sample there */
    double lag_p99_us;
    long long body_bytes; /* of the right body; -1: several lengths */
    bool is_open, generator_spins, generator_late;
    struct usage usage;
};

void measured_fail(struct measured *of, const char *format, ...) __attribute__((format(printf, 2, 3)));
void measured_void(struct measured *of, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON file of the round; NULL after a reason has been added. The caller frees it. */
json_t *measured_file(struct measured *of, const char *name) __attribute__((warn_unused_result));

/* What the instruments say: measured_load.c, measured_witness.c. */
void measured_load(struct measured *of);
void measured_witness(struct measured *of);

#endif
