/* hog.c: keeps a mebibyte more with each request. */
#include <stdlib.h>
#include <string.h>

#include <millrace.h>

static void *volatile kept;

static int hog(FCGX_Request *req)
{
    void **piece = malloc(1 << 20);

    if (piece) {
        memset(piece, 1, 1 << 20);
        *piece = kept;
        kept = piece;
    }
    FCGX_PutS("Content-Type: text/plain\r\n\r\nkept", req->out);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "hog", .handle = hog};
