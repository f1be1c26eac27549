/*
 * test_http_origin.c: whose request it is: the client's address as the connection shows it, as a load balancer says it
 * with the PROXY protocol, and as trusted proxies say it in X-Forwarded lines; also when another worker goes on with
 * the connection.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "http.h"
#include "suite.h"

#define HOST "Host: h\r\n"
#define ASK  "GET /params HTTP/1.1\r\n" HOST "\r\n"
#define V1   "PROXY TCP4 192.0.2.7 198.51.100.1 4711 80\r\n"

static struct http http;
static struct http_answer answer;

static void expect(const char *pair, const char *what)
{
    SUITE_CHECK(answer.status == 200, "%s: status %d", what, answer.status);
    SUITE_CHECK(http_has_variable(&answer, pair), "%s: no %s in %s", what, pair, (const char *)answer.body.data);
}

static void ask(const char *address, const char *text)
{
    http_ask(&answer, address, text);
}

/* -- as the connection shows it ---------------------------------------------------------------------------------------
 */

static void addresses_of_the_connection(void)
{
    char pair[64];

    direct_shared();
    ask(direct_address(), ASK);
    expect("REMOTE_ADDR=127.0.0.1", "TCP");
    snprintf(pair, sizeof pair, "SERVER_PORT=%s", strchr(direct_address(), ':') + 1);
    expect(pair, "TCP");
    CU_ASSERT(atoi(http_variable(&answer, "REMOTE_PORT")) > 0);
    ask(direct_local(), ASK);
    expect("REMOTE_ADDR=unix:", "a unix socket");
    expect("REMOTE_PORT=", "a unix socket");
}

/* -- the PROXY protocol -----------------------------------------------------------------------------------------------
 */

static void proxy_version_1(void)
{
    direct_start("proxy_protocol_from = { \"127.0.0.0/8\" }");
    ask(direct_address(), V1 ASK);
    expect("REMOTE_ADDR=192.0.2.7", "version 1");
    expect("REMOTE_PORT=4711", "version 1");
    expect("SERVER_ADDR=198.51.100.1", "version 1");
    expect("SERVER_PORT=80", "version 1");
    ask(direct_address(), "PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n" ASK);
    expect("REMOTE_ADDR=2001:db8::7", "version 1, IPv6");
    ask(direct_address(), "PROXY UNKNOWN\r\n" ASK);
    expect("REMOTE_ADDR=127.0.0.1", "version 1, unknown");
    ask(direct_local(), ASK); /* not in that network */
    expect("REMOTE_ADDR=unix:", "a unix socket");
}

