/* ticker.c: five lines, one every 100 ms, each flushed: they must leave when they are flushed. */
#include <time.h>

#include <millrace.h>

static int ticker(FCGX_Request *req)
{
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    for (int i = 0; i < 5; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        mr_printf(req->out, "tick %d\n", i);
        FCGX_FFlush(req->out);
    }
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "ticker", .handle = ticker};
