/*
 * status_request.c: reads a request's first line and finds the end of its head. Source: RFC 9112 section 3; header
 * fields mean nothing here, since every answer closes its connection.
 */
#include "control/status_request.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *path;
    enum status_resource resource;
} resources[] = {{"/", STATUS_PAGE},
                 {"/status.json", STATUS_JSON},
                 {"/metrics", STATUS_METRICS},
                 {"/status.txt", STATUS_TEXT},
                 {"/healthz", STATUS_HEALTH}};

/* Up to the separator, which is taken as well. Returns false when it is not there. */
static bool take_until(struct span *from, const char *separator, struct span *part)
{
    size_t length = strlen(separator);
    const uint8_t *at = memmem(from->at, from->length, separator, length);
    if (at == NULL)
        return false;
    *part = span_take(from, (size_t)(at - from->at));
    span_take(from, length);
    return true;
}

static bool is_version(struct span text)
{
    return span_is(text, "HTTP/1.1") || span_is(text, "HTTP/1.0");
}

static int find_resource(struct span target, enum status_resource *resource)
{
    const uint8_t *query = target.length == 0 ? NULL : memchr(target.at, '?', target.length);
    if (query != NULL)
        target.length = (size_t)(query - target.at);
    for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++) {
        if (!span_is(target, resources[i].path))
            continue;
        *resource = resources[i].resource;
        return 200;
    }
    return 404;
}

struct status_request status_request_parse(struct span bytes, bool full)
{
    struct status_request request = {.status = 0};
    struct span rest = bytes, line, method, target;
    if (memmem(bytes.at, bytes.length, "\r\n\r\n", 4) == NULL) {
        request.status = full ? 431 : 0;
        return request;
    }
    request.status = 400;
    if (!take_until(&rest, "\r\n", &line) || !take_until(&line, " ", &method) || !take_until(&line, " ", &target) ||
        !is_version(line) || target.length == 0 || target.at[0] != '/' ||
        memchr(target.at, '\0', target.length) != NULL)
        return request;
    request.head = span_is(method, "HEAD");
    request.status = !request.head && !span_is(method, "GET") ? 405 : find_resource(target, &request.resource);
    return request;
}
