/* figures.c: counts its answers, as often as the query says (1), and how many handlers run. start() also asks for
 * figures that cannot be; the option `counter` names one more. */
#include <stdlib.h>
#include <unistd.h>

#include <millrace.h>

/* The same in each worker and route. */
struct figures {
    struct mr_figure *workers, *running, *answers, *renamed;
};

static int start(struct mr_route *route)
{
    struct figures *figures = calloc(1, sizeof *figures);

    if (!figures)
        return -1;
    figures->workers = mr_figure(route, MR_GAUGE, "workers", "Workers that have started");
    figures->running = mr_figure(route, MR_GAUGE, "running", "Handlers that run <now> & \"here\"");
    figures->answers = mr_figure(route, MR_COUNTER, "answers", "Answers that were made");
    if (mr_route_option(route, "counter"))
        figures->renamed = mr_figure(route, MR_COUNTER, mr_route_option(route, "counter"), "As the option says");
    mr_figure_add(mr_figure(route, MR_GAUGE, "Bad name", ""), 1);
    mr_figure_add(mr_figure(route, MR_GAUGE, "answers", ""), 1);
    mr_figure_add(figures->workers, 1);
    mr_route_set_state(route, figures);
    return 0;
}

static void stop(struct mr_route *route)
{
    free(mr_route_state(route));
}

static int handle(FCGX_Request *req)
{
    const struct figures *figures = mr_state(req);
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    int count = query && query[0] ? atoi(query) : 1;

    mr_figure_add(figures->running, 1);
    for (int i = 0; i < count; i++)
        mr_figure_add(figures->answers, 1);
    mr_figure_add(figures->renamed, 1);
    FCGX_PutS("Content-Type: text/plain\r\n\r\ncounted\n", req->out);
    mr_figure_add(figures->running, -1);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "figures", .handle = handle, .start = start, .stop = stop};
