/* process.h: looks at processes through /proc. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PROCESS_CHILDREN_MAX = 32 };

struct process_children {
    pid_t pids[PROCESS_CHILDREN_MAX];
    size_t count;
};

/* The children of a process that run, by number; zombies are left out. */
struct process_children process_children(pid_t parent);
bool process_runs(pid_t pid); /* a zombie does not */
long process_descriptor_count(pid_t pid);
long process_thread_count(pid_t pid);
long process_resident_kb(pid_t pid);
long process_wakeups(pid_t pid); /* voluntary context switches of all its threads so far */

/* Waits until the process has left. Returns whether it did. */
bool process_leaves(pid_t pid, int limit_ms);

#endif
