/*
 * test_http_parse.c: heads and chunked bodies of HTTP/1.1, each rule in a table. Cases C46 to C48, C51 to C56.
 *
 * Every input lies directly before a page that cannot be read, at another place for each call: a byte looked at beyond
 * it crashes, and so does a place that was remembered.
 */
#include <CUnit/CUnit.h>

#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "serve/http_parse.h"
#include "suite.h"

#define BYTES(text)   text, sizeof(text) - 1
#define LINE          "GET / HTTP/1.1\r\n"
#define HOST          "Host: a\r\n"
#define END           "\r\n"
#define WITH(field)   BYTES(LINE HOST field END END)
#define TARGET(uri)   BYTES("GET " uri " HTTP/1.1\r\n" HOST END)
#define METHOD(name)  BYTES(name " / HTTP/1.1\r\n" HOST END)
#define VERSION(text) BYTES("GET / " text "\r\n" HOST END)
#define HOST_IS(host) BYTES(LINE "Host: " host END END)
#define OLD(field)    BYTES("GET / HTTP/1.0\r\n" field END END)
#define CHUNKED       "Transfer-Encoding: chunked"

static const struct head_case {
    const char *name, *input;
    size_t length;
    int status;          /* HTTP_DONE: it is understood */
    const char *meaning; /* as describe() puts it */
} heads[] = {
    /* -- what is right -- */
    {"the least", BYTES(LINE HOST END), HTTP_DONE, "GET / 1.1 host=a keep fields=1"},
    {"1.0 needs no host", OLD("A: b"), HTTP_DONE, "GET / 1.0 host= close fields=1"},
    {"1.0 without any field", BYTES("GET / HTTP/1.0\r\n\r\n"), HTTP_DONE, "GET / 1.0 host= close fields=0"},
    {"blanks around a value", WITH("A: \t b c \t "), HTTP_DONE, "GET / 1.1 host=a keep fields=2 last=[A][b c]"},
    {"no blank before a value", WITH("A:b"), HTTP_DONE, "GET / 1.1 host=a keep fields=2 last=[A][b]"},
    {"an empty value", WITH("A:"), HTTP_DONE, "GET / 1.1 host=a keep fields=2 last=[A][]"},
    {"blanks for a value", WITH("A: \t "), HTTP_DONE, "GET / 1.1 host=a keep fields=2 last=[A][]"},
    {"colons in a value", WITH("A:b:c"), HTTP_DONE, "GET / 1.1 host=a keep fields=2 last=[A][b:c]"},
    {"bytes beyond ASCII in a value", WITH("A: \xc3\xbc\xff"), HTTP_DONE,
     "GET / 1.1 host=a keep fields=2 last=[A][\xc3\xbc\xff]"},
    {"every byte of a token", WITH("!#$%&'*+-.^_`|~09azAZ: b"), HTTP_DONE,
     "GET / 1.1 host=a keep fields=2 last=[!#$%&'*+-.^_`|~09azAZ][b]"},
    {"one empty line before", BYTES("\r\n" LINE HOST END), HTTP_DONE, "GET / 1.1 host=a keep fields=1"},
    {"ten empty lines before", BYTES("\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" LINE HOST END), HTTP_DONE,
     "GET / 1.1 host=a keep fields=1"},
    /* -- lines -- */
    {"LF alone after the request line", BYTES("GET / HTTP/1.1\nHost: a\r\n\r\n"), 400, NULL},
    {"LF alone after a field", BYTES(LINE "Host: a\n\r\n"), 400, NULL},
    {"LF alone after a field that says nothing", BYTES(LINE HOST "A: bc\n" END), 400, NULL},
    {"LF alone at the end", BYTES(LINE HOST "\n"), 400, NULL},
    {"LF alone before", BYTES("\n" LINE HOST END), 400, NULL},
    {"CR alone before", BYTES("\r" LINE HOST END), 400, NULL},
    {"CR alone in the request line", BYTES("GET /\r HTTP/1.1\r\n" HOST END), 400, NULL},
    {"CR alone in a name", WITH("A\rB: c"), 400, NULL},
    {"CR alone in a value", WITH("A: b\rc"), 400, NULL},
    {"CR alone at the end of a value", WITH("A: b\r"), 400, NULL},
    {"CR alone before the end", BYTES(LINE HOST "\r\r\n"), 400, NULL},
    {"a folded line", WITH("A: b\r\n c"), 400, NULL},
    {"a line folded with a tab", WITH("A: b\r\n\tc"), 400, NULL},
    {"a blank line that is not empty", WITH(" "), 400, NULL},
    {"a folded first field", BYTES(LINE " " HOST END), 400, NULL},
    {"NUL in a name", WITH("A\0: b"), 400, NULL},
    {"NUL in a value", WITH("A: b\0c"), 400, NULL},
    {"a control byte in a value", WITH("A: b\x01"), 400, NULL},
    {"a vertical tab behind a value", WITH("A: b\v"), 400, NULL},
    {"DEL in a value", WITH("A: \x7f"), 400, NULL},
    {"a blank before the colon", WITH("A : b"), 400, NULL},
    {"a tab before the colon", WITH("A\t: b"), 400, NULL},
    {"a blank in a name", WITH("A B: c"), 400, NULL},
    {"no colon", WITH("A"), 400, NULL},
    {"no name", WITH(": b"), 400, NULL},
    {"a bracket in a name", WITH("A(: b"), 400, NULL},
    {"a quote in a name", WITH("\"A\": b"), 400, NULL},
    {"a byte beyond ASCII in a name", WITH("\xc3\xbc: b"), 400, NULL},
    /* -- methods -- */
    {"POST", METHOD("POST"), HTTP_DONE, "POST / 1.1 host=a keep fields=1"},
    {"an unusual one", METHOD("M-SEARCH"), HTTP_DONE, "M-SEARCH / 1.1 host=a keep fields=1"},
    {"no method", METHOD(""), 400, NULL},
    {"a method that is no token", METHOD("GE(T"), 400, NULL},
    {"a tab in the method", METHOD("G\tET"), 400, NULL},
    {"a byte beyond ASCII in the method", METHOD("G\xc3\x89T"), 400, NULL},
    {"NUL in the method", METHOD("GET\0"), 400, NULL},
    {"lower case", METHOD("get"), 501, NULL},
    {"one in lower case", METHOD("GEt"), 501, NULL},
    {"a digit", METHOD("GET2"), 501, NULL},
    {"a long one", METHOD("ABCDEFGHIJABCDEFGHIJABCDEFGHIJABC"), 501, NULL},
    {"CONNECT", BYTES("CONNECT a:80 HTTP/1.1\r\n" HOST END), 405, NULL},
    {"TRACE", METHOD("TRACE"), 405, NULL},
    /* -- targets -- */
    {"a query", TARGET("/a?b=c&d"), HTTP_DONE, "GET /a?b=c&d 1.1 host=a keep fields=1 path=[/a] query=[b=c&d]"},
    {"an empty query", TARGET("/a?"), HTTP_DONE, "GET /a? 1.1 host=a keep fields=1 path=[/a] query=[]"},
    {"two question marks", TARGET("/a?b?c"), HTTP_DONE, "GET /a?b?c 1.1 host=a keep fields=1 path=[/a] query=[b?c]"},
    {"two slashes", TARGET("//b/c"), HTTP_DONE, "GET //b/c 1.1 host=a keep fields=1"},
    {"escapes are left", TARGET("/%2e%2E/%00"), HTTP_DONE, "GET /%2e%2E/%00 1.1 host=a keep fields=1"},
    {"absolute", TARGET("http://b/c?d"), HTTP_DONE, "GET /c?d 1.1 host=b keep fields=1 absolute path=[/c] query=[d]"},
    {"absolute with a port", TARGET("HTTP://b.example:80/"), HTTP_DONE,
     "GET / 1.1 host=b.example:80 keep fields=1 absolute"},
    {"absolute without a path", TARGET("http://b"), HTTP_DONE, "GET  1.1 host=b keep fields=1 absolute"},
    {"absolute with a query alone", TARGET("http://b?c"), HTTP_DONE,
     "GET ?c 1.1 host=b keep fields=1 absolute path=[] query=[c]"},
    {"absolute with an address", TARGET("http://[::1]:80/a"), HTTP_DONE,
     "GET /a 1.1 host=[::1]:80 keep fields=1 absolute"},
    {"absolute, https", TARGET("https://b/a"), HTTP_DONE, "GET /a 1.1 host=b keep fields=1 absolute"},
    {"absolute needs the line as well", BYTES("GET http://b/ HTTP/1.1\r\n\r\n"), 400, NULL},
    {"absolute with a bad line", BYTES("GET http://b/ HTTP/1.1\r\nHost: a b\r\n\r\n"), 400, NULL},
    {"absolute without a host", TARGET("http:///a"), 400, NULL},
    {"absolute with nothing", TARGET("http://"), 400, NULL},
    {"absolute with a port alone", TARGET("http://:80/"), 400, NULL},
    {"absolute with a user", TARGET("http://b@c/"), 400, NULL},
    {"another scheme", TARGET("ftp://b/"), 400, NULL},
    {"one slash", TARGET("http:/b"), 400, NULL},
    {"no slash", TARGET("a"), 400, NULL},
    {"an asterisk", BYTES("OPTIONS * HTTP/1.1\r\n" HOST END), 400, NULL},
    {"an authority", TARGET("b:80"), 400, NULL},
    {"a fragment", TARGET("/a#b"), 400, NULL},
    {"a blank", TARGET("/a b"), 400, NULL},
    {"a tab", TARGET("/a\tb"), 400, NULL},
    {"a control byte", TARGET("/a\x01"), 400, NULL},
    {"DEL", TARGET("/a\x7f"), 400, NULL},
    {"NUL", TARGET("/a\0b"), 400, NULL},
    {"no target", BYTES("GET HTTP/1.1\r\n" HOST END), 400, NULL},
    {"an empty target", BYTES("GET  HTTP/1.1\r\n" HOST END), 400, NULL},
    {"two blanks before the target", BYTES("GET  / HTTP/1.1\r\n" HOST END), 400, NULL},
    {"two blanks after the target", BYTES("GET /  HTTP/1.1\r\n" HOST END), 400, NULL},
    {"a blank at the end of the line", BYTES("GET / HTTP/1.1 \r\n" HOST END), 400, NULL},
    {"a blank before the line", BYTES(" " LINE HOST END), 400, NULL},
    {"tabs instead of blanks", BYTES("GET\t/\tHTTP/1.1\r\n" HOST END), 400, NULL},
    {"a word alone", BYTES("GET\r\n\r\n"), 400, NULL},
    /* -- versions -- */
    {"0.9", BYTES("GET /\r\n"), 400, NULL},
    {"HTTP/0.9", VERSION("HTTP/0.9"), 505, NULL},
    {"HTTP/1.2", VERSION("HTTP/1.2"), 505, NULL},
    {"HTTP/1.9", VERSION("HTTP/1.9"), 505, NULL},
    {"HTTP/2.0", VERSION("HTTP/2.0"), 505, NULL},
    {"HTTP/2.1", VERSION("HTTP/2.1"), 505, NULL},
    {"HTTP/2", VERSION("HTTP/2"), 400, NULL},
    {"HTTP/01.1", VERSION("HTTP/01.1"), 400, NULL},
    {"HTTP/1.10", VERSION("HTTP/1.10"), 400, NULL},
    {"HTTP/1,1", VERSION("HTTP/1,1"), 400, NULL},
    {"HTTP/1.a", VERSION("HTTP/1.a"), 400, NULL},
    {"http/1.1", VERSION("http/1.1"), 400, NULL},
    {"HTTPS/1.1", VERSION("HTTPS/1.1"), 400, NULL},
    {"ICY", VERSION("ICY/1.1"), 400, NULL},
    {"HTTP 1.1", VERSION("HTTP 1.1"), 400, NULL},
    {"no version", VERSION(""), 400, NULL},
    /* -- Host -- */
    {"a host in any case", BYTES(LINE "hOST: a\r\n\r\n"), HTTP_DONE, "GET / 1.1 host=a keep fields=1"},
    {"a host with a port", HOST_IS("a.example:8080"), HTTP_DONE, "GET / 1.1 host=a.example:8080 keep fields=1"},
    {"an address", HOST_IS("192.0.2.1"), HTTP_DONE, "GET / 1.1 host=192.0.2.1 keep fields=1"},
    {"an IPv6 address", HOST_IS("[2001:db8::1]:80"), HTTP_DONE, "GET / 1.1 host=[2001:db8::1]:80 keep fields=1"},
    {"no host", BYTES(LINE "A: b\r\n\r\n"), 400, NULL},
    {"no fields", BYTES(LINE END), 400, NULL},
    {"an empty host", HOST_IS(""), 400, NULL},
    {"two hosts", WITH("Host: b"), 400, NULL},
    {"the same host twice", WITH(HOST), 400, NULL},
    {"two hosts on 1.0", OLD("Host: a\r\nHost: a"), 400, NULL},
    {"a bad host on 1.0", OLD("Host: a b"), 400, NULL},
    {"a host with a blank", HOST_IS("a b"), 400, NULL},
    {"a host with a path", HOST_IS("a/b"), 400, NULL},
    {"a host with a user", HOST_IS("u@a"), 400, NULL},
    {"a host with a scheme", HOST_IS("http://a"), 400, NULL},
    {"a port alone", HOST_IS(":80"), 400, NULL},
    {"a port of letters", HOST_IS("a:b"), 400, NULL},
    {"two ports", HOST_IS("a:80:80"), 400, NULL},
    {"an IPv6 address without brackets", HOST_IS("::1"), 400, NULL},
    {"an open bracket", HOST_IS("[::1"), 400, NULL},
    {"empty brackets", HOST_IS("[]"), 400, NULL},
    {"a name in brackets", HOST_IS("[xyz]"), 400, NULL},
    {"something behind brackets", HOST_IS("[::1]a"), 400, NULL},
    {"a host with quotes", HOST_IS("\"a\""), 400, NULL},
    {"a host with a backslash", HOST_IS("a\\b"), 400, NULL},
    {"a host beyond ASCII", HOST_IS("\xc3\xbc"), 400, NULL},
    {"a host in angle brackets", HOST_IS("<a>"), 400, NULL},
    /* -- Content-Length -- */
    {"a length", WITH("Content-Length: 5"), HTTP_DONE, "GET / 1.1 host=a keep length=5 fields=2"},
    {"a length of 0", WITH("content-length:0"), HTTP_DONE, "GET / 1.1 host=a keep length=0 fields=2"},
    {"leading zeros", WITH("Content-Length: 00000000000000000000005"), HTTP_DONE,
     "GET / 1.1 host=a keep length=5 fields=2"},
    {"zeros", WITH("Content-Length: 000"), HTTP_DONE, "GET / 1.1 host=a keep length=0 fields=2"},
    {"blanks around a length", WITH("Content-Length: \t5 \t"), HTTP_DONE, "GET / 1.1 host=a keep length=5 fields=2"},
    {"a long length", WITH("Content-Length: 999999999999999999"), HTTP_DONE,
     "GET / 1.1 host=a keep length=999999999999999999 fields=2"},
    {"a name that begins like it", WITH("Content-Lengthy: x"), HTTP_DONE, "GET / 1.1 host=a keep fields=2"},
    {"no length", WITH("Content-Length:"), 400, NULL},
    {"two equal lengths", WITH("Content-Length: 5\r\nContent-Length: 5"), 400, NULL},
    {"two lengths", WITH("Content-Length: 5\r\nA: b\r\nContent-Length: 6"), 400, NULL},
    {"a list of lengths", WITH("Content-Length: 5, 5"), 400, NULL},
    {"a comma behind", WITH("Content-Length: 5,"), 400, NULL},
    {"a plus sign", WITH("Content-Length: +5"), 400, NULL},
    {"a negative length", WITH("Content-Length: -1"), 400, NULL},
    {"a negative zero", WITH("Content-Length: -0"), 400, NULL},
    {"a hexadecimal length", WITH("Content-Length: 0x5"), 400, NULL},
    {"a letter behind", WITH("Content-Length: 1Z"), 400, NULL},
    {"a blank within", WITH("Content-Length: 5 5"), 400, NULL},
    {"a fraction", WITH("Content-Length: 5.0"), 400, NULL},
    {"an exponent", WITH("Content-Length: 1e1"), 400, NULL},
    {"2^63", WITH("Content-Length: 9223372036854775808"), 400, NULL},
    {"2^64 + 5", WITH("Content-Length: 18446744073709551621"), 400, NULL},
    {"40 digits", WITH("Content-Length: 1234567890123456789012345678901234567890"), 400, NULL},
    {"digits of another script", WITH("Content-Length: \xd9\xa5"), 400, NULL},
    /* -- Transfer-Encoding -- */
    {"chunked", WITH("Transfer-Encoding: chunked"), HTTP_DONE, "GET / 1.1 host=a keep chunked fields=2"},
    {"chunked in any case", WITH("transfer-encoding:CHUNKed "), HTTP_DONE, "GET / 1.1 host=a keep chunked fields=2"},
    {"chunked and a length", WITH(CHUNKED "\r\nContent-Length: 5"), 400, NULL},
    {"a length and chunked", WITH("Content-Length: 5\r\n" CHUNKED), 400, NULL},
    {"chunked in two lines", WITH(CHUNKED "\r\n" CHUNKED), 400, NULL},
    {"chunked twice", WITH("Transfer-Encoding: chunked, chunked"), 400, NULL},
    {"another behind chunked", WITH("Transfer-Encoding: chunked, identity"), 400, NULL},
    {"another line behind chunked", WITH(CHUNKED "\r\nTransfer-Encoding: gzip"), 400, NULL},
    {"gzip", WITH("Transfer-Encoding: gzip"), 501, NULL},
    {"gzip and chunked", WITH("Transfer-Encoding: gzip, chunked"), 501, NULL},
    {"identity", WITH("Transfer-Encoding: identity"), 501, NULL},
    {"a name like it", WITH("Transfer-Encoding: xchunked"), 501, NULL},
    {"half of it", WITH("Transfer-Encoding: chunke"), 501, NULL},
    {"with a parameter", WITH("Transfer-Encoding: chunked;a=b"), 501, NULL},
    {"in quotes", WITH("Transfer-Encoding: \"chunked\""), 501, NULL},
    {"nothing", WITH("Transfer-Encoding:"), 400, NULL},
    {"a vertical tab", WITH("Transfer-Encoding: \vchunked"), 400, NULL},
    {"chunked on 1.0", OLD(CHUNKED), 400, NULL},
    /* -- Connection -- */
    {"close", WITH("Connection: close"), HTTP_DONE, "GET / 1.1 host=a close fields=2"},
    {"close in any case", WITH("connection: CLOSE"), HTTP_DONE, "GET / 1.1 host=a close fields=2"},
    {"close among others", WITH("Connection: a,\t,keep-alive , close,b"), HTTP_DONE, "GET / 1.1 host=a close fields=2"},
    {"close in another line", WITH("Connection: keep-alive\r\nConnection: close"), HTTP_DONE,
     "GET / 1.1 host=a close fields=3"},
    {"a word with close in it", WITH("Connection: closed, close-it"), HTTP_DONE, "GET / 1.1 host=a keep fields=2"},
    {"keep-alive", WITH("Connection: keep-alive"), HTTP_DONE, "GET / 1.1 host=a keep fields=2"},
    {"keep-alive on 1.0", OLD("Connection: Keep-Alive"), HTTP_DONE, "GET / 1.0 host= keep fields=1"},
    {"both on 1.0", OLD("Connection: keep-alive, close"), HTTP_DONE, "GET / 1.0 host= close fields=1"},
    {"the proxy's", WITH("Proxy-Connection: close"), HTTP_DONE, "GET / 1.1 host=a keep fields=2"},
    {"an upgrade", WITH("Upgrade: websocket\r\nConnection: upgrade"), HTTP_DONE, "GET / 1.1 host=a keep fields=3"},
    /* -- Expect -- */
    {"100-continue", WITH("Expect: 100-Continue"), HTTP_DONE, "GET / 1.1 host=a keep continue fields=2"},
    {"another", WITH("Expect: 200-ok"), 417, NULL},
    {"more than it", WITH("Expect: 100-continue, a"), 417, NULL},
    {"nothing expected", WITH("Expect:"), 417, NULL},
    {"ignored on 1.0", OLD("Expect: 100-continue"), HTTP_DONE, "GET / 1.0 host= close fields=1"},
    {"anything on 1.0", OLD("Expect: a"), HTTP_DONE, "GET / 1.0 host= close fields=1"},
    /* -- other protocols -- */
    {"TLS", BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n"), 400, NULL},
    {"HTTP/2", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505, NULL},
    {"an answer", BYTES("HTTP/1.1 200 OK\r\n\r\n"), 400, NULL},
};

static int parse(struct http_head *head, const char *input, size_t length, size_t limit_bytes)
{
    return http_parse_head(head, guard_copy(input, length), limit_bytes);
}

static size_t add_part(char *text, size_t at, const char *name, const char *input, struct http_part part)
{
    return at + (size_t)sprintf(text + at, "%s[%.*s]", name, part.length, input + part.at);
}

/* The fields' place in the text is the last's, since many cases are about one field. */
static const char *describe(const struct http_head *head, const char *input, const char *as)
{
    static char text[4096];
    int at = sprintf(text, "%.*s %.*s 1.%d host=%.*s %s", head->method.length, input + head->method.at,
                     head->uri.length, input + head->uri.at, head->minor, head->host.length, input + head->host.at,
                     http_head_keeps(head) ? "keep" : "close");
    if (head->content_length >= 0)
        at += sprintf(text + at, " length=%lld", (long long)head->content_length);
    at += sprintf(text + at, "%s%s fields=%d%s", head->chunked ? " chunked" : "",
                  head->expects_continue ? " continue" : "", head->field_count, head->is_absolute ? " absolute" : "");
    size_t length = (size_t)at;
    if (strstr(as, " last=") != NULL) {
        const struct http_field *last = &head->fields[head->field_count - 1];
        length = add_part(text, length, " last=", input, last->name);
        add_part(text, length, "", input, last->value);
    }
    if (strstr(as, " path=") != NULL) {
        length = add_part(text, length, " path=", input, head->path);
        add_part(text, length, " query=", input, head->query);
    }
    return text;
}

static bool same_head(const struct http_head *one, const struct http_head *other)
{
    return memcmp(one, other, offsetof(struct http_head, fields)) == 0 &&
           memcmp(one->fields, other->fields, one->field_count * sizeof one->fields[0]) == 0;
}

/* -- heads
 * --------------------------------------------------------------------------------------------------------------
 */

static void meanings(void)
{
    for (size_t i = 0; i < SUITE_COUNT(heads); i++) {
        const struct head_case *one = &heads[i];
        struct http_head head;
        http_head_init(&head);
        int status = parse(&head, one->input, one->length, HTTP_HEAD_BYTES);
        SUITE_CHECK(status == one->status, "%s: %d, not %d", one->name, status, one->status);
        if (status != HTTP_DONE)
            continue;
        SUITE_CHECK(head.length == one->length, "%s: %u bytes of %zu", one->name, head.length, one->length);
        const char *meaning = describe(&head, one->input, one->meaning);
        SUITE_CHECK(strcmp(meaning, one->meaning) == 0, "%s: '%s', not '%s'", one->name, meaning, one->meaning);
    }
}

static void what_follows_is_left(void)
{
    static const char *const next[] = {"\r\n", "\n", "A: b\r\n\r\n", " ", "hello", LINE};
    for (size_t i = 0; i < SUITE_COUNT(heads); i++)
        for (size_t j = 0; j < SUITE_COUNT(next); j++) {
            char input[1000];
            struct http_head head, with_next;
            memcpy(input, heads[i].input, heads[i].length);
            strcpy(input + heads[i].length, next[j]);
            http_head_init(&head);
            http_head_init(&with_next);
            int status = parse(&head, input, heads[i].length, HTTP_HEAD_BYTES);
            int again = parse(&with_next, input, heads[i].length + strlen(next[j]), HTTP_HEAD_BYTES);
            SUITE_CHECK(status == again, "%s and '%s': %d, not %d", heads[i].name, next[j], again, status);
            SUITE_CHECK(status != HTTP_DONE || same_head(&head, &with_next), "%s and '%s': another meaning",
                        heads[i].name, next[j]);
        }
}

static void no_prefix_is_done(void)
{
    for (size_t i = 0; i < SUITE_COUNT(heads); i++)
        for (size_t length = 0; length < heads[i].length; length++) {
            struct http_head head;
            http_head_init(&head);
            int status = parse(&head, heads[i].input, length, HTTP_HEAD_BYTES);
            bool right = status == HTTP_MORE || (heads[i].status != HTTP_DONE && status == heads[i].status);
            SUITE_CHECK(right, "%s, cut after %zu bytes: %d", heads[i].name, length, status);
        }
}

static void check_same(const char *name, int status, const struct http_head *whole, int in_parts,
                       const struct http_head *parts, size_t cut)
{
    SUITE_CHECK(in_parts == status, "%s, cut after %zu bytes: %d, not %d", name, cut, in_parts, status);
    SUITE_CHECK(status != HTTP_DONE || same_head(whole, parts), "%s, cut after %zu bytes: another meaning", name, cut);
}

static void every_split(void)
{
    for (size_t i = 0; i < SUITE_COUNT(heads); i++) {
        const struct head_case *one = &heads[i];
        struct http_head whole, parts;
        http_head_init(&whole);
        int status = parse(&whole, one->input, one->length, HTTP_HEAD_BYTES), in_parts;
        for (size_t cut = 0; cut < one->length; cut++) {
            http_head_init(&parts);
            in_parts = parse(&parts, one->input, cut, HTTP_HEAD_BYTES);
            if (in_parts == HTTP_MORE)
                in_parts = parse(&parts, one->input, one->length, HTTP_HEAD_BYTES);
            check_same(one->name, status, &whole, in_parts, &parts, cut);
        }
        http_head_init(&parts);
        in_parts = HTTP_MORE;
        for (size_t length = 1; length <= one->length && in_parts == HTTP_MORE; length++)
            in_parts = parse(&parts, one->input, length, HTTP_HEAD_BYTES);
        check_same(one->name, status, &whole, in_parts, &parts, 1);
    }
}

/* -- limits
 * -------------------------------------------------------------------------------------------------------------
 */

/* Parses in one piece and byte by byte from the last hundred bytes before `from`: both must come to the same. */
static int parse_long(struct http_head *head, const char *input, size_t length, size_t limit_bytes, size_t from)
{
    struct http_head parts;
    http_head_init(head);
    http_head_init(&parts);
    int status = parse(head, input, length, limit_bytes), in_parts = HTTP_MORE;
    for (size_t end = from > 100 ? from - 100 : 0; end <= length && in_parts == HTTP_MORE; end++)
        in_parts = parse(&parts, input, end, limit_bytes);
    SUITE_CHECK(in_parts == status, "%zu bytes, limit %zu: %d in one piece, %d in parts", length, limit_bytes, status,
                in_parts);
    return status;
}

static char long_input[GUARD_BYTES_MAX];

/* A request line of so many bytes. Returns the length of the whole head. */
static size_t write_line(size_t line_bytes)
{
    size_t rest = sizeof "GET / HTTP/1.1" - 1;
    memcpy(long_input, "GET /", 5);
    memset(long_input + 5, 'p', line_bytes - rest);
    return (size_t)sprintf(long_input + 5 + line_bytes - rest, " HTTP/1.1\r\n" HOST END) + 5 + line_bytes - rest;
}

static void long_request_lines(void)
{
    struct http_head head;
    size_t length = write_line(HTTP_LINE_BYTES);
    CU_ASSERT_EQUAL(parse_long(&head, long_input, length, HTTP_HEAD_BYTES, HTTP_LINE_BYTES), HTTP_DONE);
    CU_ASSERT_EQUAL(head.uri.length, HTTP_LINE_BYTES - 13);
    for (size_t more = 1; more < 5; more++) {
        length = write_line(HTTP_LINE_BYTES + more);
        CU_ASSERT_EQUAL(parse_long(&head, long_input, length, HTTP_HEAD_BYTES, HTTP_LINE_BYTES), 414);
    }
    memset(long_input, 'G', sizeof long_input);
    CU_ASSERT_EQUAL(parse_long(&head, long_input, HTTP_LINE_BYTES + 1, HTTP_HEAD_BYTES, HTTP_LINE_BYTES), HTTP_MORE);
    CU_ASSERT_EQUAL(parse_long(&head, long_input, HTTP_LINE_BYTES + 2, HTTP_HEAD_BYTES, HTTP_LINE_BYTES), 414);
    CU_ASSERT_EQUAL(parse_long(&head, long_input, sizeof long_input, HTTP_HEAD_BYTES, HTTP_LINE_BYTES), 414);
}

/* Whatever the line ends with, and wherever the limit of the head lies: cut anywhere, the answer is the same. */
static void long_lines_of_no_use(void)
{
    static const char *const ends[] = {"\n", "\r\n", "\r", " / HTTP/1.1\n", " / HTTP/1.1\r\n", ""};
    static const size_t limits[] = {HTTP_HEAD_BYTES, HTTP_LINE_BYTES + 3, HTTP_LINE_BYTES + 2, HTTP_LINE_BYTES, 4096};
    struct http_head head;
    for (size_t i = 0; i < SUITE_COUNT(ends); i++)
        for (size_t j = 0; j < SUITE_COUNT(limits); j++)
            for (size_t blank = 0; blank < 2; blank++)
                for (size_t bytes = limits[j] - 20; bytes < limits[j] + 20; bytes++) {
                    memset(long_input, 'G', bytes);
                    memcpy(long_input, "\r\n\r\n", blank * 4);
                    strcpy(long_input + bytes, ends[i]);
                    parse_long(&head, long_input, bytes + strlen(ends[i]), limits[j],
                               bytes < HTTP_LINE_BYTES ? bytes : HTTP_LINE_BYTES);
                }
    memset(long_input, 'G', HTTP_LINE_BYTES + 3);
    long_input[HTTP_LINE_BYTES + 3] = '\n';
    CU_ASSERT_EQUAL(parse_long(&head, long_input, HTTP_LINE_BYTES + 4, HTTP_HEAD_BYTES, HTTP_LINE_BYTES), 414);
    CU_ASSERT_EQUAL(parse_long(&head, long_input, HTTP_LINE_BYTES + 4, 4096, 4096), 414);
}

/* A head of so many bytes, with a field that fills it. */
static void write_head(size_t head_bytes)
{
    size_t front = (size_t)sprintf(long_input, LINE HOST "A: ");
    memset(long_input + front, 'v', head_bytes - front - 4);
    memcpy(long_input + head_bytes - 4, "\r\n\r\n", 4);
}

static void long_heads(void)
{
    static const size_t limits[] = {HTTP_HEAD_BYTES, HTTP_HEAD_BYTES - 1, 16384, 4096, 100};
    struct http_head head;
    for (size_t i = 0; i < SUITE_COUNT(limits); i++) {
        size_t limit = limits[i];
        write_head(limit);
        CU_ASSERT_EQUAL(parse_long(&head, long_input, limit, limit, limit), HTTP_DONE);
        CU_ASSERT_EQUAL(head.length, limit);
        for (size_t more = 1; more < 6; more++) {
            write_head(limit + more);
            CU_ASSERT_EQUAL(parse_long(&head, long_input, limit + more, limit, limit), 431);
        }
        write_head(limit); /* without its last byte there is no head yet, and with another there can be none */
        CU_ASSERT_EQUAL(parse_long(&head, long_input, limit - 1, limit, limit), HTTP_MORE);
        long_input[limit - 1] = 'x';
        CU_ASSERT_EQUAL(parse_long(&head, long_input, limit, limit, limit), 431);
    }
    write_head(HTTP_HEAD_BYTES); /* a body behind it is none of the head */
    memset(long_input + HTTP_HEAD_BYTES, 'b', 1000);
    CU_ASSERT_EQUAL(parse_long(&head, long_input, HTTP_HEAD_BYTES + 1000, HTTP_HEAD_BYTES, 0), HTTP_DONE);
}

static void many_fields(void)
{
    struct http_head head;
    for (int count = HTTP_FIELDS_MAX - 1; count <= HTTP_FIELDS_MAX + 1; count++) {
        size_t length = (size_t)sprintf(long_input, LINE HOST);
        for (int i = 1; i < count; i++)
            length += (size_t)sprintf(long_input + length, "N%d: %d\r\n", i, i);
        length += (size_t)sprintf(long_input + length, END);
        int expected = count > HTTP_FIELDS_MAX ? 431 : HTTP_DONE;
        CU_ASSERT_EQUAL(parse_long(&head, long_input, length, HTTP_HEAD_BYTES, 0), expected);
        CU_ASSERT_EQUAL(head.field_count, count > HTTP_FIELDS_MAX ? HTTP_FIELDS_MAX : count);
    }
}

static const struct suite_case cases[] = {
    {"meanings", meanings},
    {"what follows is left", what_follows_is_left},
    {"no prefix is done", no_prefix_is_done},
    {"every split", every_split},
    {"long request lines", long_request_lines},
    {"long lines of no use", long_lines_of_no_use},
    {"long heads", long_heads},
    {"many fields", many_fields},
};

int main(int argc, char **argv)
{
    return suite_main("http_parse", cases, SUITE_COUNT(cases), argc, argv);
}
