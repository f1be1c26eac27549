/* figures.c: see figures.h. */
#include "figures.h"

static const struct {
    enum mr_figure_kind kind;
    const char *name, *help;
} table[FIGURE_COUNT] = {
    [FIGURE_CONNECTIONS] = {MR_GAUGE, "pg_connections", "open connections to the database"},
    [FIGURE_WAITING] = {MR_GAUGE, "pg_waiting", "requests and queries that wait for a connection"},
    [FIGURE_RUNNING] = {MR_GAUGE, "pg_running", "statements that the database has not answered yet"},
    [FIGURE_QUERIES] = {MR_COUNTER, "pg_queries", "statements sent"},
    [FIGURE_ERRORS] = {MR_COUNTER, "pg_errors", "statements without a result, and requests without a connection"},
    [FIGURE_CONNECTS] = {MR_COUNTER, "pg_connects", "connections made"},
    [FIGURE_CANCELS] = {MR_COUNTER, "pg_cancels", "statements cancelled"},
};

void figures_start(struct figures *figures, struct mr_route *route)
{
    for (int i = 0; i < FIGURE_COUNT; i++)
        figures->each[i] = mr_figure(route, table[i].kind, table[i].name, table[i].help);
}

void figures_add(const struct figures *figures, enum figure which, int more)
{
    mr_figure_add(figures->each[which], more);
}
