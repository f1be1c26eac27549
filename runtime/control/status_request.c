/*
 * status_request.c: reads a request's head, strictly: what other servers might understand in another way is refused.
 * Each answer closes its connection, so a body, which means nothing here, is never taken for a request. Source: RFC
 * 9112 sections 2 to 5, RFC 9110 sections 5.6.2 and 7.2.
 */
#include "control/status_request.h"

#include <string.h>

#include "base/check.h"

static const struct {
    const char *path;
    enum status_resource resource;
} resources[] = {{"/", STATUS_PAGE},
                 {"/status.json", STATUS_JSON},
                 {"/metrics", STATUS_METRICS},
                 {"/status.txt", STATUS_TEXT},
                 {"/healthz", STATUS_HEALTH}};

enum line_result { LINE_DONE, LINE_MORE, LINE_BAD };

/* Takes a line and its CRLF off the front. A control character is an error as soon as it has come. */
static enum line_result take_line(struct span *from, struct span *line)
{
    for (size_t i = 0; i < from->length; i++) {
        uint8_t byte = from->at[i];
        if (byte == '\r') {
            if (i + 1 == from->length)
                return LINE_MORE;
            if (from->at[i + 1] != '\n')
                return LINE_BAD;
            *line = span_take(from, i);
            span_take(from, 2);
            return LINE_DONE;
        }
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return LINE_BAD;
    }
    return LINE_MORE;
}

/* Takes what comes before the separator, and the separator. Returns false when there is none. */
static bool take_until(struct span *from, char separator, struct span *part)
{
    const uint8_t *at = from->length == 0 ? NULL : memchr(from->at, separator, from->length);
    if (at == NULL)
        return false;
    *part = span_take(from, (size_t)(at - from->at));
    span_take(from, 1);
    return true;
}

static bool is_token(struct span text)
{
    static const char others[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < text.length; i++)
        if (memchr(others, text.at[i], sizeof others - 1) == NULL)
            return false;
    return text.length > 0;
}

/* -- the first line ------------------------------------------------------------------------------------------------ */

/* From `http://host/path?query` or `/path?query` to the path. Returns false when it is neither. */
static bool reduce_to_path(struct span *target)
{
    static const char scheme[] = "http://";
    for (size_t i = 0; i < target->length; i++)
        if (target->at[i] <= ' ' || target->at[i] >= 0x7f || target->at[i] == '#')
            return false;
    if (target->length >= sizeof scheme && strncasecmp((const char *)target->at, scheme, sizeof scheme - 1) == 0) {
        span_take(target, sizeof scheme - 1);
        while (target->length > 0 && target->at[0] != '/')
            span_take(target, 1);
    }
    const uint8_t *query = target->length == 0 ? NULL : memchr(target->at, '?', target->length);
    if (query != NULL)
        target->length = (size_t)(query - target->at);
    return target->length > 0 && target->at[0] == '/';
}

static int find_resource(struct span path, enum status_resource *resource)
{
    for (size_t i = 0; i < COUNT_OF(resources); i++) {
        if (!span_is(path, resources[i].path))
            continue;
        *resource = resources[i].resource;
        return 200;
    }
    return 404;
}

/* Returns 0, or the status for what is no version of HTTP that is spoken here. */
static int check_version(struct span version)
{
    static const char form[] = "HTTP/1.1";
    if (version.length != sizeof form - 1 || memcmp(version.at, "HTTP/", 5) != 0 || version.at[6] != '.' ||
        version.at[5] < '0' || version.at[5] > '9' || version.at[7] < '0' || version.at[7] > '9')
        return 400;
    return version.at[5] == '1' ? 0 : 505;
}

/* Sets `status` to what the answer will be when the rest of the head is in order. Returns whether the rest matters. */
static bool read_first_line(struct span line, struct status_request *request, bool *needs_host)
{
    struct span method, target;
    request->status = 400;
    if (!take_until(&line, ' ', &method) || !take_until(&line, ' ', &target) || !is_token(method))
        return false;
    request->head = span_is(method, "HEAD");
    int fault = check_version(line);
    if (fault != 0) {
        request->status = fault;
        return false;
    }
    *needs_host = line.at[7] != '0';
    if (!request->head && !span_is(method, "GET")) {
        request->status = 405; /* its target may have another form */
        return true;
    }
    if (!reduce_to_path(&target))
        return false;
    request->status = find_resource(target, &request->resource);
    return true;
}

/* -- the fields ---------------------------------------------------------------------------------------------------- */

/* A line that goes on with the one before begins with a blank, and so with no token. */
static bool read_field(struct span line, int *hosts)
{
    struct span name;
    if (!take_until(&line, ':', &name) || !is_token(name))
        return false;
    *hosts += span_is_ignoring_case(name, "Host");
    return true;
}

/* Returns 0 while fields are missing, 200 at their end, or 400. */
static int read_fields(struct span rest, bool needs_host)
{
    struct span line;
    int hosts = 0;
    for (;;) {
        switch (take_line(&rest, &line)) {
        case LINE_BAD:
            return 400;
        case LINE_MORE:
            return 0;
        case LINE_DONE:
            if (line.length == 0)
                return hosts > 1 || (needs_host && hosts == 0) ? 400 : 200;
            if (!read_field(line, &hosts))
                return 400;
        }
    }
}

struct status_request status_request_parse(struct span bytes)
{
    struct status_request request = {.status = 400};
    struct span rest = bytes, line;
    bool full = bytes.length >= STATUS_REQUEST_BYTES, needs_host;
    enum line_result first = take_line(&rest, &line);
    if (first == LINE_MORE)
        request.status = full ? 414 : 0;
    if (first != LINE_DONE || !read_first_line(line, &request, &needs_host))
        return request;
    int fields = read_fields(rest, needs_host);
    if (fields == 0)
        request.status = full ? 431 : 0;
    else if (fields != 200)
        request.status = fields;
    return request;
}
