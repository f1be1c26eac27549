/*
 * test_http_bodies.c: where the body of a request to the direct listener ends: Content-Length, chunks, and everything
 * that two programs could read in two ways. Behind each refusal stands a marker request that must never be answered.
 * Cases C51, C53, C54, C58.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "refusal.h"
#include "suite.h"

#define POST(fields) "POST /echo HTTP/1.1\r\nHost: h\r\n" fields "\r\n"
#define CHUNKED      "Transfer-Encoding: chunked\r\n"
#define CHUNKS(body) POST(CHUNKED) body
#define MARKER       "GET /params?marker HTTP/1.1\r\nHost: h\r\n\r\n"

static struct http_answer answer;
static struct http http;

static void check_refused(const struct refusal *refusals, size_t count)
{
    direct_shared();
    refusal_check(refusals, count);
}

/* Whole and in pieces; a request behind it is the next one. */
static void check_echo(const char *name, const char *request, const char *body)
{
    static const char next[] = "GET /params?next HTTP/1.1\r\nHost: h\r\n\r\n";
    static struct bytes all;

    bytes_clear(&all);
    bytes_add(&all, request, strlen(request));
    bytes_add(&all, next, strlen(next));
    for (size_t piece = 0; piece <= 5; piece += piece ? 4 : 1) {
        http_open(&http, direct_local());
        http_send_cut(&http, all.data, all.length, piece ? piece : all.length);
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 200, "%s: status %d: %.100s", name, answer.status, bytes_text(&answer.body));
        SUITE_CHECK(http_body_is(&answer, body), "%s: the body '%.60s'", name, bytes_text(&answer.body));
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 200 && http_has_variable(&answer, "QUERY_STRING=next"), "%s: then status %d", name,
                    answer.status);
        SUITE_CHECK(http_end(&http, 0) == HTTP_OPEN, "%s: not kept", name);
        http_close(&http);
    }
}

/* -- Content-Length -------------------------------------------------------------------------------------------------
 */

static void good_lengths(void)
{
    static const struct {
        const char *value, *body;
    } good[] = {{"5", "abcde"},  {" 5 ", "abcde"},       {"\t5\t", "abcde"},
                {"05", "abcde"}, {"0000005", "abcde"},   {"0", ""},
                {"000", ""},     {"12", "GET / HTTP/1"}, {"00000000000000000000000000000000000005", "abcde"}};
    char request[200];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(good); i++) {
        snprintf(request, sizeof request, POST("content-LENGTH:%s\r\n") "%s", good[i].value, good[i].body);
        check_echo(good[i].value, request, good[i].body);
    }
    check_echo("none", POST(""), "");
}

#define LENGTH(value) POST("Content-Length: " value "\r\n") "abcde"

static void bad_lengths(void)
{
    static const struct refusal bad[] = {
        {"+5", LENGTH("+5"), 0, 400},
        {"-1", LENGTH("-1"), 0, 400},
        {"-0", LENGTH("-0"), 0, 400},
        {"0x5", LENGTH("0x5"), 0, 400},
        {"5x", LENGTH("5x"), 0, 400},
        {"1Z", LENGTH("1Z"), 0, 400},
        {"5 5", LENGTH("5 5"), 0, 400},
        {"5,", LENGTH("5,"), 0, 400},
        {",5", LENGTH(",5"), 0, 400},
        {"5, 5", LENGTH("5, 5"), 0, 400},
        {"5,5", LENGTH("5,5"), 0, 400},
        {"5;a=b", LENGTH("5;a=b"), 0, 400},
        {"5.0", LENGTH("5.0"), 0, 400},
        {"5e0", LENGTH("5e0"), 0, 400},
        {"\"5\"", LENGTH("\"5\""), 0, 400},
        {"hexadecimal", LENGTH("a"), 0, 400},
        {"empty", LENGTH(""), 0, 400},
        {"blanks", LENGTH("  \t "), 0, 400},
        {"5 and a vertical tab", LENGTH("5\v"), 0, 400},
        {"5 and a NUL", REFUSAL_BYTES(LENGTH("5\0")), 400},
        {"5 and a CR", LENGTH("5\r"), 0, 400},
        {"an Arabic digit", LENGTH("\xd9\xa5"), 0, 400},
        {"2^31", LENGTH("2147483648"), 0, 413},
        {"2^32 + 5", LENGTH("4294967301"), 0, 413},
        {"2^63 - 1", LENGTH("9223372036854775807"), 0, REFUSAL_400_OR_413},
        {"2^63", LENGTH("9223372036854775808"), 0, REFUSAL_400_OR_413},
        {"2^64 + 5", LENGTH("18446744073709551621"), 0, REFUSAL_400_OR_413},
        {"40 digits", LENGTH("1111111111222222222233333333334444444444"), 0, REFUSAL_400_OR_413},
        {"two equal ones", POST("Content-Length: 5\r\nContent-Length: 5\r\n") "abcde", 0, 400},
        {"two different ones", POST("Content-Length: 5\r\nContent-Length: 6\r\n") "abcde", 0, 400},
        {"two apart", POST("Content-Length: 0\r\nX: y\r\ncontent-length: 5\r\n") "abcde", 0, 400},
        {"on a GET", "GET /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 1Z\r\n\r\n", 0, 400},
        {"on HTTP/1.0", "POST /echo HTTP/1.0\r\nContent-Length: 5, 5\r\n\r\nabcde", 0, 400},
    };

    check_refused(bad, SUITE_COUNT(bad));
}

