/*
 * fuzz_http_head.c: libFuzzer entry for the parser of HTTP/1.1: a head, and the chunks behind it.
 *
 * The first byte says how the rest is cut. Whatever the cuts, the same is understood; what is understood lies within
 * the head and keeps the rules of its fields; and libhttp-parser reads it in the same way (tests/second_opinion.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "second_opinion.h"
#include "serve/http_parse.h"
#include "serve/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT_BYTES 20000 /* less than the most, so that inputs of the usual size reach it */

static void free_copy(const uint8_t *copy)
{
    free((void *)(uintptr_t)copy);
}

/* A copy of its own, so that a byte read beyond it is seen. */
static struct span copy_of(const uint8_t *data, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);
    CHECK(copy != NULL);
    memcpy(copy, data, length);
    return span_of(copy, length);
}

static int parse_in_parts(struct http_head *head, const uint8_t *data, size_t size, size_t part)
{
    int status = HTTP_MORE;
    http_head_init(head);
    for (size_t length = part < size ? part : size; status == HTTP_MORE; length += part) {
        length = length < size ? length : size;
        struct span input = copy_of(data, length);
        status = http_parse_head(head, input, LIMIT_BYTES);
        free_copy(input.at);
        if (length == size)
            break;
    }
    return status;
}

static bool within(const struct http_head *head, struct http_part part)
{
    return (size_t)part.at + part.length <= head->length;
}

static void check_head(const struct http_head *head, const uint8_t *data)
{
    CHECK(head->length <= LIMIT_BYTES && head->scanned == head->length && head->minor <= 1);
    CHECK(within(head, head->method) && within(head, head->uri) && within(head, head->path));
    CHECK(within(head, head->query) && within(head, head->host));
    CHECK(token_is_token(http_part_of(data, head->method)));
    CHECK(head->is_absolute || (head->path.length > 0 && data[head->path.at] == '/'));
    CHECK(head->minor == 0 || (head->host_count == 1 && head->host.length > 0));
    CHECK(!head->chunked || (head->minor == 1 && head->content_length < 0));
    CHECK((head->content_length >= 0) == (head->length_count == 1) && head->length_count <= 1);
    CHECK(head->chunked == (head->coding_count == 1) && head->coding_count <= 1);
    CHECK(head->field_count <= HTTP_FIELDS_MAX);
    for (int i = 0; i < head->field_count; i++) {
        struct span value = http_part_of(data, head->fields[i].value);
        CHECK(within(head, head->fields[i].name) && within(head, head->fields[i].value));
        CHECK(token_is_token(http_part_of(data, head->fields[i].name)) && token_is_value(value));
        CHECK(token_trim(value).length == value.length);
    }
}

static bool same_head(const struct http_head *one, const struct http_head *other)
{
    return memcmp(one, other, offsetof(struct http_head, fields)) == 0 &&
           memcmp(one->fields, other->fields, one->field_count * sizeof one->fields[0]) == 0;
}

struct body {
    enum http_chunk end;
    uint64_t hash;
    size_t bytes, used;
};

static struct body read_chunks(const uint8_t *data, size_t size, size_t part)
{
    struct http_chunks chunks = {0};
    struct body body = {.end = HTTP_CHUNK_MORE};
    for (size_t at = 0; at < size && body.end == HTTP_CHUNK_MORE; at += part) {
        struct span input = copy_of(data + at, size - at < part ? size - at : part), left = input, bytes;
        while ((body.end = http_parse_chunk(&chunks, &left, &bytes)) == HTTP_CHUNK_BYTES) {
            CHECK(bytes.length > 0);
            for (size_t i = 0; i < bytes.length; i++)
                body.hash = (body.hash ^ bytes.at[i]) * UINT64_C(1099511628211);
            body.bytes += bytes.length;
        }
        CHECK(body.end != HTTP_CHUNK_MORE || left.length == 0);
        body.used += input.length - left.length;
        free_copy(input.at);
    }
    return body;
}

static void check_chunks(const uint8_t *data, size_t size, size_t part)
{
    struct body whole = read_chunks(data, size, size + 1), parts = read_chunks(data, size, part);
    CHECK(whole.end == parts.end && whole.hash == parts.hash && whole.bytes == parts.bytes);
    CHECK(whole.used == parts.used && whole.used <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_head whole, parts;
    const char *why;
    if (size < 2)
        return 0;
    size_t part = (size_t)data[0] + 1 + size / 256;
    data++;
    size--;
    int status = parse_in_parts(&whole, data, size, size);
    CHECK(parse_in_parts(&parts, data, size, part) == status);
    check_chunks(data, size, part);
    if (status == HTTP_DONE) {
        check_head(&whole, data);
        CHECK(same_head(&whole, &parts));
        if (whole.chunked)
            check_chunks(data + whole.length, size - whole.length, part);
    }
    if (second_opinion(span_of(data, size), &why) == SECOND_OPINION_DIFFERENT) {
        fprintf(stderr, "libhttp-parser: %s\n", why);
        abort();
    }
    return 0;
}
