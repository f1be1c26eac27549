/*
 * test_http_variables.c: what an application is told of a request to the direct listener: RFC 3875's variables, and of
 * the fields of the head no more than it may believe. Case C100.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "deadline.h"
#include "direct.h"
#include "http.h"
#include "suite.h"

#define HOST "Host: h\r\n"

static struct http_answer answer;
static struct http http;

static void ask(const char *fields)
{
    char text[2000];

    direct_shared();
    snprintf(text, sizeof text, "GET /params HTTP/1.1\r\n" HOST "%s\r\n", fields);
    http_ask(&answer, direct_address(), text);
    SUITE_CHECK(answer.status == 200, "status %d", answer.status);
}

static int count_variables(void)
{
    int count = 0;

    for (size_t i = 0; i < answer.body.length; i++)
        count += answer.body.data[i] == '\0';
    return count;
}

static int own_port(void)
{
    struct sockaddr_in own;
    socklen_t size = sizeof own;

    getsockname(http.link->fd, (struct sockaddr *)&own, &size);
    return ntohs(own.sin_port);
}

/* -- All of them ------------------------------------------------------------------------------------------------------
 */

static const char whole_request[] = "POST /params/a%20b//../c?x=1&y=%2F HTTP/1.1\r\n"
                                    "Host: Example.org:8080\r\n"
                                    "User-Agent: test/1\r\n"
                                    "Accept: text/html\r\n"
                                    "Content-Type: text/plain; charset=utf-8\r\n"
                                    "Content-Length: 3\r\n"
                                    "X-Some-Thing: some  thing\r\n"
                                    "\r\n"
                                    "abc";

static const char *const whole[] = {
    "GATEWAY_INTERFACE=CGI/1.1",
    "SERVER_SOFTWARE=millrace/" MR_VERSION,
    "SERVER_PROTOCOL=HTTP/1.1",
    "SERVER_NAME=Example.org",
    "REQUEST_METHOD=POST",
    "REQUEST_SCHEME=http",
    "REQUEST_URI=/params/a%20b//../c?x=1&y=%2F",
    "QUERY_STRING=x=1&y=%2F",
    "SCRIPT_NAME=/params",
    "PATH_INFO=/c",
    "CONTENT_TYPE=text/plain; charset=utf-8",
    "CONTENT_LENGTH=3",
    "REMOTE_USER=",
    "HTTP_HOST=Example.org:8080",
    "HTTP_USER_AGENT=test/1",
    "HTTP_ACCEPT=text/html",
    "HTTP_CONTENT_TYPE=text/plain; charset=utf-8",
    "HTTP_CONTENT_LENGTH=3",
    "HTTP_X_SOME_THING=some  thing",
};

static void check_whole(const char *remote_address, int remote_port, const char *server_address,
                        const char *server_port)
{
    const char *names[] = {"REMOTE_ADDR", "REMOTE_PORT", "SERVER_ADDR", "SERVER_PORT"};
    char port[16];
    const char *values[] = {remote_address, port, server_address, server_port};

    snprintf(port, sizeof port, "%d", remote_port);
    http_send(&http, whole_request);
    http_read(&answer, &http);
    CU_ASSERT_EQUAL_FATAL(answer.status, 200);
    for (size_t i = 0; i < SUITE_COUNT(whole); i++)
        SUITE_CHECK(http_has_variable(&answer, whole[i]), "no %s", whole[i]);
    for (size_t i = 0; i < SUITE_COUNT(names); i++) {
        const char *value = http_variable(&answer, names[i]);

        if (values[i] && (values[i] != port || remote_port))
            SUITE_CHECK(value && strcmp(value, values[i]) == 0, "%s is '%s', not '%s'", names[i],
                        value ? value : "(none)", values[i]);
    }
    SUITE_CHECK(count_variables() == (int)(SUITE_COUNT(whole) + SUITE_COUNT(names)), "%d variables", count_variables());
}

static void over_tcp(void)
{
    direct_shared();
    http_open(&http, direct_address());
    for (int i = 0; i < 3; i++) /* the first of a connection, and later ones */
        check_whole("127.0.0.1", own_port(), "127.0.0.1", strchr(direct_address(), ':') + 1);
    http_close(&http);
}

/* There is no address and no port, but the same names. */
static void over_a_unix_socket(void)
{
    direct_shared();
    http_open(&http, direct_local());
    check_whole(NULL, 0, NULL, NULL);
    http_close(&http);
}

