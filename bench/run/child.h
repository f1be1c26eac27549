/* child.h: programs that a run starts: on given CPUs, with their output in files, within a time limit, and ended when the
 * user interrupts the run.
 *
 * One thread. SIGINT, SIGTERM and SIGHUP of this process are blocked from child_interrupts_begin on and looked at while it
 * waits; a child is a process group of its own, so that Ctrl-C reaches this process alone.
 */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child_plan {
    char *const *argv;        /* argv[0] is looked for in PATH */
    char *const *environment; /* the whole of it */
    const char *out, *err;    /* files that are made */
    const cpu_set_t *cpus;    /* NULL: where this process runs */
    bool despite_interrupts;  /* it is left to end by itself: what stops something else */
};

struct child {
    pid_t pid;      /* 0: none; the number of its group as well */
    int fd;         /* of the process; -1 */
    int error;      /* errno of why it could not be executed; 0 */
    bool despite_interrupts;
    int64_t start_us;
};

struct child_end {
    bool started, timed_out;
    int error;      /* errno, when not started */
    int exit;       /* -1: it did not exit by itself */
    int signal;     /* 0: none */
    int64_t start_us, end_us;
};

/* From now on interrupts are noted instead of ending the process. Returns 0, -1 with errno. */
int child_interrupts_begin(void) __attribute__((warn_unused_result));

/* Whether there has been an interrupt. */
bool child_interrupted(void);

/* Waits that long, less after an interrupt. */
void child_sleep(int64_t us);

/* Starts the program. What goes wrong is told by child_wait. Does not block for longer than the exec. */
void child_start(struct child *child, const struct child_plan *plan);

/* Waits for its end. After limit_us, and at once after an interrupt, its group is told to end, and killed after grace_us.
 * Calls tick (may be NULL) about every 100 ms. Owns nothing of the child afterwards. */
void child_wait(struct child *child, int64_t limit_us, int64_t grace_us, void (*tick)(void *), void *of, struct child_end *end);

#endif
