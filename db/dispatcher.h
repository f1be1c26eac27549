/*
 * dispatcher.h: the queries of one lane: those that wait, their deadlines, and the connections that they go out on.
 *
 * A query waits until the end of the lane's turn, so that all of a turn go out together, and while the connection has something to
 * answer: what comes meanwhile makes the next batch. Where the connection has been at the same group for DISPATCHER_SLOW_MS, the
 * batch takes the next connection, opened for that at need.
 *
 * Made with the lane's first query. `lock` guards all of it: callbacks and handlers of a lane may run at the same time when one
 * of them has lost the lane. Inside it nothing is called but libpq's calls that do not block, and the runtime's.
 */
#ifndef DB_DISPATCHER_H
#define DB_DISPATCHER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backoff.h"
#include "base/list.h"
#include "link.h"
#include "service.h"

enum { DISPATCHER_SLOW_MS = 20 };

struct query;

struct dispatcher {
    struct dispatcher *next;
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

struct dispatchers;

/* Returns NULL when memory is short. */
struct dispatchers *dispatchers_new(struct service *service) MR_MUST_CHECK;

/* When the route's requests and the runtime's lanes have ended. NULL: nothing. */
void dispatchers_free(struct dispatchers *dispatchers);

/* Any thread. NULL when memory is short, or the route has no service. */
struct dispatcher *dispatcher_of_request(const FCGX_Request *req);

/* Takes the query, whose request is suspended. Any thread. */
void dispatcher_add(struct dispatcher *dispatcher, struct query *query);

/* The query's request goes on. True when the query has ended, and is the request's to free; else it is the dispatcher's, and what became of
 * it interests nobody any more. Any thread. */
bool dispatcher_leave(struct query *query, enum pg_outcome outcome);

/* -- for link.c, under the lock ------------------------------------------------------------------------------------- */

void dispatcher_take_answer(struct dispatcher *dispatcher, struct link *link, struct query *query, struct list *again, struct list *left);

/* Queries that were sent on a connection that is lost. `told`: the server has said that it ends the session. Returns whether it
 * has, also in answer to the first of them. */
bool dispatcher_take_left(struct dispatcher *dispatcher, struct list *left, bool told);

/* Those are the first again. */
void dispatcher_put_back(struct dispatcher *dispatcher, struct list *queries);

/* Sends what waits, as far as connections are free. */
void dispatcher_send(struct dispatcher *dispatcher);

/* A connection could not be made, or was lost when it was first asked. */
void dispatcher_note_failure(struct dispatcher *dispatcher);

/* Has it looked at again by then. */
void dispatcher_look_at(struct dispatcher *dispatcher, int64_t at_us);

#endif
