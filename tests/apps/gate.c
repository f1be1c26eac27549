/* gate.c: starts only while the file that the option `file` names is there. */
#include <unistd.h>

#include <millrace.h>

static int gate(FCGX_Request *req)
{
    mr_printf(req->out, "Content-Type: text/plain\r\n\r\n%d", (int)getpid());
    return 0;
}

static int start(struct mr_route *route)
{
    return access(mr_route_option(route, "file"), F_OK) == 0 ? 0 : 1;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "gate", .handle = gate, .start = start};
