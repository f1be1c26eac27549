/*
 * mr.c: the runtime's side of millrace.h. Runs in handlers and hooks, on any thread.
 */
#include "millrace.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "serve/callback.h"
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
    if (name == NULL || value == NULL || !token_is_token(span_text(name)) || !token_is_value(span_text(value))) {
        request_refuse(request, 500, "mr_header was given a name or value that no header may hold");
        return -1;
    }
    return mr_printf(req->out, "%s: %s\r\n", name, value) < 0 ? -1 : 0;
}

static const char *const references[256] = {
    ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

int mr_html(FCGX_Stream *out, const char *text, size_t length)
{
    size_t plain = 0; /* start of the bytes that pass unchanged */
    for (size_t i = 0; i < length; i++) {
        const char *reference = references[(unsigned char)text[i]];
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

uint64_t mr_suspend(FCGX_Request *req, int (*on_wake)(FCGX_Request *req, enum mr_wake why, void *arg), void *arg)
{
    return suspend_begin(request_of(req), on_wake, arg);
}

int mr_resume(uint64_t ticket)
{
    return suspend_resume(ticket);
}

struct mr_lane *mr_lane(const FCGX_Request *req)
{
    const struct request *request = request_of(req);
    return &request->connection->lane->parts[request->route->number];
}

struct mr_route *mr_lane_route(const struct mr_lane *lane)
{
    return lane->route;
}

void *mr_lane_state(const struct mr_lane *lane)
{
    return lane->state;
}

void mr_lane_set_state(struct mr_lane *lane, void *state)
{
    lane->state = state;
}

struct mr_watch *mr_watch(struct mr_lane *lane, int fd, int events, void (*on_ready)(struct mr_watch *, int, void *),
                          void *arg)
{
    return callback_watch(lane, fd, events, on_ready, arg);
}

void mr_watch_events(struct mr_watch *watch, int events)
{
    callback_watch_events(watch, events);
}

void mr_unwatch(struct mr_watch *watch)
{
    callback_unwatch(watch);
}

struct mr_timer *mr_timer_new(struct mr_lane *lane, void (*on_time)(struct mr_timer *, void *), void *arg)
{
    return callback_timer(lane, on_time, arg);
}

void mr_after(struct mr_timer *timer, int ms)
{
    callback_after(timer, ms);
}

void mr_timer_free(struct mr_timer *timer)
{
    callback_timer_free(timer);
}

int mr_at_end(FCGX_Request *req, void (*function)(void *arg), void *arg)
{
    return request_at_end(request_of(req), function, arg);
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

struct mr_figure *mr_figure(struct mr_route *route, enum mr_figure_kind kind, const char *name, const char *help)
{
    const char *why;
    struct mr_figure *figure = app_figure_new(&route->figures, kind == MR_COUNTER, name, help, &why);
    if (figure == NULL)
        mr_route_log(route, "no figure %.40s: %s", name == NULL ? "NULL" : name, why);
    return figure;
}

void mr_figure_add(struct mr_figure *figure, int64_t more)
{
    app_figure_add(figure, more);
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
