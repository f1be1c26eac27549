/* watcher.c: works until it is told that nobody waits any more, by the call that the query names: poll
 * (mr_client_gone), read or write; at most five seconds. Returns 7 when it was told, 8 when not, and says so in the
 * log. */
#include <string.h>
#include <time.h>

#include <millrace.h>

enum { STEP_MS = 5, STEPS = 1000 };

static void wait_a_step(void)
{
    nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
}

static int poll_until_gone(FCGX_Request *req)
{
    char byte;

    for (int i = 0; i < STEPS; i++, wait_a_step()) {
        if (mr_client_gone(req))
            return i;
        if (i == 10) /* looking must not disturb reading */
            FCGX_GetStr(&byte, 1, req->in);
    }
    return -1;
}

static int read_until_gone(FCGX_Request *req)
{
    char piece[100];

    while (FCGX_GetStr(piece, sizeof piece, req->in) == (int)sizeof piece)
        ;
    return FCGX_GetError(req->in) ? 1 : -1;
}

static int write_until_gone(FCGX_Request *req)
{
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    for (int i = 0; i < STEPS; i++, wait_a_step())
        if (FCGX_PutS("another line\n", req->out) < 0 || FCGX_FFlush(req->out) < 0)
            return i;
    return -1;
}

static int watcher(FCGX_Request *req)
{
    const char *way = FCGX_GetParam("QUERY_STRING", req->envp);
    int result = strcmp(way, "poll") == 0   ? poll_until_gone(req)
                 : strcmp(way, "read") == 0 ? read_until_gone(req)
                                            : write_until_gone(req);

    mr_log(req, "watcher by %s: %s", way, result < 0 ? "never told" : "told");
    FCGX_PutS("Content-Type: text/plain\r\n\r\nwatched", req->out);
    return result < 0 ? 8 : 7;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "watcher", .handle = watcher};
