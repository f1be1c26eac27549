/*
 * test_http_fields.c: the fields of requests to the direct listener, the ends of lines, and how long a head may be.
 * Cases C52, C55, C56.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "refusal.h"
#include "suite.h"

#define HOST              "Host: h\r\n"
#define END               "\r\n"
#define WITH_HOST(fields) "GET /hello HTTP/1.1\r\n" fields END

static struct http_answer answer;

static void ask(const char *text)
{
    http_ask(&answer, direct_address(), text);
}

static void check_refused(const struct refusal *refusals, size_t count)
{
    direct_shared();
    refusal_check(refusals, count);
}

/* -- Fields ---------------------------------------------------------------------------------------------------------
 */

static void good_fields(void)
{
    direct_shared();
    ask("GET /params HTTP/1.1\r\nHOST:h\r\nX-Empty:\r\nX-Blanks: \t \r\nX-Inner:\t a \t b \t\r\nX-High: \xe9\xff\r\n"
        "X-Colons: a:b: c\r\nx!#$%&'*+-.^`|~9: odd\r\nX-Long-Name-With-Digits-0123456789: v\r\n\r\n");
    CU_ASSERT_EQUAL_FATAL(answer.status, 200);
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_EMPTY="));
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_BLANKS="));
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_INNER=a \t b"));
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_HIGH=\xe9\xff"));
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_COLONS=a:b: c"));
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_LONG_NAME_WITH_DIGITS_0123456789=v"));
}

static void bad_fields(void)
{
    static const struct refusal bad[] = {
        {"a blank before the colon", WITH_HOST(HOST "Content-Length : 5\r\n"), 0, 400},
        {"a tab before the colon", WITH_HOST(HOST "X\t: y\r\n"), 0, 400},
        {"a blank before the colon of Host", WITH_HOST("Host : h\r\n"), 0, 400},
        {"a blank at the front", WITH_HOST(" Host: h\r\n"), 0, 400},
        {"a folded line", WITH_HOST(HOST "X: y\r\n z\r\n"), 0, 400},
        {"a folded line, by a tab", WITH_HOST(HOST "X: y\r\n\tz\r\n"), 0, 400},
        {"a folded line right after the request line", "GET /hello HTTP/1.1\r\n X: y\r\n" HOST END, 0, 400},
        {"a folded line of blanks", WITH_HOST(HOST "X: y\r\n \r\n"), 0, 400},
        {"no colon", WITH_HOST(HOST "what is this\r\n"), 0, 400},
        {"no colon, a token", WITH_HOST(HOST "what\r\n"), 0, 400},
        {"an empty name", WITH_HOST(HOST ": x\r\n"), 0, 400},
        {"a name with a blank", WITH_HOST(HOST "X Y: z\r\n"), 0, 400},
        {"a name with a bracket", WITH_HOST(HOST "X(Y): z\r\n"), 0, 400},
        {"a name with quotation marks", WITH_HOST(HOST "\"X\": z\r\n"), 0, 400},
        {"a name with a slash", WITH_HOST(HOST "X/Y: z\r\n"), 0, 400},
        {"a name with a NUL", REFUSAL_BYTES(WITH_HOST(HOST "X\0Y: z\r\n")), 400},
        {"a name with an 8-bit byte", WITH_HOST(HOST "X\xe9: z\r\n"), 0, 400},
        {"a name with a CR", WITH_HOST(HOST "X\r: z\r\n"), 0, 400},
        {"a value with a NUL", REFUSAL_BYTES(WITH_HOST(HOST "X: y\0z\r\n")), 400},
        {"a NUL at a value's end", REFUSAL_BYTES(WITH_HOST(HOST "X: y\0\r\n")), 400},
        {"a value with a control byte", WITH_HOST(HOST "X: y\x01z\r\n"), 0, 400},
        {"a value with a vertical tab", WITH_HOST(HOST "X: y\vz\r\n"), 0, 400},
        {"a value with DEL", WITH_HOST(HOST "X: y\x7fz\r\n"), 0, 400},
        {"a value with a CR", WITH_HOST(HOST "X: y\rZ: z\r\n"), 0, 400},
        {"a CR too many", WITH_HOST(HOST "X: y\r\r\n"), 0, 400},
        {"a CR before the blank line", WITH_HOST(HOST "\r"), 0, 400},
        {"LF after the request line", "GET /hello HTTP/1.1\n" HOST END, 0, 400},
        {"LF after a field", WITH_HOST("Host: h\n"), 0, 400},
        {"LF for the blank line", "GET /hello HTTP/1.1\r\n" HOST "\n", 0, 400},
        {"LF throughout", "GET /hello HTTP/1.1\nHost: h\n\n", 0, 400},
        {"LF before a request", "\nGET /hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"CR before a request", "\rGET /hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"CR throughout", "GET /hello HTTP/1.1\rHost: h\r\r\n\r\n", 0, 400},
        {"LF CR", "GET /hello HTTP/1.1\n\rHost: h\n\r\n\r", 0, 400},
        {"a CR before the CR LF of the request line", "GET /hello HTTP/1.1\r\r\n" HOST END, 0, 400},
    };

    check_refused(bad, SUITE_COUNT(bad));
}

