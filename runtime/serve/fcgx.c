/*
 * fcgx.c: libfcgi's calls that reach into a request's private data, or set the library's own transport up. Inside this
 * server the data is not what libfcgi thinks it is, so these definitions, which the program exports, stand in front of
 * the library's: they end the process with a clear message instead of corrupting it. A handler needs none of them. The
 * two that programs call out of habit answer what is true here.
 */
#include <fcgiapp.h>

#include <stdlib.h>

#include "base/log.h"

#define EXPORTED __attribute__((visibility("default")))

static _Noreturn void refuse(const char *call)
{
    log_error("fcgx", "a handler called %s: the server owns the request, a handler only answers it (see millrace.h)",
              call);
    abort();
}

EXPORTED int FCGX_Init(void)
{
    return 0;
}

EXPORTED int FCGX_IsCGI(void)
{
    return 0;
}

EXPORTED int FCGX_Accept(FCGX_Stream **in, FCGX_Stream **out, FCGX_Stream **err, FCGX_ParamArray *envp)
{
    (void)in, (void)out, (void)err, (void)envp;
    refuse("FCGX_Accept");
}

EXPORTED int FCGX_Accept_r(FCGX_Request *request)
{
    (void)request;
    refuse("FCGX_Accept_r");
}

EXPORTED void FCGX_Finish(void)
{
    refuse("FCGX_Finish");
}

EXPORTED void FCGX_Finish_r(FCGX_Request *request)
{
    (void)request;
    refuse("FCGX_Finish_r");
}

EXPORTED void FCGX_Free(FCGX_Request *request, int close)
{
    (void)request, (void)close;
    refuse("FCGX_Free");
}

EXPORTED int FCGX_InitRequest(FCGX_Request *request, int socket, int flags)
{
    (void)request, (void)socket, (void)flags;
    refuse("FCGX_InitRequest");
}

EXPORTED int FCGX_Attach(FCGX_Request *request)
{
    (void)request;
    refuse("FCGX_Attach");
}

EXPORTED int FCGX_Detach(FCGX_Request *request)
{
    (void)request;
    refuse("FCGX_Detach");
}

EXPORTED FCGX_Stream *FCGX_CreateWriter(int socket, int request_id, int buffer_bytes, int stream_type)
{
    (void)socket, (void)request_id, (void)buffer_bytes, (void)stream_type;
    refuse("FCGX_CreateWriter");
}

EXPORTED void FCGX_FreeStream(FCGX_Stream **stream)
{
    (void)stream;
    refuse("FCGX_FreeStream");
}

EXPORTED void FCGX_SetExitStatus(int status, FCGX_Stream *stream)
{
    (void)status, (void)stream;
    refuse("FCGX_SetExitStatus");
}

EXPORTED int FCGX_StartFilterData(FCGX_Stream *stream)
{
    (void)stream;
    refuse("FCGX_StartFilterData");
}
