/* unroutine.c: calls one of libfcgi's functions that the runtime owns, or one that must do no harm; the query names it.
 */
#include <string.h>

#include <millrace.h>

/* Returns false when the query names none of them. */
static int call_owned(const char *name, FCGX_Request *req)
{
    FCGX_Stream *in, *out, *err;
    FCGX_ParamArray envp;

    if (strcmp(name, "FCGX_Accept") == 0)
        FCGX_Accept(&in, &out, &err, &envp);
    else if (strcmp(name, "FCGX_Accept_r") == 0)
        FCGX_Accept_r(req);
    else if (strcmp(name, "FCGX_Finish") == 0)
        FCGX_Finish();
    else if (strcmp(name, "FCGX_Finish_r") == 0)
        FCGX_Finish_r(req);
    else if (strcmp(name, "FCGX_Free") == 0)
        FCGX_Free(req, 1);
    else if (strcmp(name, "FCGX_InitRequest") == 0)
        FCGX_InitRequest(req, 0, 0);
    else if (strcmp(name, "FCGX_Attach") == 0)
        FCGX_Attach(req);
    else if (strcmp(name, "FCGX_Detach") == 0)
        FCGX_Detach(req);
    else if (strcmp(name, "FCGX_CreateWriter") == 0)
        FCGX_CreateWriter(1, 1, 8192, 6);
    else if (strcmp(name, "FCGX_FreeStream") == 0)
        FCGX_FreeStream(&req->out);
    else if (strcmp(name, "FCGX_SetExitStatus") == 0)
        FCGX_SetExitStatus(3, req->out);
    else if (strcmp(name, "FCGX_StartFilterData") == 0)
        FCGX_StartFilterData(req->in);
    else
        return 0;
    return 1;
}

/* Those that only look at a stream's public members, in ways that a program may think of. */
static void call_harmless(const char *name, FCGX_Request *req)
{
    char line[16];

    if (strcmp(name, "errors") == 0) {
        FCGX_ClearError(req->out);
        FCGX_FPrintF(req->out, "%d %d %d %d", FCGX_GetError(req->out), FCGX_GetError(req->in), FCGX_IsCGI(),
                     FCGX_Init());
    } else if (strcmp(name, "unget") == 0) {
        FCGX_PutChar(FCGX_UnGetChar('u', req->in) == 'u' ? 'a' : 'b', req->out);
        FCGX_PutS(FCGX_GetChar(req->in) == 'b' && FCGX_UnGetChar('z', req->in) == 'z' ? "c" : "d", req->out);
        FCGX_PutChar(FCGX_GetChar(req->in), req->out);
    } else if (strcmp(name, "lines") == 0) {
        while (FCGX_GetLine(line, sizeof line, req->in))
            FCGX_FPrintF(req->out, "[%s]", line);
    } else if (strcmp(name, "close-in") == 0) {
        int closed = FCGX_FClose(req->in);
        FCGX_FPrintF(req->out, "%d %d", closed, FCGX_GetChar(req->in));
    } else if (strcmp(name, "close-out") == 0) {
        FCGX_PutS("before", req->out);
        FCGX_FClose(req->out);
        FCGX_PutS("after", req->out);
    } else if (strcmp(name, "close-err") == 0) {
        FCGX_PutS("said", req->err);
        FCGX_FClose(req->err);
        FCGX_FPrintF(req->out, "%d", FCGX_PutS("more", req->err));
    } else if (strcmp(name, "wrong-way") == 0) {
        FCGX_FPrintF(req->out, "%d %d", FCGX_GetChar(req->out), FCGX_PutChar('x', req->in));
    }
}

static int unroutine(FCGX_Request *req)
{
    const char *query = FCGX_GetParam("QUERY_STRING", req->envp);

    if (!query)
        return 1;
    FCGX_PutS("Content-Type: text/plain\r\n\r\n", req->out);
    if (!call_owned(query, req))
        call_harmless(query, req);
    return 0;
}

const struct mr_app mr_app = {.abi = MR_ABI, .name = "unroutine", .handle = unroutine};
