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
#include "serve/fastcgi.h"
#include "serve/request.h"
#include "serve/stream.h"
#include "serve/wire.h"

const char *respond_reason(int status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 404:
        return "Not Found";
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    case 500:
        return "Internal Server Error";
    case 502:
        return "Bad Gateway";
    case 503:
        return "Service Unavailable";
    default:
        return "Error";
    }
}

static uint8_t *content_start(struct request *request)
{
    return request->output + REQUEST_HEADROOM;
}

static size_t content_length(struct request *request)
{
    return (size_t)(request->out.wrNext - content_start(request));
}

static void refuse(struct request *request, const char *why)
{
    request->refusal = why;
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
        cgi_header_parse(span_of(content_start(request), content_length(request)), &header, &why);
    if (result == CGI_HEADER_BAD)
        refuse(request, why);
    if (result != CGI_HEADER_DONE)
        return false;
    request->header_bytes = header.length;
    request->header_blank = header.blank_at;
    request->status = header.status;
    request->declared_bytes = header.content_length;
    request->bodiless = request->bodiless || status_has_no_body(header.status);
    return true;
}

/* The part of the buffer that may leave: a body that is not to be sent, or goes beyond its declared length, stays. */
static size_t count_and_clip(struct request *request, size_t header_bytes)
{
    size_t body = content_length(request) - header_bytes;
    if (request->bodiless)
        return header_bytes;
    if (request->declared_bytes >= 0 && (int64_t)body > request->declared_bytes - request->sent_bytes) {
        body = (size_t)(request->declared_bytes - request->sent_bytes);
        log_error("respond", "route %s wrote more than its Content-Length: cut", request->route->settings->path);
        request->cut = true;
    }
    request->sent_bytes += (int64_t)body;
    return header_bytes + body;
}

int respond_flush(struct request *request)
{
    size_t header_bytes = 0;
    if (request->refusal == NULL && !request->started) {
        if (!examine_header(request) && request->refusal == NULL) {
            if (request->out.wrNext < request->out.stop)
                return 0; /* flushed before the blank line: nothing can leave yet, and there is room */
            refuse(request, "no blank line within 64 KiB");
        }
        header_bytes = request->header_bytes;
    }
    if (request->refusal != NULL) {
        stream_empty_output(request);
        return 0;
    }
    if (fastcgi_is_aborted(request))
        return -1;
    request->started = true;
    size_t length = count_and_clip(request, header_bytes);
    int result = 0;
    if (length > 0) {
        struct iovec record = fastcgi_frame(request, RECORD_STDOUT, content_start(request), length);
        result = wire_send(request->connection, &record, 1, true);
    }
    stream_empty_output(request);
    return result;
}

static size_t error_length(const struct request *request)
{
    return request->error_buffer == NULL
               ? 0
               : (size_t)(request->err.wrNext - (request->error_buffer + RECORD_HEADER_BYTES));
}

/* What a handler writes to its err stream goes to the front end, and to the log, line by line: some front ends, and
 * HTTP, have no place for it. */
static void log_errors(const struct request *request, size_t length)
{
    struct span text = span_of(request->error_buffer + RECORD_HEADER_BYTES, length);
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
    size_t length = error_length(request);
    if (length == 0)
        return 0;
    log_errors(request, length);
    request->error_used = true;
    struct iovec record = fastcgi_frame(request, RECORD_STDERR, request->error_buffer + RECORD_HEADER_BYTES, length);
    return wire_send(request->connection, &record, 1, true);
}

void respond_error(struct request *request, int status)
{
    const char *reason = respond_reason(status);
    stream_empty_output(request);
    int length = snprintf((char *)request->out.wrNext, 1024,
                          "Status: %d %s\r\nContent-Type: text/html; charset=utf-8\r\n%s%s\r\n"
                          "<!DOCTYPE html>\n<title>%d %s</title>\n<h1>%d %s</h1>\n",
                          status, reason, "Cache-Control: no-store\r\n", status == 503 ? "Retry-After: 1\r\n" : "",
                          status, reason, status, reason);
    request->out.wrNext += length;
    request->refusal = NULL;
    request->declared_bytes = -1;
    request->bodiless = strcmp(request->method, "HEAD") == 0;
    request->status = status;
}

