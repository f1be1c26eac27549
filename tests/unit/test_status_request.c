/* test_status_request.c: heads of requests to the status listener, whole and in pieces. */
#include <CUnit/CUnit.h>

#include <stdlib.h>
#include <string.h>

#include "control/status_request.h"
#include "suite.h"

#define HOST "Host: x\r\n"

static const struct {
    const char *head;
    int status;
    enum status_resource resource;
} heads[] = {
    {"GET / HTTP/1.1\r\n" HOST "\r\n", 200, STATUS_PAGE},
    {"GET /status.json HTTP/1.1\r\n" HOST "\r\n", 200, STATUS_JSON},
    {"GET /metrics HTTP/1.1\r\nhost:\r\nAccept: */*\r\n\r\n", 200, STATUS_METRICS},
    {"GET /status.txt HTTP/1.0\r\n\r\n", 200, STATUS_TEXT},
    {"GET /healthz?a=b&c HTTP/1.1\r\n" HOST "X: \ttab, \xc3\xa4, \xff\r\n\r\n", 200, STATUS_HEALTH},
    {"HEAD /healthz HTTP/1.1\r\n" HOST "\r\n", 200, STATUS_HEALTH},
    {"GET http://x:80/metrics HTTP/1.1\r\n" HOST "\r\n", 200, STATUS_METRICS},
    {"GET HTTP://x/?y HTTP/1.1\r\n" HOST "\r\n", 200, STATUS_PAGE},
    {"GET / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", 200, STATUS_PAGE},
    {"GET /nothing HTTP/1.1\r\n" HOST "\r\n", 404, 0},
    {"GET /status.json/ HTTP/1.1\r\n" HOST "\r\n", 404, 0},
    {"GET //status.json HTTP/1.1\r\n" HOST "\r\n", 404, 0},
    {"GET /status%2ejson HTTP/1.1\r\n" HOST "\r\n", 404, 0},
    {"POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 405, 0},
    {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 405, 0},
    {"CONNECT x:80 HTTP/1.1\r\n" HOST "\r\n", 405, 0},
    {"get / HTTP/1.1\r\n" HOST "\r\n", 405, 0},
    {"GET / HTTP/2.0\r\n", 505, 0},
    {"GET /\r\n", 400, 0},
    {"GET  / HTTP/1.1\r\n", 400, 0},
    {"GET / HTTP/1.1 \r\n", 400, 0},
    {"GET /  HTTP/1.1\r\n", 400, 0},
    {" GET / HTTP/1.1\r\n", 400, 0},
    {"GET\t/ HTTP/1.1\r\n", 400, 0},
    {"GET /a\tb HTTP/1.1\r\n", 400, 0},
    {"GET /\xc3\xa4 HTTP/1.1\r\n", 400, 0},
    {"GET /#a HTTP/1.1\r\n", 400, 0},
    {"GET healthz HTTP/1.1\r\n", 400, 0},
    {"GET http://x HTTP/1.1\r\n", 400, 0},
    {"GET * HTTP/1.1\r\n", 400, 0},
    {"GE(T / HTTP/1.1\r\n", 400, 0},
    {"GET / http/1.1\r\n", 400, 0},
    {"GET / HTTP/11\r\n", 400, 0},
    {"GET / HTTP/1.x\r\n", 400, 0},
    {"GET / HTTP/1.10\r\n", 400, 0},
    {"\r\n", 400, 0},
    {"\n", 400, 0},
    {"GET / HTTP/1.1\n", 400, 0},
    {"GET / HTTP/1.1\rX", 400, 0},
    {"\x16\x03\x01", 400, 0}, /* TLS */
    {"GET / HTTP/1.1\r\n\r\n", 400, 0},
    {"GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400, 0},
    {"GET / HTTP/1.0\r\n" HOST HOST "\r\n", 400, 0},
    {"GET / HTTP/1.1\r\n" HOST " folded\r\n", 400, 0},
    {"GET / HTTP/1.1\r\nHost : x\r\n", 400, 0},
    {"GET / HTTP/1.1\r\n: x\r\n", 400, 0},
    {"GET / HTTP/1.1\r\nno colon\r\n", 400, 0},
    {"GET / HTTP/1.1\r\nX: \x01", 400, 0},
    {"GET / HTTP/1.1\r\nX: \x7f", 400, 0},
};

/* In a piece of memory of its own, so that a look beyond its end is found. */
static struct status_request parse(const char *bytes, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    struct status_request request;

    memcpy(copy, bytes, length);
    request = status_request_parse(span_of(copy, length));
    free(copy);
    return request;
}

static void whole_heads(void)
{
    for (size_t i = 0; i < SUITE_COUNT(heads); i++) {
        struct status_request request = parse(heads[i].head, strlen(heads[i].head));

        SUITE_CHECK(request.status == heads[i].status, "status %d for: %s", request.status, heads[i].head);
        SUITE_CHECK(request.status != 200 || request.resource == heads[i].resource, "resource %d for: %s",
                    (int)request.resource, heads[i].head);
        CU_ASSERT_EQUAL(request.head, strncmp(heads[i].head, "HEAD ", 5) == 0);
    }
}

/* Until the decision nothing is decided, and then nothing changes it. */
static void every_prefix(void)
{
    for (size_t i = 0; i < SUITE_COUNT(heads); i++) {
        const char *head = heads[i].head, *end = strstr(head, "\r\n\r\n");
        int seen = 0;

        for (size_t length = 0; length <= strlen(head); length++) {
            int status = parse(head, length).status;

            SUITE_CHECK(seen == 0 || status == seen, "status %d, then %d for: %.*s", seen, status, (int)length, head);
            seen = status;
            SUITE_CHECK(status < 200 || status >= 400 || (end && length >= (size_t)(end - head) + 4),
                        "status %d already for: %.*s", status, (int)length, head);
        }
        CU_ASSERT_EQUAL(seen, heads[i].status);
    }
}

static void a_nul_is_no_end(void)
{
    static const char nul_in_path[] = "GET /\0 HTTP/1.1\r\n" HOST "\r\n";
    static const char nul_in_field[] = "GET / HTTP/1.1\r\n" HOST "X: \0\r\n\r\n";

    CU_ASSERT_EQUAL(parse(nul_in_path, sizeof nul_in_path - 1).status, 400);
    CU_ASSERT_EQUAL(parse(nul_in_field, sizeof nul_in_field - 1).status, 400);
}

/* Fills the bytes with `begin`, then many of one byte, then `end`. */
static int status_of_filled(size_t length, const char *begin, const char *end)
{
    static char bytes[2 * STATUS_REQUEST_BYTES];

    memset(bytes, 'x', length);
    memcpy(bytes, begin, strlen(begin));
    memcpy(bytes + length - strlen(end), end, strlen(end));
    return parse(bytes, length).status;
}

static void too_long(void)
{
    static const char line[] = "GET /?", field[] = "GET / HTTP/1.0\r\nX: ";

    CU_ASSERT_EQUAL(status_of_filled(STATUS_REQUEST_BYTES - 1, line, ""), 0);
    CU_ASSERT_EQUAL(status_of_filled(STATUS_REQUEST_BYTES, line, ""), 414);
    CU_ASSERT_EQUAL(status_of_filled(STATUS_REQUEST_BYTES - 1, field, ""), 0);
    CU_ASSERT_EQUAL(status_of_filled(STATUS_REQUEST_BYTES, field, ""), 431);
    CU_ASSERT_EQUAL(status_of_filled(STATUS_REQUEST_BYTES, field, "\r\n\r"), 431);
    CU_ASSERT_EQUAL(status_of_filled(STATUS_REQUEST_BYTES, field, "\r\n\r\n"), 200);
    CU_ASSERT_EQUAL(status_of_filled(STATUS_REQUEST_BYTES, line, " HTTP/1.0\r\n\r\n"), 200);
}

/* Whatever comes: one of the statuses. */
static void random_bytes(void)
{
    static const char alphabet[] = "GET / HTTP/1.10\r\n\r\nHost: x?#\t\x01\xff*";
    unsigned seed = 7;
    char bytes[64];

    for (int i = 0; i < 200000; i++) {
        size_t length = (size_t)(rand_r(&seed) % (int)sizeof bytes);
        int status;

        for (size_t k = 0; k < length; k++)
            bytes[k] = alphabet[rand_r(&seed) % (int)(sizeof alphabet)];
        status = parse(bytes, length).status;
        CU_ASSERT(status == 0 || status == 200 || (status >= 400 && status <= 505));
    }
}

static const struct suite_case cases[] = {
    {"whole heads", whole_heads}, {"every prefix", every_prefix}, {"a NUL is no end", a_nul_is_no_end},
    {"too long", too_long},       {"random bytes", random_bytes},
};

int main(int argc, char **argv)
{
    return suite_main("status_request", cases, SUITE_COUNT(cases), argc, argv);
}
