/* talker.c: writes to stdout and stderr with the C library, which must reach the log and not the answer. */
#include <stdio.h>
#include <unistd.h>

#include <millrace.h>

static int talker(FCGX_Request *req)
{
    printf("talker says this on stdout\n");
    fflush(stdout);
    fprintf(stderr, "talker says this on stderr\n");
    mr_log(req, "talker says this to the log");
    FCGX_PutS("Content-Type: text/plain\r\n\r\nnothing but the body", req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "talker", .handle = talker};
