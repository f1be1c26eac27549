/*
 * race.h: the points at which threads hand something over to each other, by name.
 *
 * In the program that is installed they are nothing. In the one that tests/flow/test_races.c runs (built with MR_RACES) a
 * thread may be held at one of them, chosen by the environment: MILLRACE_RACE=POINT holds the first and every fourth passing
 * thread for up to 3 ms there, so that the other side comes first.
 */
#ifndef BASE_RACE_H
#define BASE_RACE_H

#define RACE_POINTS(point)                                                                                             \
    point(lane_entered)     /* the call is marked as running, the handler not yet called */                            \
    point(lane_leaving)     /* the handler has returned, the lane may still be taken */                                \
    point(lane_lost)        /* the lane is another's, the answer not yet sent */                                       \
    point(lane_posting)     /* the answer is out, as far as it goes without waiting */                                 \
    point(lane_given_up)    /* a handler is about to give its lane away */                                             \
    point(lane_taken)       /* taken from the handler, not yet given to the reserved thread */                         \
    point(lane_starving)    /* no thread was free, and nobody has been told */                                         \
    point(lane_resting)     /* the reservation is given back, still marked as awake */                                 \
    point(lane_asleep)      /* marked as not awake, about to wait for events */                                        \
    point(lane_awake)       /* marked as awake, the watchdog not yet told */                                           \
    point(lane_putting)     /* in the mailbox without a wake-up, the lane perhaps taken by now */                      \
    point(suspend_resuming) /* a request's waiting is over, its lane not yet told */                                   \
    point(callback_lost)    /* a callback has returned without its lane */                                             \
    point(pool_handing)     /* a thread is off the waiting list and not yet woken */                                   \
    point(pool_woken)       /* woken for a lane, not yet running it */                                                 \
    point(pool_returning)   /* done with a lane, not yet on the waiting list */                                        \
    point(pool_waiting)     /* on the waiting list, not yet counted as free */                                         \
    point(watchdog_looked)  /* a call was seen twice, the lane not yet taken */                                        \
    point(watchdog_tired)   /* about to sleep, and marked so */                                                        \
    point(mailbox_posted)   /* in the mailbox, its owner not yet woken */                                              \
    point(mailbox_read)     /* about to be emptied */                                                                \
    point(connection_back)  /* a connection has come back from its handler */                                          \
    point(connection_moving) /* out of the epoll set, not yet given to another worker */                               \
    point(handover_received) /* taken from a draining worker, not yet in a lane */                                     \
    point(inbox_sending)    /* counted as handed over to another worker, not yet sent */

#ifdef MR_RACES
#define RACE_NAME(name) RACE_##name,
enum race_point { RACE_POINTS(RACE_NAME) RACE_COUNT };

void race_point(enum race_point point);

/* Says in the log how often the chosen point was passed and how often a thread was held there. */
void race_report(void);
#define RACE_POINT(name) race_point(RACE_##name)
#else
#define RACE_POINT(name) ((void)0)
#define race_report() ((void)0)
#endif

#endif
