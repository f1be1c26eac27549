/*
 * test_http_requests.c: request lines, hosts and paths on the direct listener: what is right is understood as it was
 * meant, everything else refused whole. Cases C55, C56, C103.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadline.h"
#include "direct.h"
#include "front.h"
#include "http.h"
#include "refusal.h"
#include "suite.h"

#define HOST "Host: h\r\n"
#define END  "\r\n"

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

/* -- Request lines --------------------------------------------------------------------------------------------------
 */

static void good_request_lines(void)
{
    static const struct {
        const char *text, *variable;
    } good[] = {
        {"GET /params HTTP/1.1\r\n" HOST END, "REQUEST_METHOD=GET"},
        {"GET /params HTTP/1.1\r\n" HOST END, "SERVER_PROTOCOL=HTTP/1.1"},
        {"GET /params HTTP/1.0\r\n" END, "SERVER_PROTOCOL=HTTP/1.0"},
        {"GET http://other/params/x?q HTTP/1.1\r\n" HOST END, "REQUEST_URI=/params/x?q"},
        {"GET http://other/params HTTP/1.1\r\n" HOST END, "SERVER_NAME=other"},
        {"GET HTTP://other:81/params HTTP/1.1\r\n" HOST END, "SCRIPT_NAME=/params"},
        {"GET /params/a/b?q=1&r HTTP/1.1\r\n" HOST END, "QUERY_STRING=q=1&r"},
        {"PUT /params HTTP/1.1\r\n" HOST END, "REQUEST_METHOD=PUT"},
        {"DELETE /params HTTP/1.1\r\n" HOST END, "REQUEST_METHOD=DELETE"},
        {"PATCH /params HTTP/1.1\r\n" HOST END, "REQUEST_METHOD=PATCH"},
        {"OPTIONS /params HTTP/1.1\r\n" HOST END, "REQUEST_METHOD=OPTIONS"},
        {"PROPFIND /params HTTP/1.1\r\n" HOST END, "REQUEST_METHOD=PROPFIND"},
        {"\r\nGET /params?1 HTTP/1.1\r\n" HOST END, "QUERY_STRING=1"},
        {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nGET /params?10 HTTP/1.1\r\n" HOST END, "QUERY_STRING=10"},
    };

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(good); i++) {
        ask(good[i].text);
        SUITE_CHECK(answer.status == 200, "%.40s: status %d", good[i].text, answer.status);
        SUITE_CHECK(http_has_variable(&answer, good[i].variable), "%.60s: no %s", good[i].text, good[i].variable);
    }
    ask("GET http://other HTTP/1.1\r\n" HOST END); /* the path / */
    CU_ASSERT_EQUAL(answer.status, 404);
}