static void declared_lengths_take_no_memory(void)
{
    static const char *const lengths[] = {"16777216", "1099511627776", "9223372036854775807"};
    struct server *server = direct_shared();
    char text[200];
    long before_kb;

    http_ask(&answer, direct_address(), "GET /hello HTTP/1.0\r\n\r\n");
    before_kb = server_sum(server, process_resident_kb);
    for (size_t i = 0; i < SUITE_COUNT(lengths); i++) {
        http_open(&http, direct_local());
        snprintf(text, sizeof text, POST("Content-Length: %s\r\n") "abc", lengths[i]);
        http_send(&http, text);
        http_wait_taken(&http);
        SUITE_CHECK(server_sum(server, process_resident_kb) - before_kb < 4096, "%s: memory grew by %ld KiB",
                    lengths[i], server_sum(server, process_resident_kb) - before_kb);
        http_close(&http);
    }
}

/* -- Transfer-Encoding ----------------------------------------------------------------------------------------------
 */

static void good_codings(void)
{
    static const char *const good[] = {"chunked", "Chunked", "CHUNKED", "\tchunked\t", "  chunked  "};
    char request[200];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(good); i++) {
        snprintf(request, sizeof request, POST("Transfer-encoding:%s\r\n") "5\r\nabcde\r\n0\r\n\r\n", good[i]);
        check_echo(good[i], request, "abcde");
    }
}

#define CODED(fields) POST(fields) "0\r\n\r\n"
#define CODING(value) CODED("Transfer-Encoding: " value "\r\n")

static void bad_codings(void)
{
    static const struct refusal bad[] = {
        {"xchunked", CODING("xchunked"), 0, 501},
        {"chunkedx", CODING("chunkedx"), 0, 501},
        {"gzip", CODING("gzip"), 0, 501},
        {"identity", CODING("identity"), 0, 501},
        {"gzip, chunked", CODING("gzip, chunked"), 0, 501},
        {"chunked, chunked", CODING("chunked, chunked"), 0, 400},
        {"chunked, identity", CODING("chunked, identity"), 0, 400},
        {"chunked, gzip", CODING("chunked, gzip"), 0, 400},
        {"identity, chunked", CODING("identity, chunked"), 0, REFUSAL_400_OR_501},
        {"chunked;q=1", CODING("chunked;q=1"), 0, REFUSAL_400_OR_501},
        {"quoted", CODING("\"chunked\""), 0, REFUSAL_400_OR_501},
        {"chun ked", CODING("chun ked"), 0, REFUSAL_400_OR_501},
        {"a comma behind", CODING("chunked,"), 0, REFUSAL_400_OR_501},
        {"a comma before", CODING(", chunked"), 0, REFUSAL_400_OR_501},
        {"empty", CODING(""), 0, REFUSAL_400_OR_501},
        {"a vertical tab behind", CODING("chunked\v"), 0, 400},
        {"a vertical tab before", CODING("\vchunked"), 0, 400},
        {"a NUL behind", REFUSAL_BYTES(CODING("chunked\0")), 400},
        {"a CR behind", CODING("chunked\r"), 0, 400},
        {"a no-break blank before",
         CODING("\xa0"
                "chunked"),
         0, REFUSAL_400_OR_501},
        {"twice", CODED(CHUNKED CHUNKED), 0, 400},
        {"twice, the other identity", CODED(CHUNKED "Transfer-Encoding: identity\r\n"), 0, 400},
        {"twice, the first identity", CODED("Transfer-Encoding: identity\r\n" CHUNKED), 0, REFUSAL_400_OR_501},
        {"with a length behind", CODED(CHUNKED "Content-Length: 5\r\n"), 0, 400},
        {"with a length before", CODED("Content-Length: 5\r\n" CHUNKED), 0, 400},
        {"with the length 0", CODED("Content-Length: 0\r\n" CHUNKED), 0, 400},
        {"with a length, names in other cases", CODED("content-length: 5\r\ntransfer-ENCODING: chunked\r\n"), 0, 400},
        {"a name with a blank, and a length", CODED("Content-Length: 5\r\nTransfer-Encoding : chunked\r\n"), 0, 400},
        {"folded, and a length", CODED("Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n"), 0,
         REFUSAL_400_OR_501},
        {"behind a bare CR", CODED("X: y\rTransfer-Encoding: chunked\r\n"), 0, 400},
        {"behind a bare LF", CODED("X: y\nTransfer-Encoding: chunked\r\n"), 0, 400},
        {"on HTTP/1.0", "POST /echo HTTP/1.0\r\nHost: h\r\n" CHUNKED "\r\n0\r\n\r\n", 0, 400},
        {"on HTTP/1.0, kept", "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\n" CHUNKED "\r\n0\r\n\r\n", 0, 400},
        {"on a GET", "GET /hello HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n", 0, 501},
    };

    check_refused(bad, SUITE_COUNT(bad));
}

