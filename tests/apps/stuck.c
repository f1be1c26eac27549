/* stuck.c: cannot be opened while the file that MILLRACE_TEST_STUCK names is there: its constructor waits. */
#include <stdlib.h>
#include <unistd.h>

#include <millrace.h>

static __attribute__((constructor)) void wait_for_it(void)
{
    const char *file = getenv("MILLRACE_TEST_STUCK");

    while (file && access(file, F_OK) == 0)
        usleep(10000);
}

static int stuck(FCGX_Request *req)
{
    FCGX_PutS("Content-Type: text/plain\r\n\r\nopen", req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "stuck", .handle = stuck};
