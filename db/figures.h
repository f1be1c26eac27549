/*
 * figures.h: what a route's status shows of its database. Any thread.
 */
#ifndef DB_FIGURES_H
#define DB_FIGURES_H

#include <millrace.h>

enum figure {
    FIGURE_CONNECTIONS, /* open ones, of the pool and of the lanes */
    FIGURE_WAITING,     /* requests that wait for a connection, or queries for their turn */
    FIGURE_RUNNING,     /* statements that were sent and not answered */
    FIGURE_QUERIES,     /* sent so far */
    FIGURE_ERRORS,      /* of them, those that gave no result; and requests that got no connection */
    FIGURE_CONNECTS,    /* connections made so far */
    FIGURE_CANCELS,     /* statements cancelled so far */
    FIGURE_COUNT
};

struct figures {
    struct mr_figure *each[FIGURE_COUNT];
};

/* From the route's start alone. */
void figures_start(struct figures *figures, struct mr_route *route);

void figures_add(const struct figures *figures, enum figure which, int more);

#endif
