/*
 * cgi_header.c: checks the header block that a handler wrote. Pure; runs on whichever thread finishes the answer.
 */
#include "serve/cgi_header.h"

#include "serve/token.h"

/* "200" or "200 any reason". Returns −1 when it is no final status. */
static int read_status(struct span value)
{
    if (value.length < 3 || (value.length > 3 && value.at[3] != ' '))
        return -1;
    int64_t status = span_number(span_of(value.at, 3));
    return status >= 200 && status <= 599 ? (int)status : -1;
}

/* What concerns one connection alone: RFC 9110 section 7.6.1; and Status. */
static bool is_servers(struct span name)
{
    switch (name.length) {
    case 6:
        return span_is_ignoring_case(name, "Status");
    case 7:
        return span_is_ignoring_case(name, "Upgrade") || span_is_ignoring_case(name, "Trailer");
    case 10:
        return span_is_ignoring_case(name, "Connection") || span_is_ignoring_case(name, "Keep-Alive");
    case 16:
        return span_is_ignoring_case(name, "Proxy-Connection");
    default:
        return false;
    }
}

static const char *read_status_line(struct span value, struct cgi_header *header, bool *status_seen)
{
    header->status = read_status(value);
    if (header->status < 0 || *status_seen)
        return "a bad or second Status line";
    header->reason = value.length > 4 ? span_of(value.at + 4, value.length - 4) : span_of(value.at, 0);
    *status_seen = true;
    return NULL;
}

static const char *read_content_length(struct span value, struct cgi_header *header)
{
    int64_t length = span_number(value);
    if (length < 0 || header->content_length >= 0)
        return "a bad or second Content-Length";
    header->content_length = length;
    return NULL;
}

/* The lines that mean something here. Returns why one cannot be. */
static const char *understand(struct span name, struct span value, struct cgi_header *header, bool *status_seen)
{
    switch (name.length) {
    case 4:
        header->has_date = header->has_date || span_is_ignoring_case(name, "Date");
        return NULL;
    case 6:
        header->has_server = header->has_server || span_is_ignoring_case(name, "Server");
        return span_is_ignoring_case(name, "Status") ? read_status_line(value, header, status_seen) : NULL;
    case 8:
        if (span_is_ignoring_case(name, "Location") && !*status_seen)
            header->status = 302; /* RFC 3875 section 6.2.3 */
        return NULL;
    case 14:
        return span_is_ignoring_case(name, "Content-Length") ? read_content_length(value, header) : NULL;
    case 17:
        return span_is_ignoring_case(name, "Transfer-Encoding") ? "Transfer-Encoding, which is the server's to set"
                                                                : NULL;
    default:
        return NULL;
    }
}

static const char *read_line(struct span line, struct cgi_header *header, bool *status_seen)
{
    struct span name = span_take(&line, token_length(line));
    if (line.length == 0 || line.at[0] != ':')
        return memchr(line.at, ':', line.length) == NULL ? "a header line without a colon"
                                                         : "a header name that is no token";
    if (name.length == 0)
        return "a header name that is no token";
    span_take(&line, 1);
    struct span value = token_trim(line);
    if (!token_is_value(value))
        return "a control character in a header";
    header->is_clean = header->is_clean && !is_servers(name);
    return understand(name, value, header, status_seen);
}

enum cgi_header_result cgi_header_parse(struct span output, struct cgi_header *header, const char **why)
{
    struct span rest = output;
    bool status_seen = false;
    *header = (struct cgi_header){.status = 200, .content_length = -1, .is_clean = true};
    for (;;) {
        const uint8_t *end = memchr(rest.at, '\n', rest.length);
        if (end == NULL)
            return CGI_HEADER_INCOMPLETE;
        struct span line = span_of(rest.at, (size_t)(end - rest.at));
        header->blank_at = (size_t)(rest.at - output.at);
        span_take(&rest, line.length + 1);
        if (line.length > 0 && line.at[line.length - 1] == '\r')
            line.length--;
        else if (line.length > 0)
            header->is_clean = false;
        if (line.length == 0)
            break;
        *why = read_line(line, header, &status_seen);
        if (*why != NULL)
            return CGI_HEADER_BAD;
    }
    header->length = output.length - rest.length;
    header->is_clean = header->is_clean && header->length - header->blank_at == 2;
    *why = "no header line before the blank line";
    return header->blank_at == 0 ? CGI_HEADER_BAD : CGI_HEADER_DONE;
}

size_t cgi_header_copy(const struct cgi_header *header, const uint8_t *block, uint8_t *to)
{
    struct span rest = span_of(block, header->blank_at);
    uint8_t *at = to;
    if (header->is_clean) {
        memcpy(to, block, header->blank_at);
        return header->blank_at;
    }
    while (rest.length > 0) {
        const uint8_t *end = memchr(rest.at, '\n', rest.length), *colon = memchr(rest.at, ':', rest.length);
        struct span line = span_take(&rest, (size_t)(end - rest.at) + 1);
        if (is_servers(span_of(line.at, (size_t)(colon - line.at))))
            continue;
        line.length -= line.length > 1 && end[-1] == '\r' ? 2 : 1;
        memcpy(at, line.at, line.length);
        memcpy(at + line.length, "\r\n", 2);
        at += line.length + 2;
    }
    return (size_t)(at - to);
}
