/* procfs.h: what the kernel's files below /proc say, read from their text. Text in, numbers out: no files, no allocation. */
#ifndef OBSERVE_PROCFS_H
#define OBSERVE_PROCFS_H

#include <stdbool.h>
#include <stdint.h>

#define PROCFS_CPUS_MAX 1024

/* One CPU since the machine's start, in microseconds. */
struct procfs_cpu {
    int64_t busy_us; /* all but idle, waiting for a disk, and stolen */
    int64_t idle_us, steal_us, softirq_us;
};

struct procfs_process {
    int parent;
    bool is_kernel;             /* a thread of the kernel's own */
    int64_t user_us, system_us; /* in steps of the kernel's tick */
    int64_t children_us;        /* of children that have ended and been waited for, and of theirs */
};

struct procfs_switches {
    int64_t voluntary, involuntary;
};

struct procfs_memory {
    int64_t rss_kib, pss_kib;
};

struct procfs_net {
    int64_t listen_overflows, listen_drops, retransmits;
};

/* Each returns false when the text does not hold what is asked for; then nothing is written. ticks: sysconf(_SC_CLK_TCK). */

/* /proc/stat, the line of one CPU. */
bool procfs_cpu(const char *text, int cpu, int ticks, struct procfs_cpu *read);

/* /proc/PID/stat. The command's name may hold blanks and parentheses. */
bool procfs_process(const char *text, int ticks, struct procfs_process *read);

/* /proc/PID/task/TID/status. */
bool procfs_switches(const char *text, struct procfs_switches *read);

/* /proc/PID/task/TID/schedstat: how long it could have run and did not. */
bool procfs_run_wait_us(const char *text, int64_t *run_wait_us);

/* /proc/PID/smaps_rollup. */
bool procfs_memory(const char *text, struct procfs_memory *read);

/* /proc/net/netstat and /proc/net/snmp, one behind the other in any order: a line of names, then one of numbers. */
bool procfs_net(const char *text, struct procfs_net *read);

/* /proc/net/sockstat: connections in TIME_WAIT. */
bool procfs_time_wait(const char *text, int64_t *count);

/* The number behind `name` at the beginning of a line, blanks and a colon between them. */
bool procfs_field(const char *text, const char *name, int64_t *number);

#endif
