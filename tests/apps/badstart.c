/* badstart.c: its start call fails; the server must say so and not start. */
#include <millrace.h>

static int badstart(FCGX_Request *req)
{
    FCGX_PutS("Content-Type: text/plain\r\n\r\nnever", req->out);
    return 0;
}

static int start(struct mr_route *route)
{
    mr_route_log(route, "the start call was told to fail");
    return 1;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "badstart", .handle = badstart, .start = start};
