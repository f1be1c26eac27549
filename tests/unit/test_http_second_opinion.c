/*
 * test_http_second_opinion.c: what our parser of HTTP/1.1 accepts, libhttp-parser must read in the same way: over a
 * table, every change of one byte in it, spliced inputs of the fuzzing corpus, and what a grammar makes at random.
 */
#include <CUnit/CUnit.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "second_opinion.h"
#include "suite.h"

#define CORPUS       "tests/fuzz/corpus_http_head"
#define RANDOM_COUNT 300000
#define RANDOM_SEED  UINT64_C(20261203) /* of the first; each further one is one more */

static const char *const requests[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /app/hello?a=b&c=%20d HTTP/1.1\r\nHost: www.example.com:8081\r\nAccept: */*\r\nUser-Agent: "
    "curl/7.88.1\r\n\r\n",
    "HEAD /p//q/../r HTTP/1.0\r\nConnection: Keep-Alive\r\nX-Empty:\r\n\r\n",
    "\r\n\r\nGET http://example.com:80/p?q HTTP/1.1\r\nHost: other\r\nConnection: close, TE\r\n\r\n",
    "GET https://[::1]:8443?q HTTP/1.1\r\nHost: [::1]\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0011\r\n\r\nhello world",
    "POST /echo HTTP/1.0\r\nContent-Length:  5 \r\nConnection: keep-alive\r\n\r\nhello",
    "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\n"
    "00A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\ntransfer-encoding:CHUNKED\r\n\r\n1 ;a\r\nx\r\n0;b\r\nX-Sum: "
    "1\r\nX-More:\r\n\r\n",
    "DELETE /a%00b HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "OPTIONS /\xc3\xbc HTTP/1.1\r\nHost: a\r\nX-Bytes: \xff\x80 \t b\r\nCookie: a=1; b=2\r\nCookie: c=3\r\n\r\n",
    "M-SEARCH /x HTTP/1.1\r\nhost:a\r\nproxy-connection: close\r\nContent-Length: 3\r\n\r\nabc",
    "BREW /pot HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
};

static struct {
    unsigned long by_kind[SECOND_OPINION_DIFFERENT];
} seen;

/* Two copies of printable length, so that the line of the log can be tried again. */
static const char *printable(struct span input)
{
    static char text[4 * 600 + 1];
    char *to = text;
    for (size_t i = 0; i < input.length && i < 600; i++) {
        bool plain = input.at[i] >= ' ' && input.at[i] < 0x7f && input.at[i] != '\\';
        to += sprintf(to, plain ? "%c" : "\\x%02x", input.at[i]);
    }
    *to = '\0';
    return text;
}

static void compare(struct span input, const char *what, unsigned long number)
{
    const char *why;
    enum second_opinion_kind kind = second_opinion(input, &why);
    SUITE_CHECK(kind != SECOND_OPINION_DIFFERENT, "%s %lu: %s: %s", what, number, why, printable(input));
    seen.by_kind[kind]++;
}

/* A comparison that nothing passes would be none. */
static void check_seen(unsigned long least)
{
    printf("# refused %lu, unfinished %lu, in part alike %lu, alike %lu\n", seen.by_kind[SECOND_OPINION_REFUSED],
           seen.by_kind[SECOND_OPINION_UNFINISHED], seen.by_kind[SECOND_OPINION_PARTLY],
           seen.by_kind[SECOND_OPINION_SAME]);
    SUITE_CHECK(seen.by_kind[SECOND_OPINION_SAME] >= least, "only %lu were accepted by both",
                seen.by_kind[SECOND_OPINION_SAME]);
    memset(&seen, 0, sizeof seen);
}

static void table(void)
{
    memset(&seen, 0, sizeof seen);
    for (size_t i = 0; i < SUITE_COUNT(requests); i++) {
        struct span request = span_text(requests[i]);
        compare(request, "request", i);
        CU_ASSERT_EQUAL(seen.by_kind[SECOND_OPINION_SAME], i + 1);
        for (size_t length = 0; length < request.length; length++)
            compare(span_of(request.at, length), "the beginning of request", i);
    }
    check_seen(SUITE_COUNT(requests));
}

static void another_request_behind_it(void)
{
    for (size_t i = 0; i < SUITE_COUNT(requests); i++)
        for (size_t j = 0; j < SUITE_COUNT(requests); j++) {
            char both[1000];
            int length = snprintf(both, sizeof both, "%s%s", requests[i], requests[j]);
            compare(span_of(both, (size_t)length), "request and another", i);
        }
    check_seen(SUITE_COUNT(requests) * SUITE_COUNT(requests));
}

/* -- one byte other, one more, one less
 * ---------------------------------------------------------------------------------
 */

static void change_byte(const char *request, size_t at, unsigned long number)
{
    char changed[1000];
    size_t length = strlen(request);
    memcpy(changed, request, length);
    for (int value = 0; value < 256; value++) {
        changed[at] = (char)value;
        compare(span_of(changed, length), "a byte changed", number);
    }
}

static void insert_byte(const char *request, size_t at, unsigned long number)
{
    char changed[1000];
    size_t length = strlen(request);
    memcpy(changed, request, at);
    memcpy(changed + at + 1, request + at, length - at);
    for (int value = 0; value < 256; value++) {
        changed[at] = (char)value;
        compare(span_of(changed, length + 1), "a byte inserted", number);
    }
}

static void drop_byte(const char *request, size_t at, unsigned long number)
{
    char changed[1000];
    size_t length = strlen(request);
    memcpy(changed, request, at);
    memcpy(changed + at, request + at + 1, length - at - 1);
    compare(span_of(changed, length - 1), "a byte left out", number);
}

static void every_change_of_one_byte(void)
{
    for (size_t i = 0; i < SUITE_COUNT(requests); i++)
        for (size_t at = 0; at < strlen(requests[i]); at++) {
            change_byte(requests[i], at, i);
            insert_byte(requests[i], at, i);
            drop_byte(requests[i], at, i);
        }
    check_seen(10000);
}

/* -- the corpus
 * ----------------------------------------------------------------------------------------------------------
 */

#define CORPUS_MAX 300

static struct span corpus[CORPUS_MAX];
static size_t corpus_count;

static void read_corpus(void)
{
    static uint8_t room[65536];
    DIR *folder = opendir(CORPUS);
    struct dirent *entry;
    CU_ASSERT_FATAL(folder != NULL);
    while (corpus_count < CORPUS_MAX && (entry = readdir(folder)) != NULL) {
        char path[4096];
        snprintf(path, sizeof path, CORPUS "/%s", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (file == NULL)
            continue;
        size_t length = fread(room, 1, sizeof room, file);
        fclose(file);
        uint8_t *copy = malloc(length + 1);
        CU_ASSERT_FATAL(copy != NULL);
        memcpy(copy, room, length);
        corpus[corpus_count++] = span_of(copy + 1, length > 0 ? length - 1 : 0); /* the first byte says how it is cut */
    }
    closedir(folder);
    CU_ASSERT_FATAL(corpus_count > 1);
}

/* The front of one and the back of another, at eight places in each. */
static void spliced_corpus(void)
{
    static uint8_t both[2 * 65536];
    if (corpus_count == 0)
        read_corpus();
    for (size_t i = 0; i < corpus_count; i++)
        for (size_t j = 0; j < corpus_count; j++)
            for (int cut = 0; cut < 64; cut++) {
                size_t front = corpus[i].length * (size_t)(cut % 8) / 8,
                       from = corpus[j].length * (size_t)(cut / 8) / 8;
                if (corpus[i].length > 4096 || corpus[j].length > 4096)
                    continue; /* those are about limits */
                memcpy(both, corpus[i].at, front);
                memcpy(both + front, corpus[j].at + from, corpus[j].length - from);
                compare(span_of(both, front + corpus[j].length - from), "a splice", i * corpus_count + j);
            }
    check_seen(100);
}

/* -- a grammar
 * -----------------------------------------------------------------------------------------------------------
 */

struct writer {
    char text[8192];
    size_t length;
    uint64_t state;
};

static unsigned choose(struct writer *writer, unsigned count)
{
    writer->state ^= writer->state << 13;
    writer->state ^= writer->state >> 7;
    writer->state ^= writer->state << 17;
    return (unsigned)((writer->state >> 20) % count);
}

static void put(struct writer *writer, const char *text)
{
    size_t length = strlen(text);
    if (writer->length + length < sizeof writer->text)
        memcpy(writer->text + writer->length, text, length);
    writer->length += writer->length + length < sizeof writer->text ? length : 0;
}

/* The first entries of each table are right, and taken nine times of ten. */
static void put_one(struct writer *writer, const char *const *texts, size_t count, unsigned right)
{
    put(writer, texts[choose(writer, 10) ? choose(writer, right) : choose(writer, (unsigned)count)]);
}
#define PUT_ONE(writer, texts, right) put_one(writer, texts, SUITE_COUNT(texts), right)

static void put_line_end(struct writer *writer)
{
    static const char *const odd[] = {"\n", "\r", "\r\r\n", "\r\n ", " \r\n", "\t\r\n", "\r\n\r\n", "\n\r"};
    if (choose(writer, 100) == 0)
        PUT_ONE(writer, odd, 1);
    else
        put(writer, "\r\n");
}

static void put_request_line(struct writer *writer)
{
    static const char *const methods[] = {"GET", "POST", "HEAD", "PUT",   "OPTIONS", "M-SEARCH", "BREW",
                                          "get", "G T",  "",     "GE\tT", "CONNECT", "TRACE",    "LOCK"};
    static const char *const targets[] = {"/",       "/a/b?c=d",   "http://h/p?q", "/%2e%2e/\xff", "*",
                                          "",        "a",          "//a/",         "/a#b",         "/a?b?c",
                                          "http://", "https://h?", "/a b",         "HTTP://H:1"};
    static const char *const versions[] = {"HTTP/1.1", "HTTP/1.0", "HTTP/1.2",  "HTTP/0.9",  "HTTP/2.0",
                                           "http/1.1", "HTTP/1.",  "HTTP/01.1", "HTTP/1.11", ""};
    static const char *const before[] = {"", "\r\n", "\r\n\r\n", "\n", " ", "\r"};
    PUT_ONE(writer, before, 1);
    PUT_ONE(writer, methods, 5);
    put(writer, choose(writer, 50) ? " " : "  ");
    PUT_ONE(writer, targets, 4);
    put(writer, choose(writer, 50) ? " " : "\t");
    PUT_ONE(writer, versions, 2);
    put_line_end(writer);
}

static void put_field(struct writer *writer)
{
    static const char *const names[] = {"Host",
                                        "X-A",
                                        "Content-Length",
                                        "Transfer-Encoding",
                                        "Connection",
                                        "Expect",
                                        "Cookie",
                                        "Upgrade",
                                        "X_B",
                                        "host",
                                        "",
                                        "X A",
                                        " X",
                                        "Content-Length ",
                                        "X\tY",
                                        "X(",
                                        "\xff",
                                        "Proxy-Connection"};
    static const char *const values[] = {"a",
                                         "chunked",
                                         "5",
                                         "close",
                                         "keep-alive",
                                         "100-continue",
                                         "",
                                         "0",
                                         "gzip, chunked",
                                         "-1",
                                         "+5",
                                         "0x5",
                                         "5, 5",
                                         "5 5",
                                         "chunked, chunked",
                                         "Chunked",
                                         "a\rb",
                                         "a\x01"
                                         "b",
                                         "\xff",
                                         "close, keep-alive",
                                         "00005",
                                         "18446744073709551616",
                                         "9223372036854775808",
                                         "upgrade",
                                         "a:1",
                                         "[::1]",
                                         "chunked\v"};
    static const char *const colons[] = {": ", ":", ":\t ", " : ", "", ": \t"};
    PUT_ONE(writer, names, 8);
    PUT_ONE(writer, colons, 2);
    PUT_ONE(writer, values, 6);
    put(writer, choose(writer, 8) ? "" : " \t");
    put_line_end(writer);
}

/* One that frames the body rightly, so that not all depends on luck. */
static void put_right_field(struct writer *writer)
{
    static const char *const fields[] = {"Host: a\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n",
                                         "Connection: close\r\n", "Connection: keep-alive\r\n"};
    PUT_ONE(writer, fields, 1);
}

static void put_chunk(struct writer *writer)
{
    static const char *const sizes[] = {"5",
                                        "0",
                                        "05",
                                        "a",
                                        "A",
                                        "1",
                                        "-1",
                                        "+5",
                                        "0x5",
                                        "5 5",
                                        " 5",
                                        "",
                                        "g",
                                        "5;",
                                        "5;a=b",
                                        "5 ",
                                        "5\t;a",
                                        "5 ;a",
                                        "fffffffffffffff",
                                        "10000000000000000",
                                        "5\r",
                                        "5;\x01",
                                        "0;a"};
    static const char *const data[] = {"hello", "", "x", "0123456789", "hell", "hello!", "\r\n0\r\n"};
    PUT_ONE(writer, sizes, 2);
    put_line_end(writer);
    PUT_ONE(writer, data, 1);
    put_line_end(writer);
}

static void put_request(struct writer *writer)
{
    static const char *const trailers[] = {"",       "X-T: 1\r\n", "X-T:\r\n",      "X-T : 1\r\n",
                                           " X\r\n", "X\r\n",      "X-T: \x01\r\n", ":\r\n"};
    put_request_line(writer);
    put_right_field(writer);
    for (unsigned i = choose(writer, 4); i > 0; i--)
        put_field(writer);
    if (choose(writer, 2))
        put_right_field(writer);
    put_line_end(writer);
    if (choose(writer, 2)) {
        put(writer, "hello");
        return;
    }
    for (unsigned i = choose(writer, 3); i > 0; i--)
        put_chunk(writer);
    put(writer, "0\r\n");
    PUT_ONE(writer, trailers, 1);
    put_line_end(writer);
}

static void grammar(void)
{
    for (unsigned long i = 0; i < RANDOM_COUNT; i++) {
        struct writer writer = {.length = 0, .state = (RANDOM_SEED + i) * UINT64_C(0x9e3779b97f4a7c15)};
        for (unsigned requests_left = 1 + choose(&writer, 2); requests_left > 0; requests_left--)
            put_request(&writer);
        compare(span_of(writer.text, writer.length), "seed", (unsigned long)RANDOM_SEED + i);
    }
    check_seen(RANDOM_COUNT / 20);
}

static const struct suite_case cases[] = {
    {"table", table},
    {"another request behind it", another_request_behind_it},
    {"every change of one byte", every_change_of_one_byte},
    {"spliced corpus", spliced_corpus},
    {"grammar", grammar},
};

int main(int argc, char **argv)
{
    return suite_main("http_second_opinion", cases, SUITE_COUNT(cases), argc, argv);
}