static void proxy_version_2(void)
{
    static const unsigned char head[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c"
                                        "\xc0\x00\x02\x07\xc6\x33\x64\x01\x12\x67\x00\x50";
    static const unsigned char local[] = "\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00";

    direct_start("proxy_protocol_from = { \"unix\" }");
    http_open(&http, direct_local());
    http_send_cut(&http, head, sizeof head - 1, 1); /* byte by byte */
    for (int i = 0; i < 3; i++) {                   /* once for the connection */
        http_send(&http, ASK);
        http_read(&answer, &http);
        expect("REMOTE_ADDR=192.0.2.7", "version 2");
        expect("REMOTE_PORT=4711", "version 2");
    }
    http_close(&http);
    http_open(&http, direct_local());
    http_send_bytes(&http, local, sizeof local - 1);
    http_send(&http, ASK);
    http_read(&answer, &http);
    expect("REMOTE_ADDR=unix:", "version 2, the proxy itself");
    http_close(&http);
}

/* Who has to say it and does not is nobody's client; who says it unasked cannot be believed. */
static void proxy_header_missing_or_unasked(void)
{
    static const char *const bad[] = {ASK, "PROXY TCP4 192.0.2.7\r\n" ASK,
                                      "PROXY TCP4 192.0.2.7 198.51.100.1 04711 80\r\n" ASK, "\r\n" V1 ASK};
    struct server *server = direct_start("proxy_protocol_from = { \"127.0.0.1\" }");

    for (size_t i = 0; i < SUITE_COUNT(bad); i++) {
        http_open(&http, direct_address());
        http_send(&http, bad[i]);
        CU_ASSERT(link_closes(http.link, 5000));
        http_close(&http);
    }
    CU_ASSERT(server_log_count(server, "no PROXY protocol header") > 0);
    ask(direct_local(), V1 ASK);
    CU_ASSERT_EQUAL(answer.status, 400);
}

static void half_a_proxy_header(void)
{
    direct_start("proxy_protocol_from = { \"127.0.0.1\" }\nhead_timeout = 1");
    http_open(&http, direct_address());
    http_send(&http, "PROXY TCP4 192.0.2.7 ");
    CU_ASSERT(link_closes(http.link, 5000));
    http_close(&http);
    ask(direct_address(), V1 ASK);
    expect("REMOTE_ADDR=192.0.2.7", "afterwards");
}

/* -- X-Forwarded lines ------------------------------------------------------------------------------------------------
 */

#define FORWARDED                                                                                                      \
    "GET /params HTTP/1.1\r\n" HOST "X-Forwarded-For: 203.0.113.9, 192.0.2.7\r\nX-Forwarded-For: 10.1.2.3\r\n"         \
    "X-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example:8443\r\n\r\n"

static void forwarded_by_a_trusted_proxy(void)
{
    direct_start("forwarded_from = { \"127.0.0.1\", \"10.0.0.0/8\" }");
    ask(direct_address(), FORWARDED);
    expect("REMOTE_ADDR=192.0.2.7", "trusted"); /* what stands left of it is the client's own word */
    expect("REMOTE_PORT=", "trusted");
    expect("REQUEST_SCHEME=https", "trusted");
    expect("HTTPS=on", "trusted");
    expect("SERVER_NAME=shop.example", "trusted");
    expect("SERVER_PORT=8443", "trusted");
    expect("HTTP_X_FORWARDED_FOR=203.0.113.9, 192.0.2.7, 10.1.2.3", "trusted");
    ask(direct_address(),
        "GET /params HTTP/1.1\r\n" HOST "X_Forwarded_For: 6.6.6.6\r\nX-Forwarded-Proto: gopher\r\n\r\n");
    expect("REMOTE_ADDR=127.0.0.1", "another name");
    expect("REQUEST_SCHEME=http", "another scheme");
    CU_ASSERT_PTR_NULL(http_variable(&answer, "HTTPS"));
}

static void forwarded_by_anybody(void)
{
    direct_start("forwarded_from = { \"10.0.0.0/8\", \"unix\" }");
    ask(direct_address(), FORWARDED);
    expect("REMOTE_ADDR=127.0.0.1", "not trusted");
    expect("REQUEST_SCHEME=http", "not trusted");
    expect("SERVER_NAME=h", "not trusted");
    CU_ASSERT_PTR_NULL(http_variable(&answer, "HTTPS"));
    ask(direct_local(), FORWARDED);
    expect("REMOTE_ADDR=192.0.2.7", "a unix socket that is trusted");
}

/* The proxy in front of the load balancer is the one to be trusted. */
static void both_ways(void)
{
    direct_start("proxy_protocol_from = { \"127.0.0.1\" }\nforwarded_from = { \"192.0.2.0/24\" }");
    ask(direct_address(), V1 "GET /params HTTP/1.1\r\n" HOST "X-Forwarded-For: 203.0.113.9\r\n\r\n");
    expect("REMOTE_ADDR=203.0.113.9", "a trusted proxy behind the load balancer");
    ask(direct_address(), "PROXY TCP4 198.51.100.9 198.51.100.1 4711 80\r\n"
                          "GET /params HTTP/1.1\r\n" HOST "X-Forwarded-For: 203.0.113.9\r\n\r\n");
    expect("REMOTE_ADDR=198.51.100.9", "another behind the load balancer");
}

/* -- another worker goes on -------------------------------------------------------------------------------------------
 */

static void addresses_survive_a_reload(void)
{
    static const char options[] = "proxy_protocol_from = { \"unix\" }\nforwarded_from = { \"192.0.2.0/24\" }";
    struct server *server = direct_start(options);

    http_open(&http, direct_local());
    http_send(&http, V1 ASK);
    http_read(&answer, &http);
    expect("REMOTE_ADDR=192.0.2.7", "before");
    for (int i = 0; i < 2; i++) {
        const char *outcome = server_signal_outcome(server, i == 0 ? SIGHUP : SIGUSR2);

        SUITE_CHECK(strncmp(outcome, "ok", 2) == 0, "%s", outcome);
        if (i == 1)
            server_follow(server);
        http_send(&http, "GET /params HTTP/1.1\r\n" HOST "X-Forwarded-Proto: https\r\n\r\n");
        http_read(&answer, &http);
        expect("REMOTE_ADDR=192.0.2.7", "by the next worker");
        expect("SERVER_PORT=80", "by the next worker");
        expect("HTTPS=on", "by the next worker");
    }
    http_close(&http);
}

static const struct suite_case cases[] = {
    {"addresses of the connection", addresses_of_the_connection},
    {"PROXY protocol, version 1", proxy_version_1},
    {"PROXY protocol, version 2, in pieces", proxy_version_2},
    {"a PROXY header that is missing or unasked", proxy_header_missing_or_unasked},
    {"half a PROXY header has its time", half_a_proxy_header},
    {"X-Forwarded lines of a trusted proxy", forwarded_by_a_trusted_proxy},
    {"X-Forwarded lines of anybody", forwarded_by_anybody},
    {"X-Forwarded lines through a load balancer", both_ways},
    {"another worker knows the addresses", addresses_survive_a_reload},
};

int main(int argc, char **argv)
{
    return suite_main("http_origin", cases, SUITE_COUNT(cases), argc, argv);
}
