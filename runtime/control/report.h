/*
 * report.h: log lines that need a look at a process's memory or at debug information: crashes, and handlers that take too
 * long. A child with the workers' rights looks, so that the master opens nothing; should that child fail, the line comes
 * without its backtrace.
 */
#ifndef CONTROL_REPORT_H
#define CONTROL_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"

struct generation;
struct server;

#define REPORTS_MAX        8    /* at once; more come without a backtrace */
#define REPORT_LINE_BYTES  1000
#define REPORT_LIMIT_US    INT64_C(20000000)

struct report {
    pid_t pid; /* of the child, 0: none */
    int64_t due_us; /* it is ended then */
    char line[REPORT_LINE_BYTES]; /* what the log says when the child does not */
    enum log_level level;
    pid_t traced; /* the worker that lets itself be looked at, 0: none */
};

struct reports {
    struct report all[REPORTS_MAX];
};

/* Whether a worker that has ended, with this status of waitpid(2), has crashed: a sanitizer's handler, which comes after ours,
 * exits by itself. */
bool report_is_crash(const struct generation *generation, int place, int status);

/* The worker at this place has crashed. */
void report_crash(struct server *server, struct generation *generation, int place, int status);

/* A thread of the worker at this place has run a handler for longer than its request_timeout. */
void report_slow(struct server *server, struct generation *generation, int place, int thread);

/* A process has ended: was it one of these? */
bool report_reap(struct server *server, pid_t pid, int status);

int64_t report_due_us(const struct server *server);
void report_fire_due(struct server *server, int64_t now_us);

#endif