/* -- Limits ---------------------------------------------------------------------------------------------------------
 */

enum { LINE_MAX_BYTES = 8192, HEAD_MAX_BYTES = 32768, FIELDS_MAX = 128 };

/* A head of exactly `length` bytes with a request line of `line`, without its CR LF. */
static void head_of(struct bytes *head, size_t line, size_t length)
{
    static const char start[] = "GET /hello?", end[] = " HTTP/1.1\r\nHost: h\r\n";

    bytes_clear(head);
    bytes_add(head, start, strlen(start));
    bytes_add_fill(head, 'q', line - strlen(start) - strlen(" HTTP/1.1"));
    bytes_add(head, end, strlen(end));
    while (head->length + 2 < length) { /* fields of at most 1000 bytes */
        size_t left = length - 2 - head->length, field = left > 1010 ? 1000 : left;

        bytes_add(head, "X: ", 3);
        bytes_add_fill(head, 'v', field - 5);
        bytes_add(head, "\r\n", 2);
    }
    bytes_add(head, "\r\n", 2);
    SUITE_CHECK(length == 0 || head->length == length, "%zu bytes instead of %zu", head->length, length);
}

static void check_fits(const struct bytes *head, const char *what)
{
    static struct http http;

    for (int cut = 0; cut < 2; cut++) {
        http_open(&http, direct_local());
        if (cut)
            http_send_cut(&http, head->data, head->length, 97);
        else
            http_send_bytes(&http, head->data, head->length);
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 200, "%s: status %d", what, answer.status);
        http_close(&http);
    }
}

static void long_request_lines(void)
{
    struct bytes head = {0};

    direct_shared();
    head_of(&head, LINE_MAX_BYTES, 0);
    check_fits(&head, "a line of 8192 bytes");
    head_of(&head, LINE_MAX_BYTES + 1, 0);
    refusal_check_bytes("a line of 8193 bytes", head.data, head.length, 414);
    bytes_clear(&head);
    bytes_add(&head, "GET /", 5);
    bytes_add_fill(&head, 'a', 200000);
    refusal_check_bytes("a line without end", head.data, head.length, 414);
    bytes_fini(&head);
}

static void long_heads(void)
{
    struct bytes head = {0};

    direct_shared();
    head_of(&head, 40, HEAD_MAX_BYTES);
    check_fits(&head, "a head of 32768 bytes");
    head_of(&head, 40, HEAD_MAX_BYTES + 1);
    refusal_check_bytes("a head of 32769 bytes", head.data, head.length, 431);
    head_of(&head, 40, 0);
    head.length -= 2;
    bytes_add(&head, "X: ", 3);
    bytes_add_fill(&head, 'v', 1 << 20);
    refusal_check_bytes("a field without end", head.data, head.length, 431);
    bytes_fini(&head);
}

static void many_fields(void)
{
    struct bytes head = {0};

    direct_shared();
    for (int more = 0; more < 2; more++) {
        bytes_clear(&head);
        bytes_add(&head, "GET /hello HTTP/1.1\r\nHost: h\r\n", 30);
        for (int i = 1; i < FIELDS_MAX + more; i++)
            bytes_add(&head, "X: y\r\n", 6);
        bytes_add(&head, "\r\n", 2);
        if (more)
            refusal_check_bytes("129 fields", head.data, head.length, 431);
        else
            check_fits(&head, "128 fields");
    }
    bytes_fini(&head);
}

/* An own limit on the environment limits heads as well. */
static void heads_over_a_smaller_limit(void)
{
    struct bytes head = {0};

    direct_start("max_params_bytes = 2K");
    head_of(&head, 40, 1000);
    check_fits(&head, "a head of 1000 bytes");
    head_of(&head, 40, 2100);
    refusal_check_bytes("a head of 2100 bytes", head.data, head.length, 431);
    bytes_fini(&head);
    direct_check_settled();
}

/* What is refused may still be on its way: the answer is read all the same, and the server does not wait for its end.
 */
static void refused_while_sending(void)
{
    static struct http http;
    static char waste[1 << 20];

    direct_shared();
    memset(waste, 'w', sizeof waste);
    http_open(&http, direct_address());
    http_send(&http, "GET /hello HTTP/3.7\r\n");
    link_try_send(http.link, waste, sizeof waste, DEADLINE_USUAL_MS);
    http_read(&answer, &http);
    CU_ASSERT_EQUAL(answer.status, 505);
    http_check_closes(&answer, &http, "a megabyte behind a refused line");
    http_close(&http);
}

static void leaves_nothing(void)
{
    direct_check_settled();
}

static const struct suite_case cases[] = {
    {"good fields", good_fields},
    {"bad fields and bad line ends are refused", bad_fields},
    {"request lines over the limit: 414", long_request_lines},
    {"heads over the limit: 431", long_heads},
    {"fields over the limit: 431", many_fields},
    {"a refusal is readable while the client sends on", refused_while_sending},
    {"requests leave nothing behind", leaves_nothing},
    {"heads over a smaller limit: 431", heads_over_a_smaller_limit},
};

int main(int argc, char **argv)
{
    return suite_main("http_fields", cases, SUITE_COUNT(cases), argc, argv);
}