/* -- Chunks ---------------------------------------------------------------------------------------------------------
 */

static void good_chunks(void)
{
    static const struct {
        const char *chunks, *body;
    } good[] = {
        {"0\r\n\r\n", ""},
        {"000000\r\n\r\n", ""},
        {"1\r\na\r\n1\r\nb\r\n0\r\n\r\n", "ab"},
        {"0005\r\nabcde\r\n0\r\n\r\n", "abcde"},
        {"a\r\n0123456789\r\nA\r\nabcdefghij\r\n0\r\n\r\n", "0123456789abcdefghij"},
        {"5;a\r\nabcde\r\n0;b\r\n\r\n", "abcde"},
        {"5;a=b;c=\"d e;\\\"f\"\r\nabcde\r\n0;last\r\n\r\n", "abcde"},
        {"5\r\nab\r\nc\r\n0\r\n\r\n", "ab\r\nc"},
        {"7\r\n0\r\n\r\nab\r\n0\r\n\r\n", "0\r\n\r\nab"},
        {"5\r\nabcde\r\n0\r\nX-Trailer: y\r\nX-Other:\r\n\r\n", "abcde"},
        {"5\r\nabcde\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\nHost: i\r\n\r\n", "abcde"},
    };
    char request[300];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(good); i++) {
        snprintf(request, sizeof request, CHUNKS("%s"), good[i].chunks);
        check_echo(good[i].chunks, request, good[i].body);
    }
}

