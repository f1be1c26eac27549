/*
 * large.c: an application for the bandwidth measurements alone: 8 MiB that never change, from memory. What is measured
 * is how a large body travels, not how it is made.
 */
#include <stdlib.h>

#include <millrace.h>

#define BODY_BYTES (8 << 20)

static char *body;

/* Every prime period differs from every buffer's size, so that a piece lost, doubled or moved changes the body's hash.
 */
static int begin(struct mr_route *route)
{
    (void)route;
    body = malloc(BODY_BYTES);
    if (body == NULL)
        return 1;
    for (int i = 0; i < BODY_BYTES; i++)
        body[i] = (char)('a' + (i % 23 + i / 4099) % 26);
    return 0;
}

static void end(struct mr_route *route)
{
    (void)route;
    free(body);
}

static int large(FCGX_Request *req)
{
    FCGX_FPrintF(req->out,
                 "Content-Type: application/octet-stream\r\nCache-Control: no-store\r\nContent-Length: %d\r\n\r\n",
                 BODY_BYTES);
    return FCGX_PutStr(body, BODY_BYTES, req->out) == BODY_BYTES ? 0 : 1;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "large", .start = begin, .handle = large, .stop = end};
