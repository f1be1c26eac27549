/* flood.c: answers with as many bytes as the query says, all from one small piece: a large answer costs no memory, and
 * its length is known in front. */
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

static char piece[16384]; /* written once, before any handler runs */

static int start(struct mr_route *route)
{
    (void)route;
    memset(piece, 'f', sizeof piece);
    return 0;
}

static int flood(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    long left = query ? strtol(query, NULL, 10) : 0;

    mr_printf(req->out, "Content-Type: text/plain\r\nContent-Length: %ld\r\n\r\n", left);
    while (left > 0) {
        int part = left < (long)sizeof piece ? (int)left : (int)sizeof piece;

        if (FCGX_PutStr(piece, part, req->out) != part)
            return 1;
        left -= part;
    }
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "flood", .handle = flood, .start = start};
