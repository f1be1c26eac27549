/*
 * supervise.h: what to do about one worker, as a table of states and events. Pure: no processes, no clocks.
 */
#ifndef CONTROL_SUPERVISE_H
#define CONTROL_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

enum supervise_state {
    SUPERVISE_NONE,     /* no process, none wanted yet */
    SUPERVISE_STARTING, /* forked, not ready; killed when `due_us` has come */
    SUPERVISE_READY,
    SUPERVISE_WAITING,  /* ended; another is started when `due_us` has come */
    SUPERVISE_STOPPING, /* told to drain; killed when `due_us` has come */
    SUPERVISE_KILLED,   /* sent SIGKILL */
    SUPERVISE_GONE,     /* ended for good */
    SUPERVISE_STATES,
};

enum supervise_event {
    SUPERVISE_START,
    SUPERVISE_IS_READY,
    SUPERVISE_EXITED,
    SUPERVISE_NOT_FORKED, /* no process could be made */
    SUPERVISE_DUE,  /* due_us has come */
    SUPERVISE_STOP, /* the server drains */
    SUPERVISE_KILL, /* the server stops at once */
    SUPERVISE_EVENTS,
};

enum supervise_action {
    SUPERVISE_DO_NOTHING,
    SUPERVISE_DO_FORK,
    SUPERVISE_DO_DRAIN,
    SUPERVISE_DO_KILL,
    SUPERVISE_DO_GIVE_UP, /* it cannot live */
};

struct supervise { /* zeroed at the start */
    enum supervise_state state;
    int quick_exits;   /* in a row: before ready, or within a second of it */
    int unready_exits; /* in a row: before ready */
    bool was_ready;    /* at least once */
    int64_t ready_us;  /* when it last became ready */
    int64_t due_us;    /* 0: nothing is due */
};

#define SUPERVISE_QUICK_US       INT64_C(1000000)
#define SUPERVISE_DELAY_US       INT64_C(100000) /* the first delay; doubles with each further quick exit */
#define SUPERVISE_DOUBLINGS_MAX   3 /* 0.8 s at most */
#define SUPERVISE_QUICK_EXITS_MAX 8

/* How long a worker may take to become ready, and to drain. */
struct supervise_limits {
    int64_t start_timeout_us, stop_timeout_us;
};

/* Changes the state for the event and returns what has to be done. An event that means nothing in a state does
 * nothing. */
enum supervise_action supervise_step(struct supervise *worker, enum supervise_event event, int64_t now_us,
                                     const struct supervise_limits *limits) __attribute__((warn_unused_result));

#endif
