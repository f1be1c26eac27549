/*
 * ruling.h: what is to be done with a run of a tool: accepted, void or failed, and each reason as a sentence.
 *
 * A void run measured something else than it was asked to; a failed one has no numbers. Neither is ever a zero.
 */
#ifndef BENCH_TOOLS_RULING_H
#define BENCH_TOOLS_RULING_H

#include <stdbool.h>

#define RULING_REASONS_MAX      16
#define RULING_REASON_BYTES_MAX 240

enum ruling_status {
    RULING_ACCEPTED,
    RULING_VOID,
    RULING_FAILED,
};

struct ruling {
    enum ruling_status status;
    int reason_count; /* 0 exactly when accepted */
    char reasons[RULING_REASONS_MAX][RULING_REASON_BYTES_MAX];
};

void ruling_init(struct ruling *ruling);

/* Adds a reason, and makes the run void unless it has failed already. One that was given before is not repeated; when
 * there are too many, the last place says so. */
void ruling_void(struct ruling *ruling, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a reason, and makes the run a failed one. */
void ruling_fail(struct ruling *ruling, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns "accepted", "void" or "failed". */
const char *ruling_name(enum ruling_status status);

#endif
