/* params.c: answers with every variable as it arrived, `NAME=value` and a NUL byte each, in the order of envp. */
#include <string.h>

#include <millrace.h>

static int params(FCGX_Request *req)
{
    FCGX_PutS("Content-Type: application/octet-stream\r\n\r\n", req->out);
    for (char **one = req->envp; *one; one++)
        FCGX_PutStr(*one, (int)strlen(*one) + 1, req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "params", .handle = params};
