/* errout.c: writes as many bytes as the query says to the error stream: before, between and after the answer. */
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

static void complain(FCGX_Request *req, long length)
{
    char *text = malloc((size_t)length + 1);

    if (!text)
        return;
    memset(text, 'e', (size_t)length);
    FCGX_PutStr(text, (int)length, req->err);
    free(text);
}

static int errout(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    long length = query ? strtol(query, NULL, 10) : 0;

    complain(req, length);
    FCGX_PutS("Content-Type: text/plain\r\n", req->out);
    complain(req, length);
    FCGX_PutS("\r\nclean body", req->out);
    complain(req, length);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "errout", .handle = errout};
