/* crash.c: raises a signal in the handler: SIGSEGV, or the one whose number is the query. */
#include <signal.h>
#include <stdlib.h>

#include <millrace.h>

static int crash(FCGX_Request *req)
{
    const char *number = FCGX_GetParam("QUERY_STRING", req->envp);

    FCGX_PutS("Content-Type: text/plain\r\n\r\nnot yet", req->out);
    raise(number && *number ? atoi(number) : SIGSEGV);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "crash", .handle = crash};