/* Writes the line into the bytes before `end`. Returns its start. */
static uint8_t *put_content_length(uint8_t *end, size_t body_bytes)
{
    static const char name[] = "Content-Length: ";
    *--end = '\n';
    *--end = '\r';
    do {
        *--end = (uint8_t)('0' + body_bytes % 10);
        body_bytes /= 10;
    } while (body_bytes > 0);
    end -= sizeof name - 1;
    memcpy(end, name, sizeof name - 1);
    return end;
}

/* Moves the header block down and puts the line in front of its blank line: the body stays where it is. */
static uint8_t *insert_content_length(struct request *request, size_t body_bytes)
{
    uint8_t line[REQUEST_HEADROOM - RECORD_HEADER_BYTES], *end = line + sizeof line;
    uint8_t *line_start = put_content_length(end, body_bytes);
    size_t length = (size_t)(end - line_start);
    uint8_t *start = content_start(request), *blank = start + request->header_blank;
    memmove(start - length, start, request->header_blank);
    memcpy(blank - length, line_start, length);
    return start - length;
}

/* The whole answer is in the buffer. Returns where it begins; its end is out.wrNext. */
static uint8_t *settle(struct request *request)
{
    if (request->refusal == NULL && !examine_header(request) && request->refusal == NULL)
        refuse(request, content_length(request) == 0 ? "it wrote nothing" : "its output has no blank line");
    size_t body = content_length(request) - request->header_bytes;
    if (request->refusal == NULL && request->declared_bytes >= 0 && !request->bodiless &&
        (int64_t)body != request->declared_bytes)
        refuse(request, "its body is not as long as its Content-Length");
    if (request->refusal != NULL) {
        log_error("respond", "route %s answered 500: %s", request->route->settings->path, request->refusal);
        respond_error(request, 500);
        (void)examine_header(request);
        body = content_length(request) - request->header_bytes;
    }
    uint8_t *start = content_start(request);
    request->sent_bytes = request->bodiless ? 0 : (int64_t)body;
    if (request->declared_bytes < 0 && !status_has_no_body(request->status) && (body > 0 || !request->bodiless))
        start = insert_content_length(request, body);
    if (request->bodiless)
        request->out.wrNext = content_start(request) + request->header_bytes;
    return start;
}

static void finish_errors(struct request *request)
{
    size_t length = error_length(request);
    if (length == 0 && !request->error_used)
        return;
    if (length > 0)
        log_errors(request, length);
    uint8_t *content = request->error_buffer + RECORD_HEADER_BYTES;
    struct iovec *record = &request->unsent[0];
    if (length > 0)
        *record = fastcgi_frame(request, RECORD_STDERR, content, length);
    else
        *record = (struct iovec){.iov_base = content, .iov_len = 0};
    uint8_t *end = (uint8_t *)record->iov_base + record->iov_len;
    record->iov_len += fastcgi_put_stream_end(request, RECORD_STDERR, end);
}

void respond_finish(struct request *request)
{
    uint8_t *start = content_start(request);
    size_t length;
    if (request->aborted) {
        length = 0;
    } else if (!request->started) {
        start = settle(request);
        length = (size_t)(request->out.wrNext - start);
    } else {
        length = count_and_clip(request, 0);
        if (!request->bodiless && request->sent_bytes < request->declared_bytes) {
            log_error("respond", "route %s wrote less than its Content-Length: the connection ends",
                      request->route->settings->path);
            request->cut = true;
        }
    }
    finish_errors(request);
    struct iovec record = {.iov_base = start, .iov_len = 0};
    if (length > 0)
        record = fastcgi_frame(request, RECORD_STDOUT, start, length);
    if (!request->cut) {
        record.iov_len += fastcgi_put_stream_end(request, RECORD_STDOUT, (uint8_t *)record.iov_base + record.iov_len);
        record.iov_len += fastcgi_put_end(request, (uint8_t *)record.iov_base + record.iov_len);
    }
    request->unsent[1] = record;
}
