/* usage.h: what was used in a span of time, from the samples taken around it. Pure. */
#ifndef OBSERVE_USAGE_H
#define OBSERVE_USAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define USAGE_GROUPS_MAX 12
#define USAGE_NAME_BYTES 32

struct usage_group {
    char name[USAGE_NAME_BYTES];
    double cpu_us, user_us, system_us;
    double voluntary, involuntary, run_wait_us; /* by the closer looks; NAN: fewer than two */
    double processes;                           /* at the end */
    double rss_kib, pss_kib, rss_grown_kib;     /* at the last sample, and since the first; NAN */
};

struct usage {
    double seconds;
    double server_busy, generator_busy; /* shares of that side's CPUs */
    double foreign;                     /* cores: what none of the groups took */
    double steal;                       /* the greater of both sides' shares that the hypervisor took */
    double softirq;
    double listen_overflows, listen_drops, retransmits; /* in the span; NAN */
    double clock_step_us;
    struct usage_group groups[USAGE_GROUPS_MAX];
    size_t group_count;
};

/* `samples` is a file of the sampler (millbench-samples/1). Counters are interpolated at both ends of the span. Returns NULL, or
 * why that cannot be told (constant text): it is no such file, or the samples do not cover the span. */
const char *usage_read(const json_t *samples, double start_us, double end_us, struct usage *usage);

/* The time of the last sample that is not after `end_us`; NAN without one. What a process used between its last sample and its end
 * is in the CPUs' time but in no group's: who asks up to its end asks up to here. */
double usage_last_sample_us(const json_t *samples, double end_us);

/* NULL when there is no such group. */
const struct usage_group *usage_group(const struct usage *usage, const char *name);

#endif