static void bad_chunks(void)
{
    static const struct refusal bad[] = {
        {"a sign", CHUNKS("+5\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a negative size", CHUNKS("-5\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a negative zero", CHUNKS("-0\r\n\r\n"), 0, 400},
        {"0x", CHUNKS("0x5\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a blank before", CHUNKS(" 5\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"two numbers", CHUNKS("5 5\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a blank behind", CHUNKS("5 \r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"no size", CHUNKS("\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"no size, an extension", CHUNKS(";a=b\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"another letter", CHUNKS("g\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"another letter behind", CHUNKS("5g\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a comma", CHUNKS("5,\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a point", CHUNKS("5.0\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"an underscore", CHUNKS("0_5\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"2^64 + 5", CHUNKS("10000000000000005\r\nabcde\r\n0\r\n\r\n"), 0, REFUSAL_400_OR_413},
        {"2^64 - 1", CHUNKS("ffffffffffffffff\r\nabcde\r\n0\r\n\r\n"), 0, REFUSAL_400_OR_413},
        {"2^63", CHUNKS("8000000000000000\r\nabcde\r\n0\r\n\r\n"), 0, REFUSAL_400_OR_413},
        {"2^32 + 5 in 33 digits", CHUNKS("100000000000000000000000100000005\r\nabcde\r\n"), 0, REFUSAL_400_OR_413},
        {"no CR LF behind the data", CHUNKS("5\r\nabcde0\r\n\r\n"), 0, 400},
        {"more data than said", CHUNKS("5\r\nabcdef\r\n0\r\n\r\n"), 0, 400},
        {"less data than said", CHUNKS("5\r\nabc\r\n0\r\n\r\n"), 0, 400},
        {"LF behind the data", CHUNKS("5\r\nabcde\n0\r\n\r\n"), 0, 400},
        {"CR behind the data", CHUNKS("5\r\nabcde\r0\r\n\r\n"), 0, 400},
        {"LF behind the size", CHUNKS("5\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"CR behind the size", CHUNKS("5\rabcde\r\n0\r\n\r\n"), 0, 400},
        {"CR CR LF behind the size", CHUNKS("5\r\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"LF behind the last size", CHUNKS("5\r\nabcde\r\n0\n\r\n"), 0, 400},
        {"LF at the very end", CHUNKS("5\r\nabcde\r\n0\r\n\n"), 0, 400},
        {"LF in an extension", CHUNKS("5;a\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a control byte in an extension", CHUNKS("5;a\x01\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a CR in an extension", CHUNKS("5;a\rb\r\nabcde\r\n0\r\n\r\n"), 0, 400},
        {"a NUL in a size", REFUSAL_BYTES(CHUNKS("5\0\r\nabcde\r\n0\r\n\r\n")), 400},
        {"a trailer without a colon", CHUNKS("0\r\nwhat\r\n\r\n"), 0, 400},
        {"a trailer with a blank in its name", CHUNKS("0\r\nX : y\r\n\r\n"), 0, 400},
        {"a trailer without a name", CHUNKS("0\r\n: y\r\n\r\n"), 0, 400},
        {"a folded trailer", CHUNKS("0\r\nX: y\r\n z\r\n\r\n"), 0, 400},
        {"a trailer with a NUL", REFUSAL_BYTES(CHUNKS("0\r\nX: \0\r\n\r\n")), 400},
        {"a trailer that ends with LF", CHUNKS("0\r\nX: y\n\r\n"), 0, 400},
        {"a request for a trailer", CHUNKS("0\r\n" MARKER), 0, 400},
    };

    check_refused(bad, SUITE_COUNT(bad));
}

/* Some limit must be there, and it must hold over all chunks together. */
static void endless_extensions_and_trailers(void)
{
    static struct bytes request;

    direct_shared();
    for (int way = 0; way < 3; way++) {
        bytes_clear(&request);
        bytes_add(&request, CHUNKS(""), strlen(CHUNKS("")));
        if (way == 0)
            bytes_add(&request, "1;", 2);
        for (int i = 0; way == 1 && i < 20000; i++)
            bytes_add(&request, "1;extension\r\na\r\n", 16);
        if (way == 2)
            bytes_add(&request, "0\r\nX: ", 6);
        bytes_add_fill(&request, 'x', 300000);
        http_open(&http, direct_address());
        link_try_send(http.link, request.data, request.length, DEADLINE_USUAL_MS);
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 400 || answer.status == 413 || answer.status == 431, "way %d: status %d", way,
                    answer.status);
        http_check_closes(&answer, &http, "endless");
        http_close(&http);
    }
    bytes_fini(&request);
}

/* -- One request, however it looks ------------------------------------------------------------------------------------
 */

/* Bodies that look like requests, read, unread or read in part; then the next request. */
static void bodies_are_no_requests(void)
{
    static const char *const requests[] = {
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "POST /readpart?7 HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "GET /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "HEAD /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "OPTIONS /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "GET /hello HTTP/1.1\r\nHost: h\r\n" CHUNKED "\r\n28\r\n" MARKER "\r\n0\r\n\r\n",
        "POST /readpart?7 HTTP/1.1\r\nHost: h\r\n" CHUNKED "\r\n28\r\n" MARKER "\r\n0\r\n\r\n",
        "POST /nowhere HTTP/1.1\r\nHost: h\r\n" CHUNKED "\r\n28\r\n" MARKER "\r\n0\r\n\r\n",
        "POST /hello HTTP/1.1\r\nHost: h\r\n" CHUNKED "\r\n28;"
        "a=b\r\n" MARKER "\r\n0\r\nX: y\r\n\r\n",
        "TRACE /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
        "GET /hello HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nContent-Length: 80\r\n\r\n" MARKER MARKER,
    };
    static const char next[] = "GET /params?next HTTP/1.1\r\nHost: h\r\n\r\n";
    static struct bytes all;

    CU_ASSERT_EQUAL_FATAL(strlen(MARKER), 40);
    direct_shared();
    for (size_t i = 0; i < 2 * SUITE_COUNT(requests); i++) {
        const char *request = requests[i / 2];
        enum http_end end;

        bytes_clear(&all);
        bytes_add(&all, request, strlen(request));
        bytes_add(&all, next, strlen(next));
        http_open(&http, direct_local());
        http_send_cut(&http, all.data, all.length, i % 2 ? 1 : all.length);
        if (strncmp(request, "HEAD", 4) == 0)
            http_read_head(&answer, &http);
        else
            http_read(&answer, &http);
        SUITE_CHECK(!strstr(bytes_text(&answer.body), "marker") || strstr(request, "/echo"), "%.60s: the marker",
                    request);
        if (!answer.closes) {
            http_read(&answer, &http);
            SUITE_CHECK(answer.status == 200 && http_has_variable(&answer, "QUERY_STRING=next"),
                        "%.60s: then %d: %.60s", request, answer.status, bytes_text(&answer.body));
        }
        end = http_end(&http, answer.closes ? DEADLINE_USUAL_MS : 10);
        SUITE_CHECK(end == (answer.closes ? HTTP_ENDED : HTTP_OPEN), "%.60s: at the end %d", request, end);
        http_close(&http);
    }
}

/* A client that says that it closes has said its last. */
static void nothing_counts_after_close(void)
{
    direct_shared();
    http_open(&http, direct_local());
    http_send(&http, "GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" MARKER);
    http_read(&answer, &http);
    CU_ASSERT_EQUAL(answer.status, 200);
    http_check_closes(&answer, &http, "Connection: close");
    http_close(&http);
    http_open(&http, direct_local());
    http_send(&http, "GET /hello HTTP/1.0\r\n\r\n" MARKER);
    http_read(&answer, &http);
    CU_ASSERT_EQUAL(answer.status, 200);
    http_check_closes(&answer, &http, "HTTP/1.0");
    http_close(&http);
}

/* The line end that old clients send behind a POST is no request. */
static void line_ends_behind_a_body(void)
{
    direct_shared();
    check_echo("CR LF", LENGTH("5") "\r\n", "abcde");
    check_echo("CR LF twice", LENGTH("5") "\r\n\r\n", "abcde");
    check_echo("CR LF behind chunks", CHUNKS("5\r\nabcde\r\n0\r\n\r\n\r\n"), "abcde");
}

/* An application reads to the end of its input; what it is told of the length is the truth. */
static void chunked_bodies_reach_applications(void)
{
    static const char all[] = "POST /readpart?all HTTP/1.1\r\nHost: h\r\n" CHUNKED "\r\n";
    static struct bytes request;
    const char *length;

    direct_shared();
    http_ask(&answer, direct_address(),
             "POST /params HTTP/1.1\r\nHost: h\r\n" CHUNKED "\r\n5\r\nabcde\r\n0\r\nX-Trailer: y\r\n\r\n");
    CU_ASSERT_EQUAL_FATAL(answer.status, 200);
    length = http_variable(&answer, "CONTENT_LENGTH");
    SUITE_CHECK(!length || !*length || strcmp(length, "5") == 0, "CONTENT_LENGTH=%s", length);
    CU_ASSERT(!http_variable(&answer, "HTTP_X_TRAILER"));
    bytes_clear(&request);
    bytes_add(&request, all, strlen(all));
    for (int i = 0; i < 100000; i++)
        bytes_add(&request, "1\r\na\r\n", 6);
    bytes_add(&request, "0\r\n\r\n", 5);
    http_open(&http, direct_address());
    http_send_bytes(&http, request.data, request.length);
    http_read(&answer, &http);
    SUITE_CHECK(http_body_is(&answer, "100000 end"), "%d: %.60s", answer.status, bytes_text(&answer.body));
    http_close(&http);
    bytes_fini(&request);
}

static void leaves_nothing(void)
{
    direct_check_settled();
}

static const struct suite_case cases[] = {
    {"good lengths", good_lengths},
    {"bad lengths are refused", bad_lengths},
    {"a declared length takes no memory", declared_lengths_take_no_memory},
    {"good transfer codings", good_codings},
    {"bad transfer codings are refused", bad_codings},
    {"good chunks", good_chunks},
    {"bad chunks are refused", bad_chunks},
    {"endless extensions and trailers are refused", endless_extensions_and_trailers},
    {"a body is no request", bodies_are_no_requests},
    {"nothing counts after close", nothing_counts_after_close},
    {"line ends behind a body are skipped", line_ends_behind_a_body},
    {"a chunked body reaches the application", chunked_bodies_reach_applications},
    {"bodies leave nothing behind", leaves_nothing},
};

int main(int argc, char **argv)
{
    return suite_main("http_bodies", cases, SUITE_COUNT(cases), argc, argv);
}
