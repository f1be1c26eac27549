/*
 * test_bench_response.c: replies as the load generator reads them: each rule in a table, on every prefix and every
 * split.
 */
#include <CUnit/CUnit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "guard.h"
#include "load/reply.h"
#include "suite.h"

#define BYTES(text) text, sizeof(text) - 1
#define OK          "HTTP/1.1 200 OK\r\n"
#define CHUNKED     OK "Transfer-Encoding: chunked\r\n\r\n"

static const struct reply_case {
    const char *name, *input;
    size_t length;
    enum response_result result; /* RESPONSE_MORE: of all of the input, the connection still open */
    int status;
    bool keep_alive;
    const char *body;
    size_t rest;                 /* bytes behind it */
    enum response_result at_end; /* of a connection that ends there, for RESPONSE_MORE */
    bool to_head;
} replies[] = {
    {"a length", BYTES(OK "Content-Length: 5\r\n\r\nhello"), RESPONSE_DONE, 200, true, "hello", 0, 0, false},
    {"length 0", BYTES(OK "Content-Length: 0\r\n\r\n"), RESPONSE_DONE, 200, true, "", 0, 0, false},
    {"what follows", BYTES(OK "Content-Length: 2\r\n\r\nabHTTP"), RESPONSE_DONE, 200, true, "ab", 4, 0, false},
    {"no reason", BYTES("HTTP/1.1 502\r\nContent-Length: 0\r\n\r\n"), RESPONSE_DONE, 502, true, "", 0, 0, false},
    {"no reason behind a blank", BYTES("HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n"), RESPONSE_DONE, 404, true, "", 0,
     0, false},
    {"close", BYTES(OK "Connection: close\r\nContent-Length: 1\r\n\r\na"), RESPONSE_DONE, 200, false, "a", 0, 0, false},
    {"close among others", BYTES(OK "connection: x , CLOSE\r\nContent-Length: 1\r\n\r\na"), RESPONSE_DONE, 200, false,
     "a", 0, 0, false},
    {"1.0", BYTES("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na"), RESPONSE_DONE, 200, false, "a", 0, 0, false},
    {"1.0 keep-alive", BYTES("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na"), RESPONSE_DONE,
     200, true, "a", 0, 0, false},
    {"a field of the same length", BYTES(OK "Content-Lengti: 9\r\nTransfer-Encodinh: x\r\nContent-Length:1\r\n\r\na"),
     RESPONSE_DONE, 200, true, "a", 0, 0, false},
    {"the same length twice", BYTES(OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"), RESPONSE_DONE, 200, true,
     "a", 0, 0, false},
    {"an empty value", BYTES(OK "X:\r\nContent-Length: \t1 \r\n\r\na"), RESPONSE_DONE, 200, true, "a", 0, 0, false},
    {"HEAD", BYTES(OK "Content-Length: 5\r\n\r\n"), RESPONSE_DONE, 200, true, "", 0, 0, true},
    {"HEAD, chunked", BYTES(CHUNKED), RESPONSE_DONE, 200, true, "", 0, 0, true},
    {"204", BYTES("HTTP/1.1 204 No Content\r\n\r\n"), RESPONSE_DONE, 204, true, "", 0, 0, false},
    {"304", BYTES("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), RESPONSE_DONE, 304, true, "", 0, 0, false},
    {"100 before",
     BYTES("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nLink: a\r\n\r\n" OK "Content-Length: 1\r\n\r\na"),
     RESPONSE_DONE, 200, true, "a", 0, 0, false},
    {"chunks", BYTES(CHUNKED "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"), RESPONSE_DONE, 200, true, "hello world", 0, 0,
     false},
    {"no chunk", BYTES(CHUNKED "0\r\n\r\n"), RESPONSE_DONE, 200, true, "", 0, 0, false},
    {"hexadecimal chunks", BYTES(CHUNKED "A\r\n0123456789\r\n00b\r\nabcdefghijk\r\n0\r\n\r\nX"), RESPONSE_DONE, 200,
     true, "0123456789abcdefghijk", 1, 0, false},
    {"extensions and trailers", BYTES(CHUNKED "1;a=\"b\"\r\nx\r\n0 ;c\r\nA: b\r\nC:\r\n\r\n"), RESPONSE_DONE, 200, true,
     "x", 0, 0, false},
    {"lines in a chunk", BYTES(CHUNKED "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"), RESPONSE_DONE, 200, true, "\r\n0\r\n\r\n", 0,
     0, false},
    {"until the end", BYTES(OK "X: y\r\n\r\nall of it"), RESPONSE_MORE, 200, false, "all of it", 0, RESPONSE_DONE,
     false},
    {"nothing until the end", BYTES(OK "\r\n"), RESPONSE_MORE, 200, false, "", 0, RESPONSE_DONE, false},
    {"half a body", BYTES(OK "Content-Length: 5\r\n\r\nhel"), RESPONSE_MORE, 0, false, NULL, 0, RESPONSE_BAD, false},
    {"half a head", BYTES(OK "Content-Len"), RESPONSE_MORE, 0, false, NULL, 0, RESPONSE_BAD, false},
    {"half a chunk", BYTES(CHUNKED "5\r\nhel"), RESPONSE_MORE, 0, false, NULL, 0, RESPONSE_BAD, false},
    {"no last chunk", BYTES(CHUNKED "5\r\nhello\r\n"), RESPONSE_MORE, 0, false, NULL, 0, RESPONSE_BAD, false},
    {"nothing", BYTES(""), RESPONSE_MORE, 0, false, NULL, 0, RESPONSE_MORE, false},
    {"no HTTP", BYTES("SSH-2.0-x\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"HTTP/2", BYTES("HTTP/2.0 200 OK\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"HTTP/1.2", BYTES("HTTP/1.2 200 OK\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a status of two digits", BYTES("HTTP/1.1 20 OK\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a status of four digits", BYTES("HTTP/1.1 2000 OK\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"status 099", BYTES("HTTP/1.1 099 OK\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"status 600", BYTES("HTTP/1.1 600 OK\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"101", BYTES("HTTP/1.1 101 Switching Protocols\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"LF alone", BYTES("HTTP/1.1 200 OK\n\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"LF behind a field", BYTES(OK "Content-Length: 0\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"no colon", BYTES(OK "Content-Length 5\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a blank before the colon", BYTES(OK "Content-Length : 5\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a folded line", BYTES(OK "X: y\r\n Content-Length: 5\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"no name", BYTES(OK ": 5\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"two lengths", BYTES(OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0,
     false},
    {"a list of lengths", BYTES(OK "Content-Length: 1, 1\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a negative length", BYTES(OK "Content-Length: -1\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"an endless length", BYTES(OK "Content-Length: 9999999999999999999\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0,
     false},
    {"no length's value", BYTES(OK "Content-Length:\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"both", BYTES(OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0,
     false},
    {"chunked twice", BYTES(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), RESPONSE_BAD, 0,
     false, NULL, 0, 0, false},
    {"another coding", BYTES(OK "Transfer-Encoding: gzip, chunked\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"chunked in 1.0", BYTES("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0,
     0, false},
    {"a chunk without a size", BYTES(CHUNKED "\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a chunk that is too long", BYTES(CHUNKED "2\r\nabc\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"LF behind a chunk", BYTES(CHUNKED "2\r\nab\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a blank before the size", BYTES(CHUNKED " 2\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a size of 16 digits", BYTES(CHUNKED "0000000000000002\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"no hexadecimal size", BYTES(CHUNKED "2g\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"a folded trailer", BYTES(CHUNKED "0\r\nA: b\r\n c\r\n\r\n"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
    {"no end behind the last chunk", BYTES(CHUNKED "0\r\n\rX"), RESPONSE_BAD, 0, false, NULL, 0, 0, false},
};

static enum response_result feed(struct reply *reply, const char *bytes, size_t length, bool to_head, size_t *rest)
{
    struct span input = guard_copy(bytes, length);
    enum response_result result = reply_feed(reply, &input, to_head);
    CU_ASSERT(result != RESPONSE_MORE || input.length == 0);
    *rest = input.length;
    return result;
}

static void check(const struct reply_case *one, struct reply *reply, enum response_result result, size_t rest,
                  size_t cut)
{
    SUITE_CHECK(result == one->result, "%s, cut after %zu: %d, not %d", one->name, cut, result, one->result);
    if (result == RESPONSE_MORE) {
        result = reply_end(reply);
        SUITE_CHECK(result == one->at_end, "%s, cut after %zu, at the end: %d, not %d", one->name, cut, result,
                    one->at_end);
    }
    if (result != RESPONSE_DONE)
        return;
    SUITE_CHECK(reply->head.status == one->status && reply->head.keep_alive == one->keep_alive,
                "%s, cut after %zu: %d %d", one->name, cut, reply->head.status, reply->head.keep_alive);
    size_t length = strlen(one->body);
    SUITE_CHECK(reply->body.length == length && reply->body.hash == XXH3_64bits(one->body, length),
                "%s, cut after %zu: another body, of %d bytes", one->name, cut, (int)reply->body.length);
    SUITE_CHECK(rest == one->rest && reply->bytes == one->length - rest, "%s, cut after %zu: %zu bytes behind",
                one->name, cut, rest);
}

static void whole(void)
{
    struct reply reply = {0};
    for (size_t i = 0; i < SUITE_COUNT(replies); i++) {
        size_t rest;
        reply_reset(&reply);
        enum response_result result = feed(&reply, replies[i].input, replies[i].length, replies[i].to_head, &rest);
        check(&replies[i], &reply, result, rest, replies[i].length);
    }
    reply_fini(&reply);
}

static void every_split(void)
{
    struct reply reply = {0}; /* one for all, as a connection has it */
    for (size_t i = 0; i < SUITE_COUNT(replies); i++) {
        const struct reply_case *one = &replies[i];
        for (size_t cut = 0; cut <= one->length; cut++) {
            size_t rest;
            reply_reset(&reply);
            enum response_result result = feed(&reply, one->input, cut, one->to_head, &rest);
            SUITE_CHECK(result == RESPONSE_MORE || result == one->result, "%s, its first %zu bytes: %d", one->name, cut,
                        result);
            if (result == RESPONSE_MORE)
                result = feed(&reply, one->input + cut, one->length - cut, one->to_head, &rest);
            else
                rest += one->length - cut;
            check(one, &reply, result, rest, cut);
        }
    }
    reply_fini(&reply);
}

static void byte_by_byte(void)
{
    for (size_t i = 0; i < SUITE_COUNT(replies); i++) {
        const struct reply_case *one = &replies[i];
        struct reply reply = {0};
        enum response_result result = RESPONSE_MORE;
        size_t at = 0, rest = 0;
        while (at < one->length && result == RESPONSE_MORE)
            result = feed(&reply, one->input + at++, 1, one->to_head, &rest);
        check(one, &reply, result, one->length - at, 1);
        reply_fini(&reply);
    }
}

/* A prefix of a head is never more than a beginning, unless it is wrong already. */
static void every_prefix_of_a_head(void)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nServer: x\r\nConnection: keep-alive\r\nContent-Length: 12\r\n\r\n";
    struct response_head parsed;
    for (size_t length = 0; length < sizeof head - 1; length++)
        SUITE_CHECK(response_parse_head(&parsed, guard_copy(head, length), false) == RESPONSE_MORE, "%zu bytes",
                    length);
    CU_ASSERT_EQUAL(response_parse_head(&parsed, guard_copy(head, sizeof head - 1), false), RESPONSE_DONE);
    CU_ASSERT(parsed.framing == RESPONSE_LENGTH && parsed.length == 12 && parsed.head_bytes == sizeof head - 1);
}

/* The longest head and the one that is a byte longer, whole and in two. */
static void long_heads(void)
{
    static char text[RESPONSE_HEAD_MAX + 2];
    for (size_t length = RESPONSE_HEAD_MAX - 1; length <= RESPONSE_HEAD_MAX + 1; length++) {
        enum response_result expected = length <= RESPONSE_HEAD_MAX ? RESPONSE_DONE : RESPONSE_BAD;
        int prefix = snprintf(text, sizeof text, OK "Content-Length: 0\r\nX: ");
        memset(text + prefix, 'x', length - (size_t)prefix - 4);
        memcpy(text + length - 4, "\r\n\r\n", 4);
        for (size_t cut = 0; cut < length; cut += 4091) {
            struct reply reply = {0};
            size_t rest;
            enum response_result result = feed(&reply, text, cut, false, &rest);
            if (result == RESPONSE_MORE)
                result = feed(&reply, text + cut, length - cut, false, &rest);
            SUITE_CHECK(result == expected, "%zu bytes, cut after %zu: %d", length, cut, result);
            reply_fini(&reply);
        }
    }
}

/* A large body's hash is the same in whatever pieces. */
static void large_bodies(void)
{
    static char text[90000];
    int head = snprintf(text, sizeof text, OK "Content-Length: %d\r\n\r\n", 80000);
    for (int i = 0; i < 80000; i++)
        text[head + i] = (char)(i * 31 + i / 256);
    uint64_t hash = XXH3_64bits(text + head, 80000);
    for (size_t piece = 1; piece < 100000; piece = piece * 3 + 1) {
        struct reply reply = {0};
        size_t end = (size_t)head + 80000, rest;
        enum response_result result = RESPONSE_MORE;
        for (size_t at = 0; at < end; at += piece)
            result = feed(&reply, text + at, end - at < piece ? end - at : piece, false, &rest);
        SUITE_CHECK(result == RESPONSE_DONE && reply.body.hash == hash, "pieces of %zu bytes: %d", piece, result);
        reply_fini(&reply);
    }
}

static const struct suite_case cases[] = {
    {"whole replies", whole},       {"every split", every_split},
    {"byte by byte", byte_by_byte}, {"every prefix of a head", every_prefix_of_a_head},
    {"long heads", long_heads},     {"large bodies", large_bodies},
};

int main(int argc, char **argv)
{
    return suite_main("bench_response", cases, SUITE_COUNT(cases), argc, argv);
}
