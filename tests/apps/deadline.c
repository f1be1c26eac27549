/* deadline.c: answers with the milliseconds that are left of its time limit, before and after as many milliseconds of
 * sleep as the query says. */
#include <poll.h>
#include <stdlib.h>

#include <millrace.h>

static int deadline(FCGX_Request *req)
{
    int before = mr_deadline_ms(req);

    poll(NULL, 0, atoi(FCGX_GetParam("QUERY_STRING", req->envp)));
    mr_printf(req->out, "Content-Type: text/plain\r\n\r\n%d %d", before, mr_deadline_ms(req));
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "deadline", .handle = deadline};
