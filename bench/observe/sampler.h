/* sampler.h: what the machine and the processes of a measurement do meanwhile: CPU, switches, memory, network, every so often.
 *
 * A thread of its own reads the kernel's counters; nothing is asked of what is measured. A group is a process with all its
 * descendants, those that come later as well; what has ended keeps the CPU that it was last seen with. All other processes are one sum.
 */
#ifndef OBSERVE_SAMPLER_H
#define OBSERVE_SAMPLER_H

#include <sched.h>
#include <stddef.h>
#include <sys/types.h>

#define SAMPLER_GROUPS_MAX 12

/* Several of one name are one group. */
struct sampler_group {
    const char *name;
    pid_t root;
};

struct sampler_plan {
    const cpu_set_t *server_cpus, *generator_cpus;
    const struct sampler_group *groups;
    size_t group_count;
    int interval_ms;
    const char *file; /* where the samples go: schema millbench-samples/1 */
};

struct sampler;

/* Begins, and takes the first sample before it returns. The plan may go afterwards. */
struct sampler *sampler_start(const struct sampler_plan *plan) __attribute__((warn_unused_result));

/* Takes the last sample, writes the file and frees everything. Returns 0, -1 with errno when the file cannot be written. */
int sampler_stop(struct sampler *sampler) __attribute__((warn_unused_result));

#endif
