/*
 * backtrace.h: turns addresses in a process into the names of functions, with files and lines where the debug information
 * has them. Runs in a child that ends soon after: it may block, and opens the files that the process has mapped.
 */
#ifndef CONTROL_BACKTRACE_H
#define CONTROL_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Applications are loaded from memory (memfd_create(2)), which has no path: what a process's maps say of it is
 * `/memfd:NAME (deleted)`, and this is where the bytes are. */
struct backtrace_object {
    const char *name; /* without /memfd: and (deleted) */
    int fd;
};

struct backtrace_maps {
    const char *text; /* /proc/PID/maps; its last line may be cut off */
    size_t length;
    const struct backtrace_object *objects;
    size_t object_count;
};

#define BACKTRACE_BYTES 1500

/* Of a process that has ended: frames[0] is where it was, the others are return addresses. Writes one line, innermost first:
 * `divide at page.c:12 < handle at page.c:40 < ...`. */
void backtrace_of_dead(char line[BACKTRACE_BYTES], const struct backtrace_maps *maps, const uintptr_t *frames,
                       size_t frame_count);

/* Of one thread of a process that lives, whose maps these are: it is stopped for a moment, and its system call goes on as if
 * it had not been. Returns 0, −1 with errno (EPERM: it may not be traced). */
int backtrace_of_thread(char line[BACKTRACE_BYTES], const struct backtrace_maps *maps, pid_t thread)
    __attribute__((warn_unused_result));

#endif
