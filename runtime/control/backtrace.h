/*
 * backtrace.h: addresses of a process as a line of text that names functions, files and lines.
 *
 *     hash at hello.c:12 < handle at hello.c:31 < lane_turn at lane.c:208 < start_thread+0x2f0 in libc.so.6
 *
 * The innermost frame comes first. A function that the compiler has put into another has a frame of its own. A frame is
 * `function at file:line`, without line information `function+0x1f in file`, without symbols `file+0x1234`, and an
 * address when it lies in no file.
 *
 * Threads: for a short-lived, unprivileged process with one thread: it allocates, blocks for reading files, and takes
 * DEBUGINFOD_URLS out of the environment, since nothing here may wait for a network.
 */
#ifndef CONTROL_BACKTRACE_H
#define CONTROL_BACKTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"

#define BACKTRACE_FRAMES_MAX 32
#define BACKTRACE_TEXT_BYTES 1500

/* A memfd that processes may have loaded: /memfd:NAME (deleted) in their maps. Everything is borrowed. */
struct backtrace_object {
    const char *name;
    int fd;
};

struct backtrace_objects {
    const struct backtrace_object *at;
    size_t count;
};

struct backtrace {
    int frames;
    bool cut; /* more frames than fit: the text ends with "..." for them */
    size_t length;
    char text[BACKTRACE_TEXT_BYTES]; /* printable bytes alone, no line end; "" without frames */
};

/* Of a process that has died. `maps` is what /proc/PID/maps held before, perhaps cut off anywhere. `addresses[0]` is where
 * it crashed, the others are return addresses; all may be garbage. Objects are found by name and inode number, so that
 * one that has been loaded again since is not taken for the one that crashed. */
void backtrace_of_dead(struct span maps, const struct backtrace_objects *objects, const uintptr_t *addresses,
                       size_t count, struct backtrace *result);

/* Of one thread of a living process; stops it as thread_copy.h says, which has the errors as well. The process must be
 * one that this one may trace: of the same user and dumpable (a process that has changed its user is not before
 * prctl(PR_SET_DUMPABLE, 1)), and with Yama's ptrace_scope 1 a descendant or one that called prctl(PR_SET_PTRACER).
 * Returns 0, −1 with errno and an empty text. */
int backtrace_of_thread(pid_t process, pid_t thread, const struct backtrace_objects *objects, struct backtrace *result)
    __attribute__((warn_unused_result));

/* A list that backtrace(3) makes in a signal handler begins with the handler. Returns the index of the frame that crashed
 * at `pc`, the instruction pointer of the handler's context; 0 when the list does not hold it. */
size_t backtrace_begin(const uintptr_t *addresses, size_t count, uintptr_t pc);

#endif
