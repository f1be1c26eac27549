/*
 * lane.h: the queries of one lane: those that wait, their deadlines, and the connections that they go out on.
 *
 * A query waits until the end of the lane's turn, so that all of a turn go out together, and while the connection has something to
 * answer: what comes meanwhile makes the next batch. Where the connection has been at the same group for LANE_SLOW_MS, the
 * batch takes the next connection, opened for that at need.
 *
 * Made with the lane's first query. `lock` guards all of it: callbacks and handlers of a lane may run at the same time when one
 * of them has lost the lane. Inside it nothing is called but libpq's calls that do not block, and the runtime's.
 */
#ifndef DB_LANE_H
#define DB_LANE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backoff.h"
#include "base/list.h"
#include "link.h"
#include "service.h"

enum { LANE_SLOW_MS = 20 };

struct query;

struct lane {
    struct lane *next;
    struct mr_lane *at;
    struct service *service;
    pthread_mutex_t lock;
    struct list queue; /* queries that wait, in order */
    struct list times; /* all that have a deadline, in order: it is equally far for all */
    int count;         /* queries that wait or are sent */
    int waiting_shown, sent_shown;
    struct mr_timer *flush; /* at the end of the turn */
    bool flushing;          /* it is set */
    struct mr_timer *look;  /* for whatever comes next */
    int64_t look_us;        /* when, 0: it is not set */
    struct backoff backoff;
    bool asked;        /* while the server is away: somebody has, since the last attempt */
    int link_count;
    struct link links[];
};

struct lanes;

/* Returns NULL when memory is short. */
struct lanes *lanes_new(struct service *service) MR_MUST_CHECK;

/* When the route's requests and the runtime's lanes have ended. NULL: nothing. */
void lanes_free(struct lanes *lanes);

/* Any thread. NULL when memory is short, or the route has no service. */
struct lane *lane_of_request(const FCGX_Request *req);

/* Takes the query, whose request is suspended. Any thread. */
void lane_add(struct lane *lane, struct query *query);

/* The query's request goes on. True when the query has ended, and is the request's to free; else it is the lane's, and what became of
 * it interests nobody any more. Any thread. */
bool lane_leave(struct query *query, enum pg_outcome outcome);

/* -- for link.c, under the lock ------------------------------------------------------------------------------------- */

void lane_take_answer(struct lane *lane, struct link *link, struct query *query, struct list *again, struct list *left);

/* Queries that were sent on a connection that is lost. */
void lane_take_left(struct lane *lane, struct list *left);

/* Those are the first again. */
void lane_put_back(struct lane *lane, struct list *queries);

/* Sends what waits, as far as connections are free. */
void lane_send(struct lane *lane);

/* A connection could not be made, or was lost before it had answered anything. */
void lane_note_failure(struct lane *lane);

/* Has the lane looked at again by then. */
void lane_look_at(struct lane *lane, int64_t at_us);

#endif