/* /env shows the same, sorted. */
static void shown_by_env(void)
{
    const char *previous = "", *line;

    direct_shared();
    http_ask(&answer, direct_address(), "GET /env/x?y HTTP/1.0\r\nX-Line: z\r\n\r\n");
    CU_ASSERT_EQUAL_FATAL(answer.status, 200);
    line = bytes_text(&answer.body);
    CU_ASSERT(strstr(line, "\nHTTP_X_LINE=z\n") && strstr(line, "\nPATH_INFO=/x\n") &&
              strstr(line, "\nQUERY_STRING=y\n"));
    CU_ASSERT(strstr(line, "\nSERVER_PROTOCOL=HTTP/1.0\n") && !strstr(line, "HTTP_HOST"));
    CU_ASSERT(strstr(line, "\nSERVER_NAME=127.0.0.1\n") !=
              NULL); /* no host is named: the address that was connected to */
    for (; *line; line = strchr(line, '\n') + 1) {
        SUITE_CHECK(strcspn(line, "=\n") > 0 && line[strcspn(line, "=\n")] == '=', "a line: %.60s", line);
        SUITE_CHECK(strncmp(previous, line, strcspn(line, "=")) <= 0, "not sorted: %.60s", line);
        previous = line;
    }
}

static void nothing_is_left_of_the_request_before(void)
{
    int count;

    direct_shared();
    http_open(&http, direct_address());
    http_send(&http, "GET /params HTTP/1.1\r\n" HOST "\r\n");
    http_read(&answer, &http);
    count = count_variables();
    http_send(&http, whole_request);
    http_read(&answer, &http);
    http_send(&http, "GET /params HTTP/1.1\r\n" HOST "\r\n");
    http_read(&answer, &http);
    CU_ASSERT_EQUAL(count_variables(), count);
    CU_ASSERT(http_has_variable(&answer, "CONTENT_TYPE=") && http_has_variable(&answer, "CONTENT_LENGTH="));
    CU_ASSERT(http_has_variable(&answer, "QUERY_STRING="));
    http_close(&http);
}

/* -- Fields -----------------------------------------------------------------------------------------------------------
 */

/* Programs take their proxy from HTTP_PROXY. */
static void no_http_proxy(void)
{
    static const char *const fields[] = {"Proxy: http://evil/\r\n", "pROXY: http://evil/\r\n", "PROXY:http://evil/\r\n",
                                         "Proxy: http://evil/\r\nProxy: http://evil/\r\n",
                                         "Proxy:\r\nX-Proxy: kept\r\nProxy-X: kept\r\n"};

    for (size_t i = 0; i < SUITE_COUNT(fields); i++) {
        ask(fields[i]);
        SUITE_CHECK(!http_variable(&answer, "HTTP_PROXY"), "%.30s: HTTP_PROXY=%s", fields[i],
                    http_variable(&answer, "HTTP_PROXY"));
    }
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_PROXY=kept") && http_has_variable(&answer, "HTTP_PROXY_X=kept"));
}

/* Names that would become another's. */
static void names_that_would_pass_for_others(void)
{
    ask("X_Forwarded_For: 9.9.9.9\r\nX-Forwarded_For: 9.9.9.9\r\nX-Real.IP: 9.9.9.9\r\nContent_Length: 9\r\n"
        "Content_Type: evil\r\nH_ost: evil\r\n_: evil\r\nX~Y: evil\r\nX+Y: evil\r\n");
    CU_ASSERT(!http_variable(&answer, "HTTP_X_FORWARDED_FOR"));
    CU_ASSERT(!http_variable(&answer, "HTTP_X_REAL_IP"));
    CU_ASSERT(!memmem(answer.body.data, answer.body.length, "evil", 4) &&
              !memmem(answer.body.data, answer.body.length, "9.9.9.9", 7));
    CU_ASSERT(http_has_variable(&answer, "CONTENT_LENGTH=") && http_has_variable(&answer, "CONTENT_TYPE="));
    ask("X-Forwarded-For: 8.8.8.8\r\nX_Forwarded_For: 9.9.9.9\r\n");
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_FORWARDED_FOR=8.8.8.8"));
    CU_ASSERT(http_has_variable(&answer, "REMOTE_ADDR=127.0.0.1"));    /* nobody said that it is to be believed */
    ask("Remote-User: root\r\nRemote-Addr: 9.9.9.9\r\nHttps: on\r\n"); /* with HTTP_ in front they are harmless */
    CU_ASSERT(http_has_variable(&answer, "REMOTE_USER=") && http_has_variable(&answer, "HTTP_REMOTE_USER=root"));
    CU_ASSERT(!http_variable(&answer, "HTTPS"));
}