static void bad_request_lines(void)
{
    static const struct refusal bad[] = {
        {"no version", "GET /hello\r\n" HOST END, 0, 400},
        {"no version, no fields", "GET /hello\r\n" END, 0, 400},
        {"1.2", "GET /hello HTTP/1.2\r\n" HOST END, 0, 505},
        {"1.9", "GET /hello HTTP/1.9\r\n" HOST END, 0, 505},
        {"2.0", "GET /hello HTTP/2.0\r\n" HOST END, 0, 505},
        {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, 505},
        {"0.9", "GET /hello HTTP/0.9\r\n" HOST END, 0, 505},
        {"01.1", "GET /hello HTTP/01.1\r\n" HOST END, 0, 400},
        {"1.01", "GET /hello HTTP/1.01\r\n" HOST END, 0, 400},
        {"1.10", "GET /hello HTTP/1.10\r\n" HOST END, 0, 400},
        {"1.", "GET /hello HTTP/1.\r\n" HOST END, 0, 400},
        {"1", "GET /hello HTTP/1\r\n" HOST END, 0, 400},
        {"+1.1", "GET /hello HTTP/+1.1\r\n" HOST END, 0, 400},
        {"letters for the version", "GET /hello HTTP/a.b\r\n" HOST END, 0, 400},
        {"http in lower case", "GET /hello http/1.1\r\n" HOST END, 0, 400},
        {"HTTPS", "GET /hello HTTPS/1.1\r\n" HOST END, 0, 400},
        {"a blank at the end", "GET /hello HTTP/1.1 \r\n" HOST END, 0, 400},
        {"a blank within the version", "GET /hello HTTP/ 1.1\r\n" HOST END, 0, 400},
        {"a fourth word", "GET /hello there HTTP/1.1\r\n" HOST END, 0, 400},
        {"two blanks before the version", "GET /hello  HTTP/1.1\r\n" HOST END, 0, 400},
        {"two blanks before the target", "GET  /hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"a tab before the version", "GET /hello\tHTTP/1.1\r\n" HOST END, 0, 400},
        {"a tab before the target", "GET\t/hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"a blank at the front", " GET /hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"no method", "/hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"no target", "GET HTTP/1.1\r\n" HOST END, 0, 400},
        {"an empty target", "GET  HTTP/1.1\r\n" HOST END, 0, 400},
        {"one word", "GET\r\n" HOST END, 0, 400},
        {"a TLS client", REFUSAL_BYTES("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n" HOST END), 400},
        {"a method with a tab", "G\tET /hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"a method with a bracket", "G(T /hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"a method with a NUL", REFUSAL_BYTES("G\0ET /hello HTTP/1.1\r\n" HOST END), 400},
        {"a method with an 8-bit byte", "G\xc3\xa9T /hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"a method in lower case", "get /hello HTTP/1.1\r\n" HOST END, 0, 501},
        {"a method in both cases", "Get /hello HTTP/1.1\r\n" HOST END, 0, 501},
    };

    check_refused(bad, SUITE_COUNT(bad));
}

static void bad_targets(void)
{
    static const struct refusal bad[] = {
        {"no slash", "GET hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"*", "GET * HTTP/1.1\r\n" HOST END, 0, 400},
        {"OPTIONS *", "OPTIONS * HTTP/1.1\r\n" HOST END, 0, 400},
        {"another scheme", "GET ftp://h/hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"half a scheme", "GET http:/h/hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"a scheme without a host", "GET http:///hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"a user in front of the host", "GET http://u@h/hello HTTP/1.1\r\n" HOST END, 0, 400},
        {"authority form", "GET h:80 HTTP/1.1\r\n" HOST END, 0, 400},
        {"a fragment", "GET /hello#part HTTP/1.1\r\n" HOST END, 0, 400},
        {"a fragment in the query", "GET /hello?q#part HTTP/1.1\r\n" HOST END, 0, 400},
        {"a control byte", "GET /hel\x01lo HTTP/1.1\r\n" HOST END, 0, 400},
        {"DEL", "GET /hel\x7flo HTTP/1.1\r\n" HOST END, 0, 400},
        {"a tab in the query", "GET /hello?a\tb HTTP/1.1\r\n" HOST END, 0, 400},
        {"a NUL", REFUSAL_BYTES("GET /hello\0 HTTP/1.1\r\n" HOST END), 400},
        {"a NUL in the query", REFUSAL_BYTES("GET /hello?\0 HTTP/1.1\r\n" HOST END), 400},
        {"a CR", "GET /hello\r HTTP/1.1\r\n" HOST END, 0, 400},
    };

    check_refused(bad, SUITE_COUNT(bad));
}

/* Neither is an application's: one would make a tunnel of the connection, the other shows what a proxy added. */
static void connect_and_trace(void)
{
    static const char *const texts[] = {"CONNECT h:443 HTTP/1.1\r\n" HOST END, "TRACE /hello HTTP/1.1\r\n" HOST END};

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(texts); i++) {
        ask(texts[i]);
        SUITE_CHECK(answer.status == 405, "%.20s: status %d", texts[i], answer.status);
        SUITE_CHECK(http_field(&answer, "Allow"), "%.20s: no Allow (RFC 9110 section 15.5.6)", texts[i]);
    }
}

/* -- Host -----------------------------------------------------------------------------------------------------------
 */

#define WITH_HOST(fields) "GET /hello HTTP/1.1\r\n" fields END

static void good_hosts(void)
{
    static const char *const good[] = {"h",         "localhost", "LOCALHOST",   "h:8080", "127.0.0.1:80",
                                       "a.b-c_d~e", "[::1]",     "[::1]:65535", "h.",     "xn--bcher-kva.example"};
    char text[200];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(good); i++) {
        snprintf(text, sizeof text, "GET /params HTTP/1.1\r\nhOST: \t%s \t\r\n\r\n", good[i]);
        ask(text);
        SUITE_CHECK(answer.status == 200, "Host: %s: status %d", good[i], answer.status);
        snprintf(text, sizeof text, "HTTP_HOST=%s", good[i]);
        SUITE_CHECK(http_has_variable(&answer, text), "no %s", text);
    }
    ask("GET /hello HTTP/1.0\r\n\r\n");
    CU_ASSERT_EQUAL(answer.status, 200);
}

static void bad_hosts(void)
{
    static const struct refusal bad[] = {
        {"none", WITH_HOST("X: y\r\n"), 0, 400},
        {"no field at all", "GET /hello HTTP/1.1\r\n\r\n", 0, 400},
        {"none with an absolute target", "GET http://h/hello HTTP/1.1\r\n\r\n", 0, 400},
        {"two equal ones", WITH_HOST("Host: h\r\nHost: h\r\n"), 0, 400},
        {"two different ones", WITH_HOST("Host: h\r\nX: y\r\nhost: i\r\n"), 0, 400},
        {"two with an absolute target", "GET http://h/hello HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 0, 400},
        {"an empty one", WITH_HOST("Host:\r\n"), 0, 400},
        {"blanks", WITH_HOST("Host:  \t \r\n"), 0, 400},
        {"a blank within", WITH_HOST("Host: a b\r\n"), 0, 400},
        {"a slash", WITH_HOST("Host: a/b\r\n"), 0, 400},
        {"a URL", WITH_HOST("Host: http://h\r\n"), 0, 400},
        {"a user", WITH_HOST("Host: u@h\r\n"), 0, 400},
        {"a port of letters", WITH_HOST("Host: h:80x\r\n"), 0, 400},
        {"a negative port", WITH_HOST("Host: h:-80\r\n"), 0, 400},
        {"two ports", WITH_HOST("Host: h:80:81\r\n"), 0, 400},
        {"a port alone", WITH_HOST("Host: :80\r\n"), 0, 400},
        {"an open bracket", WITH_HOST("Host: [::1\r\n"), 0, 400},
        {"empty brackets", WITH_HOST("Host: []\r\n"), 0, 400},
        {"text behind brackets", WITH_HOST("Host: [::1]x\r\n"), 0, 400},
        {"a quotation mark", WITH_HOST("Host: h\"\r\n"), 0, 400},
        {"a backslash", WITH_HOST("Host: h\\i\r\n"), 0, 400},
        {"an 8-bit byte", WITH_HOST("Host: h\xe9\r\n"), 0, 400},
    };

    check_refused(bad, SUITE_COUNT(bad));
}

/* -- Paths ----------------------------------------------------------------------------------------------------------
 */

static const struct path {
    const char *target;
    const char *info; /* PATH_INFO of /params, "" none; NULL: see status */
    int status;
} paths[] = {
    {"/params", "", 200},
    {"/params/", "/", 200},
    {"/params/a/b", "/a/b", 200},
    {"//params///a//", "/a/", 200},
    {"/x/../params/a", "/a", 200},
    {"/./params/./a/.", "/a/", 200},
    {"/params/a/..", "/", 200},
    {"/params/a/../b", "/b", 200},
    {"/params/a/b/../../c", "/c", 200},
    {"/params//..//params/a", "/a", 200},
    {"/params/...", "/...", 200},
    {"/params/.a/..b/c..", "/.a/..b/c..", 200},
    {"/%70arams/a%62c", "/abc", 200},
    {"/params%2fa%2F%2fb", "/a/b", 200},
    {"/params/a/%2e%2E/b", "/b", 200},
    {"/params/a%2f..%2fb", "/b", 200},
    {"/params/%2e", "/", 200},
    {"/params/%252e%252e/hello", "/%2e%2e/hello", 200},
    {"/params/%2500", "/%00", 200},
    {"/params/a%3fb%23c%25d", "/a?b#c%d", 200},
    {"/params/a%20b%c3%a9", "/a b\xc3\xa9", 200},
    {"/params/a+b;c,d:e@f&g=h", "/a+b;c,d:e@f&g=h", 200},
    {"/params/\xc3\xa9", "/\xc3\xa9", 200},
    {"/params/a?../../x%00%zz", "/a", 200},
    {"/params?", "", 200},
    {"/params/a\\..\\b", "/a\\..\\b", 200},
    {"/", NULL, 404},
    {"/params/..", NULL, 404},
    {"//etc/passwd", NULL, 404},
    {"/paramsx", NULL, 404},
    {"/Params", NULL, 404},
    {"/params/..%2f..%2fhello", NULL, 400},
    {"/params/%2e%2e/%2e%2e/hello", NULL, 400},
    {"/..", NULL, 400},
    {"/.", NULL, 404},
    {"/../params", NULL, 400},
    {"/params/%0", NULL, 400},
    {"/params/a%00b", NULL, 400},
};

/* The head was understood: its connection may be kept, and then the next request is the next one. */
static void bad_paths(void)
{
    static const char *const bad[] = {
        "/params/%00", "/params/a%00b",     "/params/%4",         "/params/%",        "/params/%zz",
        "/params/%0g", "/../etc/passwd",    "/%2e%2e/etc/passwd", "/..%2fetc/passwd", "/params/../../etc/passwd",
        "/..",         "http://h/../hello", "/%2E./hello",        "//..//etc/passwd", "/params/%2e%2e%2f%2e%2e%2fetc",
    };
    static struct http http;
    char text[200];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(bad); i++) {
        snprintf(text, sizeof text,
                 "POST %s HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nGETGET /params?next HTTP/1.1\r\n" HOST END,
                 bad[i]);
        http_open(&http, direct_address());
        http_send(&http, text);
        http_read(&answer, &http);
        SUITE_CHECK(answer.status == 400, "%s: status %d", bad[i], answer.status);
        if (answer.closes) {
            http_check_closes(&answer, &http, bad[i]);
        } else {
            http_read(&answer, &http);
            SUITE_CHECK(http_has_variable(&answer, "QUERY_STRING=next"), "%s: then %d", bad[i], answer.status);
        }
        http_close(&http);
    }
}

static void paths_are_normalised(void)
{
    char text[200];

    direct_shared();
    for (size_t i = 0; i < SUITE_COUNT(paths); i++) {
        const char *info;

        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST END, paths[i].target);
        ask(text);
        SUITE_CHECK(answer.status == paths[i].status, "%s: status %d", paths[i].target, answer.status);
        if (!paths[i].info)
            continue;
        info = http_variable(&answer, "PATH_INFO");
        SUITE_CHECK(strcmp(info ? info : "", paths[i].info) == 0, "%s: PATH_INFO '%s'", paths[i].target, info);
        SUITE_CHECK(http_has_variable(&answer, "SCRIPT_NAME=/params"), "%s: SCRIPT_NAME", paths[i].target);
        snprintf(text, sizeof text, "REQUEST_URI=%s", paths[i].target);
        SUITE_CHECK(http_has_variable(&answer, text), "%s: another REQUEST_URI", paths[i].target);
        snprintf(text, sizeof text, "QUERY_STRING=%s",
                 strchr(paths[i].target, '?') ? strchr(paths[i].target, '?') + 1 : "");
        SUITE_CHECK(http_has_variable(&answer, text), "%s: not %s", paths[i].target, text);
    }
}

static const char *copy_of_variable(struct http_answer *of, const char *name, char *room, size_t size)
{
    const char *value = http_variable(of, name);

    snprintf(room, size, "%s", value ? value : "");
    return room;
}

/* The same applications behind both: the same path means the same to them. */
static void paths_are_those_of_nginx(void)
{
    static const char *const names[] = {"SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "REQUEST_URI"};
    static struct http_answer other;
    struct front *front = front_start(direct_shared());
    char text[200], ours[200], theirs[200];

    for (size_t i = 0; i < SUITE_COUNT(paths); i++) {
        struct front_answer through = {.status = 0};

        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST END, paths[i].target);
        ask(text);
        front_ask(&through, link_new(front->address), paths[i].target, NULL, 0);
        other.body = through.body;
        SUITE_CHECK(through.status == answer.status, "%s: %d, through nginx %d", paths[i].target, answer.status,
                    through.status);
        for (size_t n = 0; paths[i].info && n < SUITE_COUNT(names); n++) {
            SUITE_CHECK(strcmp(copy_of_variable(&answer, names[n], ours, sizeof ours),
                               copy_of_variable(&other, names[n], theirs, sizeof theirs)) == 0,
                        "%s: %s is '%s', through nginx '%s'", paths[i].target, names[n], ours, theirs);
        }
        front_fini(&through);
    }
}

static void leaves_nothing(void)
{
    direct_check_settled();
}

static const struct suite_case cases[] = {
    {"good request lines", good_request_lines},
    {"bad request lines are refused", bad_request_lines},
    {"bad targets are refused", bad_targets},
    {"CONNECT and TRACE are not allowed", connect_and_trace},
    {"good hosts", good_hosts},
    {"bad hosts are refused", bad_hosts},
    {"paths are decoded and normalised", paths_are_normalised},
    {"bad paths are refused", bad_paths},
    {"requests leave nothing behind", leaves_nothing},
    {"paths mean what they mean behind nginx", paths_are_those_of_nginx}, /* which keeps its connections */
};

int main(int argc, char **argv)
{
    return suite_main("http_requests", cases, SUITE_COUNT(cases), argc, argv);
}
