/* nothing.c: writes nothing; returns the number in the query. */
#include <stdlib.h>

#include <millrace.h>

static int nothing(FCGX_Request *req)
{
    const char *status = FCGX_GetParam("QUERY_STRING", req->envp);

    return status ? atoi(status) : 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "nothing", .handle = nothing};
