/*
 * echo.c: answers with the request's body, byte for byte, while it arrives: one piece is in memory at a time, however
 * long the body is.
 */
#include <millrace.h>

enum { PIECE_BYTES = 16384 };

/* Whoever sent a body must not make a browser run it. */
#define HEADER_END                                                                                                     \
    "Content-Type: application/octet-stream\r\n"                                                                       \
    "X-Content-Type-Options: nosniff\r\n"                                                                              \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"
#define BODY_CUT                                                                                                       \
    "Status: 400 Bad Request\r\n"                                                                                      \
    "Content-Type: text/plain; charset=utf-8\r\n"                                                                      \
    "Cache-Control: no-store\r\n"                                                                                      \
    "\r\n"                                                                                                             \
    "The request's body ended too early.\n"

/* The body's length is the answer's, where it is known in advance: a chunked body's may not be. */
static void put_header(FCGX_Request *req)
{
    const char *length = FCGX_GetParam("CONTENT_LENGTH", req->envp);
    if (length != NULL && *length != '\0')
        mr_header(req, "Content-Length", length);
    FCGX_PutStr(HEADER_END, sizeof HEADER_END - 1, req->out);
}

static int echo(FCGX_Request *req)
{
    char piece[PIECE_BYTES];
    int length = FCGX_GetStr(piece, sizeof piece, req->in);
    if (FCGX_GetError(req->in) != 0) {
        FCGX_PutStr(BODY_CUT, sizeof BODY_CUT - 1, req->out);
        return 0;
    }
    put_header(req);
    while (length > 0) {
        if (FCGX_PutStr(piece, length, req->out) < 0)
            return 1; /* the client has gone */
        length = FCGX_GetStr(piece, sizeof piece, req->in);
    }
    if (FCGX_GetError(req->in) != 0) {
        mr_log(req, "the body ended too early, after the answer had begun");
        return 1;
    }
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "echo", .handle = echo};
