/*
 * http_parse.c: reads heads line by line, chunked bodies byte by byte. Pure; runs on lanes and, for bodies, on handler
 * threads.
 */
#include "serve/http_parse.h"

#include "base/check.h"
#include "serve/token.h"

enum {
    BAD = 400,
    NOT_ALLOWED = 405,
    URI_TOO_LONG = 414,
    EXPECTATION = 417,
    TOO_LARGE = 431,
    UNKNOWN = 501,
    VERSION = 505
};

void http_head_init(struct http_head *head)
{
    memset(head, 0, offsetof(struct http_head, fields));
    head->content_length = -1;
}

static struct http_part part_of(const uint8_t *head_at, struct span span)
{
    return (struct http_part){.at = (uint16_t)(span.at - head_at), .length = (uint16_t)span.length};
}

/* -- the request line -------------------------------------------------------------------------------------------------
 */

/* Case matters in a method; those with other characters are nobody's. */
static int check_method(struct span method)
{
    if (!token_is_token(method))
        return BAD;
    if (method.length > HTTP_METHOD_BYTES)
        return UNKNOWN;
    for (size_t i = 0; i < method.length; i++)
        if ((method.at[i] < 'A' || method.at[i] > 'Z') && method.at[i] != '-' && method.at[i] != '_')
            return UNKNOWN;
    return span_is(method, "CONNECT") || span_is(method, "TRACE") ? NOT_ALLOWED : 0;
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static int check_version(struct span version, uint8_t *minor)
{
    if (version.length != 8 || memcmp(version.at, "HTTP/", 5) != 0 || !is_digit(version.at[5]) ||
        version.at[6] != '.' || !is_digit(version.at[7]))
        return BAD;
    if (version.at[5] != '1' || version.at[7] > '1')
        return VERSION;
    *minor = (uint8_t)(version.at[7] - '0');
    return 0;
}

/* Bytes beyond ASCII are no part of a URI, but sent all the same, and nobody reads them in two ways. */
static bool is_target(struct span target)
{
    for (size_t i = 0; i < target.length; i++)
        if (target.at[i] <= ' ' || target.at[i] == 0x7f || target.at[i] == '#')
            return false;
    return target.length > 0;
}

/* RFC 3986 section 3.2.2: a letter, a digit, or one of -._~!$&'()*+,;=% */
static bool is_name_byte(uint8_t byte)
{
    static const uint32_t bytes[8] = {0, 0x2bff7ff2, 0x87fffffe, 0x47fffffe};
    return bytes[byte >> 5] >> (byte & 31) & 1;
}

/* A host name or an address, and a port if there is a colon. */
static bool is_host(struct span host)
{
    size_t i = 0;
    if (host.length > 0 && host.at[0] == '[') {
        const uint8_t *end = memchr(host.at, ']', host.length);
        if (end == NULL || end == host.at + 1)
            return false;
        for (i = 1; host.at[i] != ']'; i++)
            if (token_hex(host.at[i]) < 0 && host.at[i] != ':' && host.at[i] != '.')
                return false;
        i++;
    } else {
        while (i < host.length && is_name_byte(host.at[i]))
            i++;
        if (i == 0)
            return false;
    }
    if (i < host.length && host.at[i++] != ':')
        return false;
    while (i < host.length && is_digit(host.at[i]))
        i++;
    return i == host.length;
}

static void split_uri(struct http_head *head, const uint8_t *head_at, struct span uri)
{
    const uint8_t *mark = memchr(uri.at, '?', uri.length);
    head->uri = part_of(head_at, uri);
    head->path = head->uri;
    if (mark == NULL)
        return;
    struct span path = span_take(&uri, (size_t)(mark - uri.at));
    head->path = part_of(head_at, path);
    span_take(&uri, 1);
    head->query = part_of(head_at, uri);
}

/* RFC 9112 section 3.2.2: the absolute form's host is the one that counts. */
static int read_absolute(struct http_head *head, const uint8_t *head_at, struct span target)
{
    size_t scheme = 7;
    if (target.length > 8 && strncasecmp((const char *)target.at, "https://", 8) == 0)
        scheme = 8;
    else if (target.length <= 7 || strncasecmp((const char *)target.at, "http://", 7) != 0)
        return BAD;
    span_take(&target, scheme);
    size_t length = 0;
    while (length < target.length && target.at[length] != '/' && target.at[length] != '?')
        length++;
    struct span host = span_take(&target, length);
    if (!is_host(host))
        return BAD;
    head->is_absolute = true;
    head->host = part_of(head_at, host);
    split_uri(head, head_at, target);
    return 0;
}

static int read_request_line(struct http_head *head, const uint8_t *head_at, struct span line)
{
    const uint8_t *first = memchr(line.at, ' ', line.length);
    if (first == NULL)
        return BAD;
    struct span method = span_take(&line, (size_t)(first - line.at));
    span_take(&line, 1);
    const uint8_t *second = memchr(line.at, ' ', line.length);
    if (second == NULL)
        return BAD;
    struct span target = span_take(&line, (size_t)(second - line.at));
    span_take(&line, 1);
    int status = check_version(line, &head->minor);
    if (status == 0)
        status = check_method(method);
    if (status != 0 && status != NOT_ALLOWED)
        return status;
    head->method = part_of(head_at, method);
    head->has_line = true;
    if (status != 0)
        return status;
    if (!is_target(target))
        return BAD;
    if (target.at[0] != '/')
        return read_absolute(head, head_at, target);
    split_uri(head, head_at, target);
    return 0;
}

/* -- fields -----------------------------------------------------------------------------------------------------------
 */

static int read_host(struct http_head *head, const uint8_t *head_at, struct span value)
{
    if (head->host_count++ > 0 || !is_host(value))
        return BAD;
    if (!head->is_absolute)
        head->host = part_of(head_at, value);
    return 0;
}

static int read_content_length(struct http_head *head, struct span value)
{
    while (value.length > 1 && value.at[0] == '0')
        span_take(&value, 1);
    head->content_length = span_number(value);
    return head->length_count++ > 0 || head->content_length < 0 ? BAD : 0;
}

static int read_transfer_encoding(struct http_head *head, struct span value)
{
    head->chunked = span_is_ignoring_case(value, "chunked");
    if (head->coding_count++ > 0)
        return BAD;
    if (head->chunked)
        return 0;
    struct span item;
    int status = BAD; /* for want of a coding */
    while (token_next_item(&value, &item)) {
        if (span_is_ignoring_case(item, "chunked") && value.length > 0)
            return BAD; /* it must be the last */
        status = UNKNOWN;
    }
    return status;
}

static void read_connection(struct http_head *head, struct span value)
{
    struct span item;
    while (token_next_item(&value, &item)) {
        head->closes = head->closes || span_is_ignoring_case(item, "close");
        head->keeps = head->keeps || span_is_ignoring_case(item, "keep-alive");
    }
}

static int read_expect(struct http_head *head, struct span value)
{
    if (head->minor == 0)
        return 0;
    head->expects_continue = true;
    return span_is_ignoring_case(value, "100-continue") ? 0 : EXPECTATION;
}

/* Those that say how the message is to be read. */
static int understand(struct http_head *head, const uint8_t *head_at, struct span name, struct span value)
{
    switch (name.length) {
    case 4:
        return span_is_ignoring_case(name, "Host") ? read_host(head, head_at, value) : 0;
    case 6:
        return span_is_ignoring_case(name, "Expect") ? read_expect(head, value) : 0;
    case 10:
        if (span_is_ignoring_case(name, "Connection"))
            read_connection(head, value);
        return 0;
    case 14:
        return span_is_ignoring_case(name, "Content-Length") ? read_content_length(head, value) : 0;
    case 17:
        return span_is_ignoring_case(name, "Transfer-Encoding") ? read_transfer_encoding(head, value) : 0;
    default:
        return 0;
    }
}

static int read_field(struct http_head *head, const uint8_t *head_at, struct span line)
{
    struct span name =
        span_take(&line, token_length(line)); /* a folded line begins with a blank, which no name holds */
    if (name.length == 0 || line.length == 0 || line.at[0] != ':')
        return BAD;
    span_take(&line, 1);
    struct span value = token_trim(line);
    if (!token_is_value(value))
        return BAD;
    if (head->field_count == HTTP_FIELDS_MAX)
        return TOO_LARGE;
    head->fields[head->field_count++] =
        (struct http_field){.name = part_of(head_at, name), .value = part_of(head_at, value)};
    return understand(head, head_at, name, value);
}

/* What no single line shows. */
static int check_whole(const struct http_head *head)
{
    if (head->minor == 1 && head->host_count == 0)
        return BAD;
    if (head->coding_count > 0 && (head->length_count > 0 || head->minor == 0))
        return BAD;
    return HTTP_DONE;
}

/* -- lines ------------------------------------------------------------------------------------------------------------
 */

/* Returns HTTP_MORE: go on, HTTP_DONE: that was the last line, or the status to answer. */
static int read_line(struct http_head *head, const uint8_t *head_at, struct span line)
{
    if (line.length > 0 && !head->has_line)
        return read_request_line(head, head_at, line);
    if (line.length > 0)
        return read_field(head, head_at, line);
    return head->has_line ? check_whole(head) : HTTP_MORE; /* section 2.2: empty lines before a request mean nothing */
}

/* The line that begins at head->length has so many bytes at least, its CRLF among them. Counted in the same way for a
 * line whose end has come and one whose end has not, so that it does not matter how the bytes arrive. */
static int check_line_bytes(const struct http_head *head, size_t bytes, size_t limit_bytes)
{
    if (!head->has_line && bytes > HTTP_LINE_BYTES + 2)
        return URI_TOO_LONG;
    if (head->length + bytes > limit_bytes)
        return head->has_line ? TOO_LARGE : URI_TOO_LONG;
    return HTTP_MORE;
}

int http_parse_head(struct http_head *head, struct span input, size_t limit_bytes)
{
    CHECK(limit_bytes <= HTTP_HEAD_BYTES);
    for (;;) {
        const uint8_t *end = memchr(input.at + head->scanned, '\n', input.length - head->scanned);
        if (end == NULL) {
            head->scanned = (uint32_t)input.length;
            return check_line_bytes(head, input.length - head->length + 1, limit_bytes);
        }
        struct span line = span_of(input.at + head->length, (size_t)(end - input.at) - head->length);
        int result = check_line_bytes(head, line.length + 1, limit_bytes);
        if (result != HTTP_MORE)
            return result;
        if (line.length == 0 || line.at[line.length - 1] != '\r')
            return BAD;
        line.length--;
        head->length = head->scanned = (uint32_t)(end - input.at) + 1;
        result = read_line(head, input.at, line);
        if (result != HTTP_MORE)
            return result;
    }
}

bool http_head_keeps(const struct http_head *head)
{
    return !head->closes && (head->minor == 1 || head->keeps);
}

/* -- a chunked body ---------------------------------------------------------------------------------------------------
 */

enum {
    SIZE,       /* hexadecimal digits */
    SIZE_BLANK, /* blanks, which only an extension follows */
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER, /* the start of a line of the trailer section */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
};

#define SIZE_DIGITS 15 /* fit int64_t */

static int on_size_end(uint8_t byte)
{
    switch (byte) {
    case '\r':
        return SIZE_LF;
    case ' ':
    case '\t':
        return SIZE_BLANK;
    case ';':
        return EXTENSION;
    default:
        return -1;
    }
}

static int on_size(struct http_chunks *chunks, uint8_t byte)
{
    int digit = token_hex(byte);
    if (digit < 0)
        return chunks->digits == 0 ? -1 : on_size_end(byte);
    if (++chunks->digits > SIZE_DIGITS)
        return -1;
    chunks->left_bytes = chunks->left_bytes << 4 | digit;
    return SIZE;
}

static bool is_text(uint8_t byte)
{
    return (byte >= ' ' && byte != 0x7f) || byte == '\t';
}

/* The state after a byte that is none of the body's; −1: it must not be there. */
static int next_state(struct http_chunks *chunks, uint8_t byte)
{
    switch (chunks->state) {
    case SIZE:
        return on_size(chunks, byte);
    case SIZE_BLANK:
        return byte == '\r' ? -1 : on_size_end(byte);
    case EXTENSION:
        return byte == '\r' ? SIZE_LF : is_text(byte) ? EXTENSION : -1;
    case SIZE_LF:
        chunks->digits = 0;
        return byte != '\n' ? -1 : chunks->left_bytes > 0 ? DATA : TRAILER;
    case DATA_CR:
        return byte == '\r' ? DATA_LF : -1;
    case DATA_LF:
        return byte == '\n' ? SIZE : -1;
    case TRAILER:
        return byte == '\r' ? LAST_LF : token_is_token_byte(byte) ? TRAILER_NAME : -1;
    case TRAILER_NAME:
        return byte == ':' ? TRAILER_VALUE : token_is_token_byte(byte) ? TRAILER_NAME : -1;
    case TRAILER_VALUE:
        return byte == '\r' ? TRAILER_LF : is_text(byte) ? TRAILER_VALUE : -1;
    case TRAILER_LF:
        return byte == '\n' ? TRAILER : -1;
    default: /* LAST_LF */
        chunks->over = byte == '\n';
        return chunks->over ? LAST_LF : -1;
    }
}

static bool is_extra(int state)
{
    return state == SIZE_BLANK || state == EXTENSION || state >= TRAILER_NAME;
}

enum http_chunk http_parse_chunk(struct http_chunks *chunks, struct span *input, struct span *bytes)
{
    while (!chunks->over) {
        if (input->length == 0)
            return HTTP_CHUNK_MORE;
        if (chunks->state == DATA) {
            *bytes = span_take(input, chunks->left_bytes < (int64_t)input->length ? (size_t)chunks->left_bytes
                                                                                  : input->length);
            chunks->left_bytes -= (int64_t)bytes->length;
            if (chunks->left_bytes == 0)
                chunks->state = DATA_CR;
            return HTTP_CHUNK_BYTES;
        }
        int state = next_state(chunks, span_take(input, 1).at[0]);
        if (state < 0 || (is_extra(state) && ++chunks->extra_bytes > HTTP_EXTRA_BYTES))
            return HTTP_CHUNK_BAD;
        chunks->state = (uint8_t)state;
    }
    return HTTP_CHUNK_END;
}
