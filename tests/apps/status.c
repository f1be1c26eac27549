/* status.c: answers with the Status line that the query holds ("404", "204", "418 Teapot" with + for a space). */
#include <string.h>

#include <millrace.h>

static int status(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    char line[80] = "";
    char *plus;

    strncpy(line, query ? query : "", sizeof line - 1);
    while ((plus = strchr(line, '+')))
        *plus = ' ';
    mr_printf(req->out, "Status: %s\r\nContent-Type: text/plain\r\n\r\n", line);
    if (strncmp(line, "204", 3) != 0 && strncmp(line, "304", 3) != 0)
        FCGX_PutS("status\n", req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "status", .handle = status};
