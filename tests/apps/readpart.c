/* readpart.c: reads only as many bytes of the body as the query says ("all" for everything), and answers with the
 * number of bytes that it got and whether the stream had then ended, as "N end" or "N more". */
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

static int readpart(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);
    long want = query && strcmp(query, "all") != 0 ? strtol(query, NULL, 10) : -1;
    char piece[4096];
    long got = 0;

    while (want < 0 || got < want) {
        long ask = want < 0 || want - got > (long)sizeof piece ? (long)sizeof piece : want - got;
        int part = FCGX_GetStr(piece, (int)ask, req->in);

        if (part <= 0)
            break;
        got += part;
    }
    mr_printf(req->out, "Content-Type: text/plain\r\n\r\n%ld %s", got, FCGX_HasSeenEOF(req->in) ? "end" : "more");
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "readpart", .handle = readpart};
