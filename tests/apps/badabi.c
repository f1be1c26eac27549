/* badabi.c: says that it was built against another ABI; the server must refuse to start with it. */
#include <millrace.h>

static int badabi(FCGX_Request *req)
{
    FCGX_PutS("Content-Type: text/plain\r\n\r\nnever", req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = 999, .size = sizeof(struct mr_app), .name = "badabi", .handle = badabi};
