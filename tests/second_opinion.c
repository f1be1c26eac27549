/*
 * second_opinion.c: reads a request with both parsers and compares what each understood.
 */
#include "second_opinion.h"

#include <http_parser.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "serve/http_parse.h"
#include "serve/token.h"

/* What one parser made of the bytes. */
struct reading {
    struct span method, target;
    int field_count;
    int minor;
    int64_t content_length; /* −1: not declared */
    bool has_head, chunked, keeps;
    bool is_over, bad_body;
    uint8_t *body;
    size_t body_bytes, used_bytes;
    struct http_field_spans {
        struct span name, value;
    } fields[HTTP_FIELDS_MAX + 1];
};

static char difference[400];

static bool differ(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool differ(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(difference, sizeof difference, format, list);
    va_end(list);
    return true;
}

static bool same(struct span one, struct span other)
{
    return one.length == other.length && (one.length == 0 || memcmp(one.at, other.at, one.length) == 0);
}

static void add_body(struct reading *reading, const void *at, size_t length)
{
    memcpy(reading->body + reading->body_bytes, at, length);
    reading->body_bytes += length;
}

/* -- ours
 * ---------------------------------------------------------------------------------------------------------------
 */

static void read_chunks(struct reading *reading, struct span rest)
{
    struct http_chunks chunks = {0};
    struct span bytes;
    enum http_chunk result;
    size_t before = rest.length;
    while ((result = http_parse_chunk(&chunks, &rest, &bytes)) == HTTP_CHUNK_BYTES)
        add_body(reading, bytes.at, bytes.length);
    reading->is_over = result == HTTP_CHUNK_END;
    reading->bad_body = result == HTTP_CHUNK_BAD;
    reading->used_bytes += before - rest.length;
}

static void read_body(struct reading *reading, struct span rest)
{
    if (reading->chunked) {
        read_chunks(reading, rest);
        return;
    }
    size_t declared = reading->content_length > 0 ? (size_t)reading->content_length : 0;
    size_t there = declared < rest.length ? declared : rest.length;
    add_body(reading, rest.at, there);
    reading->used_bytes += there;
    reading->is_over = there == declared;
}

/* Returns what http_parse_head does. */
static int read_ours(struct reading *reading, struct http_head *head, struct span input)
{
    http_head_init(head);
    int status = http_parse_head(head, input, HTTP_HEAD_BYTES);
    if (status != HTTP_DONE)
        return status;
    reading->has_head = true;
    reading->method = http_part_of(input.at, head->method);
    reading->minor = head->minor;
    reading->content_length = head->content_length;
    reading->chunked = head->chunked;
    reading->keeps = http_head_keeps(head);
    for (int i = 0; i < head->field_count; i++) {
        reading->fields[i].name = http_part_of(input.at, head->fields[i].name);
        reading->fields[i].value = http_part_of(input.at, head->fields[i].value);
    }
    reading->field_count = head->field_count;
    reading->used_bytes = head->length;
    read_body(reading, span_of(input.at + head->length, input.length - head->length));
    return HTTP_DONE;
}

/* -- theirs
 * -------------------------------------------------------------------------------------------------------------
 */

static int on_url(http_parser *parser, const char *at, size_t length)
{
    ((struct reading *)parser->data)->target = span_of(at, length);
    return 0;
}

/* Trailers come by the same call. */
static int on_name(http_parser *parser, const char *at, size_t length)
{
    struct reading *reading = parser->data;
    if (!reading->has_head && reading->field_count < (int)COUNT_OF(reading->fields))
        reading->fields[reading->field_count++] = (struct http_field_spans){.name = span_of(at, length)};
    return 0;
}

static int on_value(http_parser *parser, const char *at, size_t length)
{
    struct reading *reading = parser->data;
    if (!reading->has_head)
        reading->fields[reading->field_count - 1].value = token_trim(span_of(at, length));
    return 0;
}

static int on_head(http_parser *parser)
{
    struct reading *reading = parser->data;
    reading->has_head = true;
    reading->method = span_text(http_method_str((enum http_method)parser->method));
    reading->minor = parser->http_major * 10 + parser->http_minor - 10;
    reading->content_length = parser->flags & F_CONTENTLENGTH ? (int64_t)parser->content_length : -1;
    reading->chunked = parser->flags & F_CHUNKED;
    reading->keeps = http_should_keep_alive(parser);
    parser->upgrade = 0;
    return 0;
}

static int on_body(http_parser *parser, const char *at, size_t length)
{
    add_body(parser->data, at, length);
    return 0;
}

static int on_end(http_parser *parser)
{
    ((struct reading *)parser->data)->is_over = true;
    http_parser_pause(parser, 1); /* the next request is none of ours */
    return 0;
}

static enum http_errno read_theirs(struct reading *reading, struct span input, bool *in_trailers)
{
    static const http_parser_settings settings = {.on_url = on_url,
                                                  .on_header_field = on_name,
                                                  .on_header_value = on_value,
                                                  .on_headers_complete = on_head,
                                                  .on_body = on_body,
                                                  .on_message_complete = on_end};
    http_parser parser;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = reading;
    reading->used_bytes = http_parser_execute(&parser, &settings, (const char *)input.at, input.length);
    *in_trailers = parser.flags & F_TRAILING;
    return HTTP_PARSER_ERRNO(&parser);
}

/* -- the comparison
 * -----------------------------------------------------------------------------------------------------
 */

static bool is_plain_host(struct span host)
{
    for (size_t i = 0; i < host.length; i++)
        if (!token_is_alphanumeric(host.at[i]) && strchr(".-_:[]", host.at[i]) == NULL)
            return false;
    return true;
}

static struct span part_of_url(struct span url, const struct http_parser_url *parts, enum http_parser_url_fields field)
{
    bool has = parts->field_set & 1 << field;
    return has ? span_of(url.at + parts->field_data[field].off, parts->field_data[field].len) : span_of(url.at, 0);
}

static bool targets_differ(const struct http_head *head, struct span input, struct span url)
{
    struct http_parser_url parts;
    struct span uri = http_part_of(input.at, head->uri), host = http_part_of(input.at, head->host);
    if (url.length < uri.length || !same(uri, span_of(url.at + url.length - uri.length, uri.length)))
        return differ("the target: '%.*s'", (int)url.length, (const char *)url.at);
    if (head->is_absolute ? url.length <= uri.length : url.length != uri.length)
        return differ("the form of the target: '%.*s'", (int)url.length, (const char *)url.at);
    http_parser_url_init(&parts);
    if (http_parser_parse_url((const char *)url.at, url.length, 0, &parts) != 0)
        return head->is_absolute ? false : differ("its parts of the target: none");
    if (!same(part_of_url(url, &parts, UF_PATH), http_part_of(input.at, head->path)))
        return differ("the path");
    if (!same(part_of_url(url, &parts, UF_QUERY), http_part_of(input.at, head->query)))
        return differ("the query");
    if (!head->is_absolute || !is_plain_host(host))
        return false;
    struct span name = part_of_url(url, &parts, UF_HOST);
    size_t bracket = host.length > 0 && host.at[0] == '[';
    return host.length < name.length + bracket || !same(span_of(host.at + bracket, name.length), name)
               ? differ("the host of the target")
               : false;
}

static bool fields_differ(const struct reading *ours, const struct reading *theirs)
{
    if (ours->field_count != theirs->field_count)
        return differ("%d fields, %d for it", ours->field_count, theirs->field_count);
    for (int i = 0; i < ours->field_count; i++) {
        const struct http_field_spans *one = &ours->fields[i], *other = &theirs->fields[i];
        if (!same(one->name, other->name) || !same(one->value, other->value))
            return differ("field %d: '%.*s: %.*s', '%.*s: %.*s' for it", i, (int)one->name.length,
                          (const char *)one->name.at, (int)one->value.length, (const char *)one->value.at,
                          (int)other->name.length, (const char *)other->name.at, (int)other->value.length,
                          (const char *)other->value.at);
    }
    return false;
}

/* Does it find its words in this line? It stops at what is no token and at empty items, and at an item that begins like
 * one of its words it takes the comma for a part of it. */
static bool finds_words(struct span line)
{
    struct span rest = line, item;
    bool in_item = false;
    for (size_t i = 0; i < line.length; i++) {
        if (!token_is_token_byte(line.at[i]) && line.at[i] != ' ' && (line.at[i] != ',' || !in_item))
            return false;
        in_item = line.at[i] != ',' && (in_item || line.at[i] != ' ');
    }
    while (token_next_item(&rest, &item))
        if (strchr("ckuCKU", item.at[0]) != NULL && !span_is_ignoring_case(item, "close") &&
            !span_is_ignoring_case(item, "keep-alive") && !span_is_ignoring_case(item, "upgrade"))
            return false;
    return true;
}

static bool knows_connection(const struct http_head *head, const struct reading *ours)
{
    for (int i = 0; i < ours->field_count; i++) {
        struct span name = ours->fields[i].name;
        if (span_is_ignoring_case(name, "Proxy-Connection") ||
            (span_is_ignoring_case(name, "Connection") && !finds_words(ours->fields[i].value)))
            return false;
    }
    return !(head->minor == 0 && head->closes && head->keeps);
}

static bool heads_differ(const struct http_head *head, struct span input, const struct reading *ours,
                         const struct reading *theirs)
{
    if (ours->minor != theirs->minor)
        return differ("the version: 1.%d, 1.%d for it", ours->minor, theirs->minor);
    if (!same(ours->method, theirs->method) && !span_is(theirs->method, "GET"))
        return differ("the method: '%.*s' for it", (int)theirs->method.length, (const char *)theirs->method.at);
    if (targets_differ(head, input, theirs->target) || fields_differ(ours, theirs))
        return true;
    if (ours->content_length != theirs->content_length)
        return differ("the length: %lld, %lld for it", (long long)ours->content_length,
                      (long long)theirs->content_length);
    if (ours->chunked != theirs->chunked)
        return differ("chunked: %d, %d for it", ours->chunked, theirs->chunked);
    if (ours->keeps != theirs->keeps && knows_connection(head, ours))
        return differ("the connection is kept: %d, %d for it", ours->keeps, theirs->keeps);
    return false;
}

static bool bodies_differ(const struct reading *ours, const struct reading *theirs)
{
    if (ours->is_over != theirs->is_over)
        return differ("the request is over: %d, %d for it", ours->is_over, theirs->is_over);
    if (!same(span_of(ours->body, ours->body_bytes), span_of(theirs->body, theirs->body_bytes)))
        return differ("the body: %zu bytes, %zu for it", ours->body_bytes, theirs->body_bytes);
    if (ours->is_over && ours->used_bytes != theirs->used_bytes)
        return differ("bytes of the request: %zu, %zu for it", ours->used_bytes, theirs->used_bytes);
    return false;
}

static bool has_tab(struct span input)
{
    return memchr(input.at, '\t', input.length) != NULL;
}

/* `Transfer-Encodings: x` makes it forget what it knows of codings. */
static bool has_name_like_transfer_encoding(const struct reading *ours)
{
    static const char name[] = "Transfer-Encoding";
    for (int i = 0; i < ours->field_count; i++)
        if (ours->fields[i].name.length >= sizeof name &&
            strncasecmp((const char *)ours->fields[i].name.at, name, sizeof name - 1) == 0)
            return true;
    return false;
}

/* Is the body refused by a limit of its own? */
static bool has_no_opinion(struct span input, enum http_errno error, bool in_trailers)
{
    switch (error) {
    case HPE_INVALID_CHUNK_SIZE:
        return has_tab(input);
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_UNEXPECTED_CONTENT_LENGTH:
        return in_trailers;
    default:
        return false;
    }
}

/* Our parser has taken the head; `theirs` may be anything. */
static enum second_opinion_kind compare(const struct http_head *head, struct span input, const struct reading *ours,
                                        const struct reading *theirs, enum http_errno error, bool in_trailers)
{
    if (has_name_like_transfer_encoding(ours))
        return SECOND_OPINION_PARTLY;
    if (!theirs->has_head) {
        differ("it refuses the head at byte %zu: %s", theirs->used_bytes, http_errno_description(error));
        return SECOND_OPINION_DIFFERENT;
    }
    if (heads_differ(head, input, ours, theirs))
        return SECOND_OPINION_DIFFERENT;
    if (ours->bad_body || has_no_opinion(input, error, in_trailers))
        return SECOND_OPINION_PARTLY;
    if (error != HPE_OK && error != HPE_PAUSED) {
        differ("it refuses the body at byte %zu: %s", theirs->used_bytes, http_errno_description(error));
        return SECOND_OPINION_DIFFERENT;
    }
    if (bodies_differ(ours, theirs))
        return SECOND_OPINION_DIFFERENT;
    return ours->is_over ? SECOND_OPINION_SAME : SECOND_OPINION_UNFINISHED;
}

static bool knows_method(struct span method)
{
    for (int i = 0; i <= HTTP_SOURCE; i++)
        if (span_is(method, http_method_str((enum http_method)i)))
            return true;
    return false;
}

/* A copy with a method that libhttp-parser knows, and with blanks for the tabs behind values. */
static struct span as_it_knows(const struct http_head *head, struct span input)
{
    uint8_t *copy = malloc(input.length + 3);
    CHECK(copy != NULL);
    memcpy(copy, input.at, input.length);
    for (int i = 0; i < head->field_count; i++)
        for (uint8_t *at = copy + head->fields[i].value.at + head->fields[i].value.length; *at != '\r'; at++)
            *at = ' ';
    if (knows_method(http_part_of(input.at, head->method)))
        return span_of(copy, input.length);
    size_t rest = (size_t)head->method.at + head->method.length;
    memmove(copy + head->method.at + 3, copy + rest, input.length - rest);
    memcpy(copy + head->method.at, "GET", 3);
    return span_of(copy, input.length - head->method.length + 3);
}

static void start_reading(struct reading *reading, size_t input_bytes)
{
    memset(reading, 0, offsetof(struct reading, fields));
    reading->body = malloc(input_bytes + 1);
    CHECK(reading->body != NULL);
}

enum second_opinion_kind second_opinion(struct span input, const char **why)
{
    static struct reading ours, theirs;
    struct http_head head;
    enum second_opinion_kind kind = SECOND_OPINION_REFUSED;
    bool in_trailers;
    start_reading(&ours, input.length);
    start_reading(&theirs, input.length + 3);
    int status = read_ours(&ours, &head, input);
    if (status == HTTP_DONE) {
        struct span known = as_it_knows(&head, input);
        enum http_errno error = read_theirs(&theirs, known, &in_trailers);
        theirs.used_bytes += input.length - known.length;
        kind = compare(&head, input, &ours, &theirs, error, in_trailers);
        free((void *)(uintptr_t)known.at);
    } else if (status == HTTP_MORE) {
        kind = SECOND_OPINION_UNFINISHED; /* a line is judged when it is whole, so it may have been more hasty */
    }
    *why = difference;
    free(ours.body);
    free(theirs.body);
    return kind;
}
