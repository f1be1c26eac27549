/* pid.c: sleeps as many milliseconds as the query says and answers with its process's number. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <millrace.h>

static int pid(FCGX_Request *req)
{
    long left_ms = strtol(FCGX_GetParam("QUERY_STRING", req->envp), NULL, 10);
    struct timespec pause = {left_ms / 1000, left_ms % 1000 * 1000000};

    while (nanosleep(&pause, &pause) != 0) {
    }
    mr_printf(req->out, "Content-Type: text/plain\r\n\r\n%d", (int)getpid());
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "pid", .handle = pid};
