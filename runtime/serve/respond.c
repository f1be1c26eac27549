/*
 * respond.c: checks the header block, computes Content-Length when the whole answer is in the buffer, and never lets an
 * answer end in a way that the next one could be mistaken for. Runs on the thread that has the request.
 */
#include "serve/respond.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "serve/activity.h"
#include "serve/cgi_header.h"
#include "serve/connection.h"
#include "serve/reason.h"
#include "serve/request.h"
#include "serve/stream.h"
#include "serve/wire.h"

static const struct transport *transport_of(const struct request *request)
{
    return request->connection->transport;
}

static bool status_has_no_body(int status)
{
    return status == 204 || status == 304;
}

/* Returns false while the header block is incomplete or when it is bad (then the answer is refused). */
static bool examine_header(struct request *request)
{
    struct cgi_header header;
    const char *why = NULL;
    enum cgi_header_result result =
        cgi_header_parse(span_of(stream_output_content(request), stream_output_length(request)), &header, &why);
    if (result == CGI_HEADER_BAD)
        request_refuse(request, 500, why);
    if (result != CGI_HEADER_DONE)
        return false;
    request->header = header;
    request->status = header.status;
    request->declared_bytes = header.content_length;
    request->bodiless = request->bodiless || status_has_no_body(header.status);
    return true;
}

/* The part of the body in the buffer that may leave: one that is not to be sent, or goes beyond its declared length,
 * stays. */
static size_t count_and_clip(struct request *request, size_t header_bytes)
{
    size_t body = stream_output_length(request) - header_bytes;
    if (request->bodiless)
        return 0;
    if (request->declared_bytes >= 0 && (int64_t)body > request->declared_bytes - request->sent_bytes) {
        body = (size_t)(request->declared_bytes - request->sent_bytes);
        log_error("respond", "route %s wrote more than its Content-Length: cut", request->route->settings->path);
        request->cut = true;
    }
    request->sent_bytes += (int64_t)body;
    return body;
}

int respond_flush(struct request *request)
{
    size_t header_bytes = 0;
    if (request->refusal == NULL && !request->started) {
        if (!examine_header(request) && request->refusal == NULL) {
            if (request->out.wrNext < request->out.stop)
                return 0; /* flushed before the blank line: nothing can leave yet, and there is room */
            request_refuse(request, 500, "no blank line within 64 KiB");
        }
        header_bytes = request->header.length;
    }
    if (request->refusal != NULL) {
        stream_empty_output(request);
        return 0;
    }
    if (transport_of(request)->is_aborted(request))
        return -1;
    request->started = true;
    struct iovec piece[2];
    transport_of(request)->frame(request, header_bytes, count_and_clip(request, header_bytes), false, piece);
    int result = wire_send(request->connection, piece, 2, true);
    stream_empty_output(request);
    return result;
}

/* What a handler writes to its err stream goes to the front end, and to the log, line by line: some front ends, and
 * HTTP, have no place for it. */
static void log_errors(struct request *request, size_t length)
{
    struct span text = span_of(stream_error_content(request), length);
    log_set_request(request->number);
    while (text.length > 0) {
        const uint8_t *end = memchr(text.at, '\n', text.length);
        struct span line = span_take(&text, end == NULL ? text.length : (size_t)(end - text.at) + 1);
        size_t shown = end == NULL ? line.length : line.length - 1;
        if (shown > 0)
            log_write(LOG_WARNING, request->route->settings->path, "%.*s", (int)shown, (const char *)line.at);
    }
    log_set_request(activity_request() == NULL ? 0 : request->number);
}

int respond_flush_errors(struct request *request)
{
    size_t length = stream_error_length(request);
    if (length == 0)
        return 0;
    log_errors(request, length);
    request->error_used = true;
    const struct transport *transport = transport_of(request);
    return transport->send_errors == NULL ? 0 : transport->send_errors(request, stream_error_content(request), length);
}

void respond_error(struct request *request, int status)
{
    const char *reason = reason_of(status);
    stream_empty_output(request);
    const char *more = status == 503   ? "Retry-After: 1\r\n"
                       : status == 405 ? "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"
                                       : "";
    int length = snprintf((char *)request->out.wrNext, 1024,
                          "Status: %d %s\r\nContent-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n%s\r\n"
                          "<!DOCTYPE html>\n<title>%d %s</title>\n<h1>%d %s</h1>\n",
                          status, reason, more, status, reason, status, reason);
    request->out.wrNext += length;
    request->refusal = NULL;
    request->declared_bytes = -1;
    request->bodiless = strcmp(request->method, "HEAD") == 0;
    request->status = status;
}

/* The whole answer is in the buffer. Returns the bytes of its body that are sent. */
static size_t settle(struct request *request)
{
    if (request->refusal == NULL && !examine_header(request) && request->refusal == NULL)
        request_refuse(request, 500,
                       stream_output_length(request) == 0 ? "it wrote nothing" : "its output has no blank line");
    size_t body = stream_output_length(request) - request->header.length;
    if (request->refusal == NULL && request->declared_bytes >= 0 && !request->bodiless &&
        (int64_t)body != request->declared_bytes)
        request_refuse(request, 500, "its body is not as long as its Content-Length");
    if (request->refusal != NULL) {
        log_write(request->refusal_status < 500 ? LOG_WARNING : LOG_ERROR, "respond", "route %s answered %d: %s",
                  request->route->settings->path, request->refusal_status, request->refusal);
        respond_error(request, request->refusal_status);
        (void)examine_header(request);
        body = stream_output_length(request) - request->header.length;
    }
    if (request->declared_bytes < 0 && !status_has_no_body(request->status) && (body > 0 || !request->bodiless))
        request->computed_bytes = (int64_t)body;
    if (request->bodiless)
        body = 0;
    request->sent_bytes = (int64_t)body;
    return body;
}

/* The answer's last part, when the first has left. */
static size_t finish_body(struct request *request)
{
    size_t length = count_and_clip(request, 0);
    if (!request->bodiless && request->sent_bytes < request->declared_bytes) {
        log_error("respond", "route %s wrote less than its Content-Length: the connection ends",
                  request->route->settings->path);
        request->cut = true;
    }
    return length;
}

void respond_finish(struct request *request)
{
    size_t header_bytes = 0, body_bytes = 0;
    if (request->started) {
        body_bytes = request->aborted ? 0 : finish_body(request);
    } else if (!request->aborted) {
        body_bytes = settle(request);
        header_bytes = request->header.length;
    }
    if (stream_error_length(request) > 0)
        log_errors(request, stream_error_length(request));
    transport_of(request)->frame(request, header_bytes, body_bytes, true, request->unsent);
}
