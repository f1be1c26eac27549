/* sleeper.c: sleeps as many milliseconds as the query says, without telling the runtime that it blocks. */
#include <stdlib.h>
#include <time.h>

#include <millrace.h>

static int sleeper(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    long left_ms = query ? strtol(query, NULL, 10) : 0;
    struct timespec pause = {left_ms / 1000, left_ms % 1000 * 1000000};

    while (nanosleep(&pause, &pause) != 0) {
    }
    mr_printf(req->out, "Content-Type: text/plain\r\n\r\nslept %ld\n", left_ms);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "sleeper", .handle = sleeper};
