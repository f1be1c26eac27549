/* test_http_chunks.c: chunked bodies, each rule in a table. Cases C51, C53, C54. */
#include <CUnit/CUnit.h>

#include <string.h>

#include "guard.h"
#include "serve/http_parse.h"
#include "suite.h"

#define BYTES(text) text, sizeof(text) - 1

static const struct chunk_case {
    const char *name, *input;
    size_t length;
    enum http_chunk result;
    const char *body;
    size_t rest; /* bytes that are left */
} bodies[] = {
    {"one chunk", BYTES("5\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNK_END, "hello", 0},
    {"no chunk", BYTES("0\r\n\r\n"), HTTP_CHUNK_END, "", 0},
    {"two chunks", BYTES("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"), HTTP_CHUNK_END, "hello world", 0},
    {"what follows", BYTES("1\r\na\r\n0\r\n\r\nGET /"), HTTP_CHUNK_END, "a", 5},
    {"CRLF follows", BYTES("0\r\n\r\n\r\n"), HTTP_CHUNK_END, "", 2},
    {"hexadecimal", BYTES("A\r\n0123456789\r\n0b\r\nabcdefghijk\r\n0\r\n\r\n"), HTTP_CHUNK_END, "0123456789abcdefghijk",
     0},
    {"leading zeros", BYTES("000000000000005\r\nhello\r\n000\r\n\r\n"), HTTP_CHUNK_END, "hello", 0},
    {"lines in the data", BYTES("7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"), HTTP_CHUNK_END, "\r\n0\r\n\r\n", 0},
    {"an extension", BYTES("1;a\r\nx\r\n0;b=c;d=\"e f\"\r\n\r\n"), HTTP_CHUNK_END, "x", 0},
    {"blanks before an extension", BYTES("1 \t;a\r\nx\r\n0 ; b\r\n\r\n"), HTTP_CHUNK_END, "x", 0},
    {"an empty extension", BYTES("1;\r\nx\r\n0;\r\n\r\n"), HTTP_CHUNK_END, "x", 0},
    {"trailers", BYTES("0\r\nA: b\r\nC:\r\nD:\t\xff\r\n\r\n"), HTTP_CHUNK_END, "", 0},
    {"trailers that would frame", BYTES("1\r\nx\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: a\r\n\r\nB"),
     HTTP_CHUNK_END, "x", 1},
    {"a chunk that is not whole", BYTES("5\r\nhel"), HTTP_CHUNK_MORE, "hel", 0},
    {"the longest size", BYTES("fffffffffffffff\r\nhel"), HTTP_CHUNK_MORE, "hel", 0},
    {"no end", BYTES("5\r\nhello\r\n"), HTTP_CHUNK_MORE, "hello", 0},
    {"no size", BYTES("\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"an extension without a size", BYTES(";a\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a blank before the size", BYTES(" 5\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a negative size", BYTES("-1\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a plus sign", BYTES("+5\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"0x", BYTES("0x5\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"another letter", BYTES("5g\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"two sizes", BYTES("5 5\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a blank behind", BYTES("5 \r\n"), HTTP_CHUNK_BAD, "", 0},
    {"16 digits", BYTES("1000000000000000\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"17 digits", BYTES("10000000000000005\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"zeros without end", BYTES("00000000000000000000\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"LF alone", BYTES("5\nhello\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"CR alone", BYTES("5\rhello\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"NUL", BYTES("5\0\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a control byte in an extension", BYTES("5;a\x01\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"LF in an extension", BYTES("5;a\n\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"CR alone in an extension", BYTES("5;a\rb\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"data that is too long", BYTES("5\r\nhello!\r\n"), HTTP_CHUNK_BAD, "hello", 0},
    {"data that is too short", BYTES("5\r\nhell\r\n0\r\n\r\n"), HTTP_CHUNK_BAD, "hell\r", 0},
    {"no CRLF behind data", BYTES("5\r\nhello5\r\n"), HTTP_CHUNK_BAD, "hello", 0},
    {"LF behind data", BYTES("5\r\nhello\n0\r\n\r\n"), HTTP_CHUNK_BAD, "hello", 0},
    {"CR alone behind data", BYTES("5\r\nhello\r0\r\n\r\n"), HTTP_CHUNK_BAD, "hello", 0},
    {"CR and another byte behind data", BYTES("5\r\nhello\rx0\r\n\r\n"), HTTP_CHUNK_BAD, "hello", 0},
    {"data behind the last chunk", BYTES("0\r\nhello\r\n\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a folded trailer", BYTES("0\r\nA: b\r\n c\r\n\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a blank before a trailer's colon", BYTES("0\r\nA : b\r\n\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a trailer without a name", BYTES("0\r\n: b\r\n\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"a control byte in a trailer", BYTES("0\r\nA: \x7f\r\n\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"LF at a trailer's end", BYTES("0\r\nA: b\n\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"CR alone at a trailer's end", BYTES("0\r\nA: b\rc\r\n\r\n"), HTTP_CHUNK_BAD, "", 0},
    {"LF at the end", BYTES("0\r\n\n"), HTTP_CHUNK_BAD, "", 0},
    {"CR alone at the end", BYTES("0\r\n\rG"), HTTP_CHUNK_BAD, "", 0},
};

struct body {
    struct http_chunks chunks;
    char bytes[300];
    size_t length, rest;
};

static enum http_chunk read_part(struct body *body, const char *input, size_t length)
{
    struct span left = guard_copy(input, length), bytes;
    enum http_chunk result;
    while ((result = http_parse_chunk(&body->chunks, &left, &bytes)) == HTTP_CHUNK_BYTES) {
        CU_ASSERT_FATAL(bytes.length > 0 && body->length + bytes.length < sizeof body->bytes);
        memcpy(body->bytes + body->length, bytes.at, bytes.length);
        body->length += bytes.length;
    }
    CU_ASSERT(result != HTTP_CHUNK_MORE || left.length == 0);
    body->rest = left.length;
    return result;
}

static void check_body(const struct chunk_case *one, const struct body *body, enum http_chunk result, size_t cut)
{
    SUITE_CHECK(result == one->result, "%s, cut after %zu bytes: %d, not %d", one->name, cut, result, one->result);
    SUITE_CHECK(span_is(span_of(body->bytes, body->length), one->body), "%s, cut after %zu bytes: '%.*s'", one->name,
                cut, (int)body->length, body->bytes);
}

static void chunks(void)
{
    for (size_t i = 0; i < SUITE_COUNT(bodies); i++) {
        struct body body = {0};
        check_body(&bodies[i], &body, read_part(&body, bodies[i].input, bodies[i].length), bodies[i].length);
        SUITE_CHECK(body.rest == bodies[i].rest || bodies[i].result == HTTP_CHUNK_BAD, "%s: %zu bytes are left",
                    bodies[i].name, body.rest);
    }
}

static void every_split(void)
{
    for (size_t i = 0; i < SUITE_COUNT(bodies); i++) {
        const struct chunk_case *one = &bodies[i];
        for (size_t cut = 0; cut <= one->length; cut++) {
            struct body body = {0};
            enum http_chunk result = read_part(&body, one->input, cut);
            SUITE_CHECK(result == HTTP_CHUNK_MORE || result == one->result, "%s, its first %zu bytes: %d", one->name,
                        cut, result);
            if (result == HTTP_CHUNK_MORE)
                result = read_part(&body, one->input + cut, one->length - cut);
            check_body(one, &body, result, cut);
        }
        struct body body = {0};
        enum http_chunk result = HTTP_CHUNK_MORE;
        for (size_t at = 0; at < one->length && result == HTTP_CHUNK_MORE; at++)
            result = read_part(&body, one->input + at, 1);
        check_body(one, &body, result, 1);
    }
}

/* Once over, it stays so and takes nothing more. */
static void over_is_over(void)
{
    struct body body = {0};
    CU_ASSERT_EQUAL(read_part(&body, "0\r\n\r\n", 5), HTTP_CHUNK_END);
    CU_ASSERT_EQUAL(read_part(&body, "5\r\nhello\r\n", 10), HTTP_CHUNK_END);
    CU_ASSERT_EQUAL(read_part(&body, "", 0), HTTP_CHUNK_END);
    CU_ASSERT_EQUAL(body.length, 0);
}

/* Extensions and trailers, in one piece or in many lines, end somewhere. */
static void extras_are_limited(void)
{
    static const char *const lines[] = {"1;a\r\nx\r\n", "A: b\r\n", "1;", "A:"};
    for (size_t i = 0; i < SUITE_COUNT(lines); i++) {
        struct body body = {0};
        struct http_chunks *state = &body.chunks;
        enum http_chunk result = HTTP_CHUNK_MORE;
        size_t count = 0;
        if (lines[i][0] == 'A')
            CU_ASSERT_EQUAL(read_part(&body, "0\r\n", 3), HTTP_CHUNK_MORE);
        bool once = lines[i][strlen(lines[i]) - 1] != '\n';
        for (; result == HTTP_CHUNK_MORE && count < 4 * HTTP_EXTRA_BYTES; count++) {
            bool fill = once && count > 0;
            result = fill ? read_part(&body, "e", 1) : read_part(&body, lines[i], strlen(lines[i]));
            body.length = 0;
        }
        SUITE_CHECK(result == HTTP_CHUNK_BAD, "%s: %d after %zu", lines[i], result, count);
        SUITE_CHECK(state->extra_bytes <= HTTP_EXTRA_BYTES + 1, "%s: %d bytes", lines[i], state->extra_bytes);
    }
}

static const struct suite_case cases[] = {
    {"chunks", chunks},
    {"every split", every_split},
    {"over is over", over_is_over},
    {"extras are limited", extras_are_limited},
};

int main(int argc, char **argv)
{
    return suite_main("http_chunks", cases, SUITE_COUNT(cases), argc, argv);
}
