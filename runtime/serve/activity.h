/*
 * activity.h: which request the calling thread is working on, for its handler's time limits, for the scoreboard and for
 * what is said when the thread crashes.
 */
#ifndef SERVE_ACTIVITY_H
#define SERVE_ACTIVITY_H

#include <stdint.h>

struct request;
struct scoreboard_thread;

/* The calling thread, of this number, has this line of the scoreboard from now on. */
void activity_init(int number, struct scoreboard_thread *line);

/* Around a handler's call. Measures its time and how long the request waited for it. */
void activity_begin(struct request *request);
void activity_end(struct request *request);

/* The handler waits for its peer, which is not its own time: `activity_excuse` says that it no longer does. */
int64_t activity_wait(void);
void activity_excuse(int64_t since_us);

/* The request whose handler the calling thread is in, NULL: none; and the thread's number in the log, 0: it is none of the
 * pool's. Also in a signal handler. */
struct request *activity_request(void);
int activity_thread(void);

/* The request whose handler the thread of this number is in, NULL: none. Also in a signal handler: it may end meanwhile. */
struct request *activity_request_of(int number);

/* Microseconds that a handler has worked by `now_us`, without what it waited for its peer. Any thread. */
int64_t activity_elapsed_us(const struct scoreboard_thread *line, int64_t now_us);

/* The same of the calling thread's handler. */
int64_t activity_own_elapsed_us(void);

#endif
