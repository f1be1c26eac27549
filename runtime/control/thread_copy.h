/*
 * thread_copy.h: registers and stack of one thread of another process, as they are at one moment.
 */
#ifndef CONTROL_THREAD_COPY_H
#define CONTROL_THREAD_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define THREAD_COPY_REGISTERS 17
#define THREAD_COPY_SP        7
#define THREAD_COPY_PC        16

struct thread_copy {
    uint64_t registers[THREAD_COPY_REGISTERS]; /* in DWARF's order. Source: System V ABI for AMD64, figure 3.36 */
    uint8_t *stack;                         /* from the stack pointer upwards, at most 1 MiB */
    size_t stack_bytes;
};

/* Stops the thread with ptrace for as long as copying takes, far below a millisecond. Its system calls go on afterwards:
 * none returns EINTR for this, and none ends early. The time limits of epoll_wait and of sockets with SO_RCVTIMEO or
 * SO_SNDTIMEO begin anew, since the kernel does not keep what was left of them; all others are kept.
 * Returns 0; −1 with errno: EPERM (ptrace is not permitted), ESRCH (the thread does not exist, or has just ended),
 * ETIMEDOUT (it waits in the kernel for something that cannot be interrupted), ENOTSUP (a machine other than x86-64).
 * Owns: `stack` until thread_copy_fini; nothing after −1.
 * Blocks: for half a second at most. After ETIMEDOUT the thread is let go when this process ends.
 * Threads: for a process with one thread and no children, in which SIGCHLD is not ignored. */
int thread_copy_init(struct thread_copy *copy, pid_t process, pid_t thread) __attribute__((warn_unused_result));

void thread_copy_fini(struct thread_copy *copy);

#endif
