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

/* What concerns one connection alone: RFC 9110 section 7.6.1. */
static bool is_servers(struct span name)
{
    return span_is_ignoring_case(name, "Status") || span_is_ignoring_case(name, "Connection") ||
           span_is_ignoring_case(name, "Keep-Alive") || span_is_ignoring_case(name, "Upgrade") ||
           span_is_ignoring_case(name, "Proxy-Connection") || span_is_ignoring_case(name, "Trailer");
}

static const char *read_line(struct span line, struct cgi_header *header, bool *status_seen)
{
    const uint8_t *colon = memchr(line.at, ':', line.length);
    if (colon == NULL)
        return "a header line without a colon";
    struct span name = span_of(line.at, (size_t)(colon - line.at));
    struct span value = token_trim(span_of(colon + 1, line.length - name.length - 1));
    if (!token_is_token(name))
        return "a header name that is no token";
    if (!token_is_value(value))
        return "a control character in a header";
    header->is_clean = header->is_clean && !is_servers(name);
    header->has_date = header->has_date || span_is_ignoring_case(name, "Date");
    header->has_server = header->has_server || span_is_ignoring_case(name, "Server");
    if (span_is_ignoring_case(name, "Status")) {
        header->status = read_status(value);
        if (header->status < 0 || *status_seen)
            return "a bad or second Status line";
        header->reason = value.length > 4 ? span_of(value.at + 4, value.length - 4) : span_of(value.at, 0);
        *status_seen = true;
    } else if (span_is_ignoring_case(name, "Content-Length")) {
        int64_t length = span_number(value);
        if (length < 0 || header->content_length >= 0)
            return "a bad or second Content-Length";
        header->content_length = length;
    } else if (span_is_ignoring_case(name, "Transfer-Encoding")) {
        return "Transfer-Encoding, which is the server's to set";
    } else if (span_is_ignoring_case(name, "Location") && !*status_seen) {
        header->status = 302; /* RFC 3875 section 6.2.3 */
    }
    return NULL;
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
