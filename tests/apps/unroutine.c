/* unroutine.c: calls one of libfcgi's functions that the runtime owns; the query names it. */
#include <string.h>

#include <millrace.h>

static int unroutine(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);

    if (!query)
        return 1;
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    if (strcmp(query, "accept_r") == 0)
        return FCGX_Accept_r(req);
    if (strcmp(query, "finish_r") == 0)
        FCGX_Finish_r(req);
    if (strcmp(query, "free") == 0)
        FCGX_Free(req, 1);
    if (strcmp(query, "init") == 0)
        return FCGX_InitRequest(req, 0, 0);
    if (strcmp(query, "exit-status") == 0)
        FCGX_SetExitStatus(3, req->out);
    FCGX_PutS("still here", req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "unroutine", .handle = unroutine};
