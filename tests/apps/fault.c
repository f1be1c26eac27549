/* fault.c: faults of the processor in a handler, deep enough that a backtrace has something to name. The query chooses:
 *   store     writes where nothing is
 *   overflow  uses up its stack
 *   divide    divides by zero
 *   jump      calls what is no code */
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

/* A sanitizer would report what is done here on purpose. */
#define FAULT __attribute__((noinline, no_sanitize("undefined", "address", "thread")))

static volatile int zero;
static int *volatile nowhere;

static FAULT int fault_store(void)
{
    *nowhere = 1;
    return zero;
}

static FAULT int fault_overflow(int depth)
{
    volatile char room[4096];

    memset((char *)room, depth, sizeof room);
    return depth == zero ? 0 : fault_overflow(depth + 1) + room[depth % 4096];
}

static FAULT int fault_divide(void)
{
    return 7 / zero;
}

static FAULT int fault_jump(void)
{
    int (*volatile nothing)(void) = NULL;

    return nothing() + 1;
}

static int fault(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    int result = 0;

    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    if (strcmp(query, "store") == 0)
        result = fault_store();
    else if (strcmp(query, "overflow") == 0)
        result = fault_overflow(1);
    else if (strcmp(query, "divide") == 0)
        result = fault_divide();
    else if (strcmp(query, "jump") == 0)
        result = fault_jump();
    mr_printf(req->out, "%d\n", result);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "fault", .handle = fault};
