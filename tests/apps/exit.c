/* exit.c: a handler that ends the process by calling exit() with the number in the query. */
#include <stdlib.h>

#include <millrace.h>

static int leave(FCGX_Request *req)
{
    const char *status = FCGX_GetParam("QUERY_STRING", req->envp);

    exit(status ? atoi(status) : 0);
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "exit", .handle = leave};