static void repeated_fields_become_one(void)
{
    char fields[2000] = "";

    ask("Accept: a\r\nX: 1\r\nACCEPT: b\r\nCookie: c=1\r\naccept: c\r\ncookie: d=2\r\nX-Empty:\r\nX-Empty:\r\n");
    CU_ASSERT(http_has_variable(&answer, "HTTP_ACCEPT=a, b, c"));
    CU_ASSERT(http_has_variable(&answer, "HTTP_COOKIE=c=1; d=2"));
    CU_ASSERT(http_has_variable(&answer, "HTTP_X=1"));
    CU_ASSERT(http_has_variable(&answer, "HTTP_X_EMPTY=, "));
    for (int i = 0; i < 100; i++)
        snprintf(fields + strlen(fields), sizeof fields - strlen(fields), "Many: %d\r\n", i);
    ask(fields);
    CU_ASSERT(http_variable(&answer, "HTTP_MANY") && strlen(http_variable(&answer, "HTTP_MANY")) == 190 + 2 * 99);
}

/* Two names in turns, and others between: each has its own values, in order. */
static void repeated_fields_in_turns(void)
{
    char fields[2000] = "", odd[600] = "HTTP_ODD=", even[600] = "HTTP_EVEN=";

    for (int i = 0; i < 100; i++) {
        char *list = i % 2 ? odd : even;

        snprintf(fields + strlen(fields), sizeof fields - strlen(fields), "%s: %d\r\n", i % 2 ? "Odd" : "Even", i);
        if (i % 10 == 0)
            snprintf(fields + strlen(fields), sizeof fields - strlen(fields), "X%d: x\r\n", i);
        snprintf(list + strlen(list), 600 - strlen(list), i < 2 ? "%d" : ", %d", i);
    }
    ask(fields);
    CU_ASSERT(http_has_variable(&answer, odd) && http_has_variable(&answer, even));
    CU_ASSERT(http_has_variable(&answer, "HTTP_X90=x"));
}

/* A long value whose name comes again and again does not take its length each time, while the body is awaited. */
static void repeated_fields_take_no_memory(void)
{
    enum { REQUESTS = 40 };
    static char request[32000];
    struct server *server = direct_shared();
    long before_kb, grown_kb;

    ask("");
    before_kb = server_sum(server, process_resident_kb);
    snprintf(request, sizeof request, "POST /params HTTP/1.1\r\n" HOST "Content-Length: 9\r\nA: %028000d\r\n", 0);
    for (int i = 0; i < 120; i++)
        strcat(request, "A:\r\n");
    strcat(request, "\r\nbody");
    for (int i = 0; i < REQUESTS; i++) {
        http_open(&http, direct_local());
        http_send(&http, request);
        http_wait_taken(&http);
    }
    grown_kb = server_sum(server, process_resident_kb) - before_kb;
    SUITE_CHECK(SERVER_SANITIZED || grown_kb < REQUESTS * 1024L, "memory grew by %ld KiB", grown_kb);
    link_free_all();
}

/* Every field once, however the names look to a hash. */
static void many_different_fields(void)
{
    char fields[2000] = "", pair[40];

    for (int i = 0; i < 120; i++)
        snprintf(fields + strlen(fields), sizeof fields - strlen(fields), "X%d: v%d\r\n", i * 7, i);
    ask(fields);
    for (int i = 0; i < 120; i++) {
        snprintf(pair, sizeof pair, "HTTP_X%d=v%d", i * 7, i);
        SUITE_CHECK(http_has_variable(&answer, pair), "no %s", pair);
    }
}

static void leaves_nothing(void)
{
    direct_check_settled();
}

static const struct suite_case cases[] = {
    {"all variables over TCP", over_tcp},
    {"all variables over a unix socket", over_a_unix_socket},
    {"shown by /env", shown_by_env},
    {"nothing is left of the request before", nothing_is_left_of_the_request_before},
    {"no HTTP_PROXY", no_http_proxy},
    {"names that would pass for others", names_that_would_pass_for_others},
    {"repeated fields become one", repeated_fields_become_one},
    {"repeated fields in turns", repeated_fields_in_turns},
    {"repeated fields take no memory", repeated_fields_take_no_memory},
    {"many different fields", many_different_fields},
    {"variables leave nothing behind", leaves_nothing},
};

int main(int argc, char **argv)
{
    return suite_main("http_variables", cases, SUITE_COUNT(cases), argc, argv);
}
