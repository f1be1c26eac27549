/*
 * pool.h: the connections that a worker lends to its handlers, for one route.
 *
 * Each is connected by the first borrower who finds none idle, on its own thread, and then stays. There are never more than the
 * option `pool` says. Borrowers get them in the order in which they came. While the server is away one of them at a time tries,
 * at growing intervals, and the others are refused at once, unless connections that work are lent: then they wait.
 */
#ifndef DB_POOL_H
#define DB_POOL_H

#include "patience.h"
#include "session.h"

/* Opens no connection. Returns NULL when memory is short. */
struct pool *pool_new(struct service *service) MR_MUST_CHECK;

/* When nothing is lent any more. NULL: nothing. */
void pool_free(struct pool *pool);

/* A connection that works, as far as its socket tells, outside of a transaction. NULL, after a line in the log, when there is none
 * in time. Blocks. */
struct session *pool_borrow(struct pool *pool, const struct patience *patience) MR_MUST_CHECK;

/* What a request has borrowed, NULL: nothing. */
struct session *pool_lent(struct pool *pool, const FCGX_Request *req);

/* Takes it back: removes what the borrower has left on it, or closes it. Blocks for that (see traces_remove). */
void pool_return(struct pool *pool, struct session *session);

#endif
