/*
 * stream.c: the callbacks behind a handler's in, out and err. They run on the handler's thread and may block it, never
 * a lane: the lane is given away before a wait.
 *
 * libfcgi's calls ask for one thing of a callback: that it either gives room (or bytes), or closes the stream with
 * `stop` where the next byte would be.
 */
#include "serve/stream.h"

#include "serve/connection.h"
#include "serve/request.h"
#include "serve/respond.h"

#define ERROR_CUT (-2) /* FCGX_PROTOCOL_ERROR's place: the body ended early, or the peer has gone */

static void close_stream(FCGX_Stream *stream, int error)
{
    stream->isClosed = 1;
    if (error != 0 && stream->FCGI_errno == 0)
        stream->FCGI_errno = error;
    if (stream->isReader)
        stream->wrNext = stream->stop = stream->rdNext;
    else
        stream->rdNext = stream->stop = stream->wrNext;
}

void stream_close_input(struct request *request, int error)
{
    close_stream(&request->in, error);
}

void stream_close_output(struct request *request, int error)
{
    close_stream(&request->out, error);
}

static void give(FCGX_Stream *in, struct span bytes)
{
    in->rdNext = in->stopUnget = (unsigned char *)(uintptr_t)bytes.at;
    in->wrNext = in->stop = in->rdNext + bytes.length;
}

static void fill_input(FCGX_Stream *in)
{
    struct request *request = in->data;
    struct span bytes;
    if (!request->body_given) {
        request->body_given = true;
        if (request->body.length > 0) {
            give(in, span_of(request->body.bytes, request->body.length));
            return;
        }
    }
    switch (request->connection->transport->read_body(request, &bytes)) {
    case TRANSPORT_BODY_BYTES:
        give(in, bytes);
        return;
    case TRANSPORT_BODY_END:
        close_stream(in, 0);
        return;
    case TRANSPORT_BODY_CUT:
        close_stream(in, ERROR_CUT);
        return;
    }
}

static void empty_output(FCGX_Stream *out, int closing)
{
    struct request *request = out->data;
    if (closing)
        return; /* what the buffer holds goes out with the end of the answer */
    if (respond_flush(request) < 0)
        close_stream(out, ERROR_CUT);
}

uint8_t *stream_output_content(struct request *request)
{
    return request->output + REQUEST_HEADROOM;
}

size_t stream_output_length(struct request *request)
{
    return (size_t)(request->out.wrNext - stream_output_content(request));
}

uint8_t *stream_error_content(struct request *request)
{
    return request->error_buffer + RECORD_HEADER_BYTES;
}

size_t stream_error_length(const struct request *request)
{
    return request->error_buffer == NULL
               ? 0
               : (size_t)(request->err.wrNext - (request->error_buffer + RECORD_HEADER_BYTES));
}

void stream_empty_output(struct request *request)
{
    FCGX_Stream *out = &request->out;
    out->wrNext = out->rdNext = stream_output_content(request);
    out->stop = out->wrNext + REQUEST_OUTPUT_BYTES;
}

static void empty_error(FCGX_Stream *err, int closing)
{
    struct request *request = err->data;
    if (closing)
        return;
    if (request->error_buffer == NULL) {
        request->error_buffer =
            arena_take(&request->arena, RECORD_HEADER_BYTES + REQUEST_ERROR_BYTES + RECORD_END_BYTES);
    } else if (respond_flush_errors(request) < 0) {
        close_stream(err, ERROR_CUT);
        return;
    }
    if (request->error_buffer == NULL) {
        close_stream(err, ERROR_CUT);
        return;
    }
    err->wrNext = err->rdNext = stream_error_content(request);
    err->stop = err->wrNext + REQUEST_ERROR_BYTES;
}

static void open_stream(FCGX_Stream *stream, struct request *request, int is_reader)
{
    *stream = (FCGX_Stream){.isReader = is_reader, .data = request};
}

void stream_open(struct request *request)
{
    open_stream(&request->in, request, 1);
    request->in.fillBuffProc = fill_input;
    open_stream(&request->out, request, 0);
    request->out.emptyBuffProc = empty_output;
    stream_empty_output(request);
    open_stream(&request->err, request, 0);
    request->err.emptyBuffProc = empty_error;
}
