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
size_t process_zombie_count(pid_t parent); /* children that have ended and that nobody has waited for */
long process_shared_count(pid_t pid); /* mappings of memory that processes share: memfds, /dev/shm */
long process_descriptor_count(pid_t pid);
long process_socket_count(pid_t pid); /* descriptors, those of one socket as one */
long process_thread_count(pid_t pid);
long process_resident_kb(pid_t pid);
long process_cpu_ms(pid_t pid); /* of all its threads so far, to the clock tick */
long process_switches(pid_t pid); /* context switches of all its threads so far */

/* The sockets and the like in each of its epoll sets, set by set. Returns the number of sets, at most `max`. */
size_t process_epoll_counts(pid_t pid, int *counts, size_t max);

/* Waits until the process has left. Returns whether it did. */
bool process_leaves(pid_t pid, int limit_ms);

#endif
