/* lines.h: what the server's log says about one route: each kind of failure at most once a second in each worker. */
#ifndef LINES_H
#define LINES_H

struct server;

/* The log's length by now. */
long lines_size(const struct server *server);

/* Looks at the lines of the route behind `offset`. Fails the case when a text comes more often than once a second in
 * one process (numbers in it make no other text of it), or tells a password. Returns the number of lines. */
int lines_check(const struct server *server, long offset, const char *route, int took_ms);

#endif
