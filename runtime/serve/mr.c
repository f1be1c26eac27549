/*
 * mr.c: the runtime's side of millrace.h. Runs in handlers and hooks, on any thread.
 */
#include "millrace.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "serve/connection.h"
#include "serve/limits.h"
#include "serve/request.h"
#include "serve/token.h"

static int put(FCGX_Stream *out, const char *text, size_t length)
{
    while (length > 0) {
        int part = length > 1 << 30 ? 1 << 30 : (int)length;
        if (FCGX_PutStr(text, part, out) != part)
            return -1;
        text += part;
        length -= (size_t)part;
    }
    return 0;
}

int mr_printf(FCGX_Stream *out, const char *format, ...)
{
    char small[1024], *text = small;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length >= (int)sizeof small) {
        text = malloc((size_t)length + 1);
        if (text != NULL)
            vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    va_end(arguments);
    int result = length < 0 || text == NULL || put(out, text, (size_t)length) < 0 ? -1 : length;
    if (text != small)
        free(text);
    return result;
}

int mr_header(FCGX_Request *req, const char *name, const char *value)
{
    struct request *request = request_of(req);
    if (request->started)
        return -1;
    if (name == NULL || value == NULL || !token_is_token(span_text(name)) ||
        !token_is_value(span_text(value))) {
        request_refuse(request, 500, "mr_header was given a name or value that no header may hold");
        return -1;
    }
    return mr_printf(req->out, "%s: %s\r\n", name, value) < 0 ? -1 : 0;
}

static const char *reference_for(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

int mr_html(FCGX_Stream *out, const char *text, size_t length)
{
    size_t plain = 0; /* start of the bytes that pass unchanged */
    for (size_t i = 0; i < length; i++) {
        const char *reference = reference_for(text[i]);
        if (reference == NULL)
            continue;
        if (put(out, text + plain, i - plain) < 0 || put(out, reference, strlen(reference)) < 0)
            return -1;
        plain = i + 1;
    }
    return put(out, text + plain, length - plain);
}

int mr_client_gone(FCGX_Request *req)
{
    struct request *request = request_of(req);
    return request->connection->transport->is_aborted(request) || request->connection->gone;
}

int mr_deadline_ms(const FCGX_Request *req)
{
    return limits_deadline_ms(request_of(req));
}

const char *mr_route_option(const struct mr_route *route, const char *name)
{
    return route_option(route, name);
}

const char *mr_option(const FCGX_Request *req, const char *name)
{
    return route_option(request_of(req)->route, name);
}

void *mr_route_state(const struct mr_route *route)
{
    return route->state;
}

void mr_route_set_state(struct mr_route *route, void *state)
{
    route->state = state;
}

void *mr_state(const FCGX_Request *req)
{
    return request_of(req)->route->state;
}

void mr_log(const FCGX_Request *req, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_write_v(LOG_INFO, request_of(req)->route->settings->path, format, arguments);
    va_end(arguments);
}

void mr_route_log(const struct mr_route *route, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_write_v(LOG_INFO, route->settings->path, format, arguments);
    va_end(arguments);
}
