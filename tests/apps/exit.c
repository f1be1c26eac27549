/* exit.c: a handler that ends the process by calling exit() with the number in the query, or with "thread" its thread.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

static int leave(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);

    if (query && strcmp(query, "thread") == 0)
        pthread_exit(NULL);
    exit(query ? atoi(query) : 0);
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "exit", .handle = leave};
