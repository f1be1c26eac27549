/*
 * blocked.h: checks that no thread of the server has been lost: each worker still runs `threads - lanes` handlers that
 * block at once, and answers /hello beside them.
 */
#ifndef BLOCKED_H
#define BLOCKED_H

#include "server.h"

/* For a server with the usual workers, lanes and threads. Closes all connections first. Fails the case that runs. */
void blocked_check(const struct server *server);

#endif
