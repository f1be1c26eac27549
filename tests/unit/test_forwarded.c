/* test_forwarded.c: the X-Forwarded headers, honest and hostile. */
#include <CUnit/CUnit.h>

#include <string.h>

#include "guard.h"
#include "serve/forwarded.h"
#include "suite.h"

#define NAME_63 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"

static void clients(void)
{
    static const struct {
        const char *list, *client; /* NULL: none */
    } cases[] = {
        /* the peer is trusted: the last element is its word */
        {"203.0.113.7", "203.0.113.7"},
        {" 203.0.113.7\t", "203.0.113.7"},
        {"6.6.6.6, 203.0.113.7", "203.0.113.7"},
        {"6.6.6.6,203.0.113.7", "203.0.113.7"},
        {"10.0.0.9, 203.0.113.7", "203.0.113.7"},
        /* proxies before it, trusted as well */
        {"203.0.113.7, 10.0.0.9", "203.0.113.7"},
        {"203.0.113.7 ,\t10.0.0.9 , 10.0.0.8,10.0.0.7", "203.0.113.7"},
        {"6.6.6.6, 203.0.113.7, 10.0.0.9", "203.0.113.7"},
        {"203.0.113.7, 2001:db8::9", "203.0.113.7"},
        {"203.0.113.7, ::ffff:10.0.0.9", "203.0.113.7"},
        {"203.0.113.7, [2001:db8::9]:4711, 10.0.0.9:80", "203.0.113.7"},
        /* nobody but proxies: the farthest */
        {"10.0.0.9", "10.0.0.9"},
        {"10.0.0.9, 10.0.0.8", "10.0.0.9"},
        {"10.0.0.9:1, [2001:db8::9]", "10.0.0.9"},
        /* the forms of an address */
        {"203.0.113.7:50000", "203.0.113.7"},
        {"2001:db9::7", "2001:db9::7"},
        {"[2001:db9::7]", "2001:db9::7"},
        {"[2001:db9::7]:50000", "2001:db9::7"},
        {"2001:db9::7:5000", "2001:db9::7:5000"}, /* that is an address, too */
        {"::ffff:203.0.113.7", "::ffff:203.0.113.7"},
        {"[::ffff:203.0.113.7]:1", "::ffff:203.0.113.7"},
        /* no address: what is left of it is nobody's word */
        {"203.0.113.7, unknown, 10.0.0.9", "10.0.0.9"},
        {"6.6.6.6, _hidden, 203.0.113.7, 10.0.0.9", "203.0.113.7"},
        {"6.6.6.6, , 10.0.0.9", "10.0.0.9"},
        {"6.6.6.6,,10.0.0.9", "10.0.0.9"},
        {",10.0.0.9", "10.0.0.9"},
        {"6.6.6.6, localhost, 10.0.0.9, 10.0.0.8", "10.0.0.9"},
        {"6.6.6.6, 10.0.0.300, 10.0.0.9", "10.0.0.9"},
        {"", NULL},
        {" ", NULL},
        {",", NULL},
        {"10.0.0.9,", NULL},
        {"10.0.0.9, ", NULL},
        {"unknown", NULL},
        {"unix:", NULL},
        {"unix", NULL},
        {"203.0.113", NULL},
        {"203.0.113.7.", NULL},
        {"203.0.113.07", NULL},
        {"0xcb.0.113.7", NULL},
        {"3405803783", NULL},
        {"203.0.113.7/32", NULL},
        {"203.0.113.7 10.0.0.9", NULL},
        {"203.0.113.7; 10.0.0.9", NULL},
        {"203.0.113.7:", NULL},
        {"2001:db9::7:50000", NULL},
        {"203.0.113.7:0", NULL},
        {"203.0.113.7:65536", NULL},
        {"203.0.113.7:+80", NULL},
        {"203.0.113.7: 80", NULL},
        {"203.0.113.7:80:80", NULL},
        {"203.0.113.7:http", NULL},
        {"[203.0.113.7]", NULL},
        {"[203.0.113.7]:80", NULL},
        {"[]", NULL},
        {"[]:80", NULL},
        {"[", NULL},
        {"]", NULL},
        {"[2001:db9::7", NULL},
        {"2001:db9::7]", NULL},
        {"[[2001:db9::7]]", NULL},
        {"[2001:db9::7]80", NULL},
        {"[2001:db9::7]:", NULL},
        {"[2001:db9::7]x:80", NULL},
        {"[2001:db9::7%lo]", NULL},
        {"fe80::1%eth0", NULL},
        {"\"203.0.113.7\"", NULL},
        {"for=203.0.113.7", NULL},
        {"'; DROP TABLE division; --", NULL},
        {"<script>", NULL},
        {"203.0.113.7\r\nX: y", NULL},
        {"1111:2222:3333:4444:5555:6666:7777:8888:9999", NULL},
        {"1234567890123456789012345678901234567890123456789012345678901234567890", NULL},
    };
    struct networks trusted = {.unix_sockets = true};
    CU_ASSERT_PTR_NULL(networks_add(&trusted, "10.0.0.0/8"));
    CU_ASSERT_PTR_NULL(networks_add(&trusted, "2001:db8::/32"));
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct span client = {0};
        bool found = forwarded_client(guard_copy(cases[i].list, strlen(cases[i].list)), &trusted, &client);
        SUITE_CHECK(found == (cases[i].client != NULL), "'%s': found %d", cases[i].list, found);
        SUITE_CHECK(!found || span_is(client, cases[i].client), "'%s': %.*s", cases[i].list, (int)client.length,
                    (const char *)client.at);
    }
}

static void bytes_that_no_text_holds(void)
{
    struct networks trusted = {0};
    struct span client;
    CU_ASSERT(!forwarded_client(span_of(NULL, 0), &trusted, &client));
    CU_ASSERT(!forwarded_client(guard_copy("203.0.113.7\0", 12), &trusted, &client));
    CU_ASSERT(!forwarded_client(guard_copy("203.0.113.7\0, 203.0.113.8\0", 26), &trusted, &client));
    CU_ASSERT(!forwarded_client(guard_copy("\xff\xfe\x80", 3), &trusted, &client));
    CU_ASSERT(forwarded_client(guard_copy("\0, 203.0.113.7", 14), &trusted, &client));
    CU_ASSERT(span_is(client, "203.0.113.7"));
    CU_ASSERT_PTR_NULL(forwarded_scheme(span_of(NULL, 0)));
    CU_ASSERT_PTR_NULL(forwarded_scheme(guard_copy("https\0", 6)));
    CU_ASSERT_EQUAL(forwarded_port(span_of(NULL, 0)), -1);
    CU_ASSERT_EQUAL(forwarded_port(guard_copy("80\0", 3)), -1);
}

/* A list as long as a head may be is walked once. */
static void long_lists(void)
{
    static char list[4096];
    struct networks trusted = {0};
    struct span client;
    CU_ASSERT_PTR_NULL(networks_add(&trusted, "1.1.1.1"));
    for (size_t i = 0; i + 8 <= sizeof list; i += 8)
        memcpy(list + i, "1.1.1.1,", 8);
    CU_ASSERT(forwarded_client(guard_copy(list, sizeof list - 1), &trusted, &client));
    CU_ASSERT(span_is(client, "1.1.1.1"));
    memcpy(list, "1.1.1.2", 7);
    CU_ASSERT(forwarded_client(guard_copy(list, sizeof list - 1), &trusted, &client));
    CU_ASSERT(span_is(client, "1.1.1.2"));
    memset(list, ',', sizeof list);
    CU_ASSERT(!forwarded_client(guard_copy(list, sizeof list), &trusted, &client));
}

static void schemes(void)
{
    static const struct {
        const char *value, *scheme;
    } cases[] = {
        {"http", "http"},
        {"https", "https"},
        {"HTTPS", "https"},
        {" https ", "https"},
        {"http, https", "https"},
        {"https, http", "http"}, /* what a client may have sent first does not count */
        {"https,evil", NULL},
        {"https,", NULL},
        {"https, ", NULL},
        {"", NULL},
        {"on", NULL},
        {"httpss", NULL},
        {"http:", NULL},
        {"https://", NULL},
        {"ftp", NULL},
        {"http\r\n", NULL},
        {"h", NULL},
        {"\"https\"", NULL},
        {"wss", NULL},
        {"https http", NULL},
        {"proto=https", NULL},
        {",https", "https"},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        const char *scheme = forwarded_scheme(guard_copy(cases[i].value, strlen(cases[i].value)));
        bool same = scheme == NULL || cases[i].scheme == NULL ? scheme == cases[i].scheme
                                                              : strcmp(scheme, cases[i].scheme) == 0;
        SUITE_CHECK(same, "'%s': %s", cases[i].value, scheme != NULL ? scheme : "none");
    }
}

static void hosts(void)
{
    static const struct {
        const char *value, *host; /* NULL: none */
        int port;
    } cases[] = {
        {"example.com", "example.com", 0},
        {"Example.COM:8080", "Example.COM", 8080},
        {"example.com.", "example.com.", 0},
        {"a", "a", 0},
        {"a_b.c-d.1", "a_b.c-d.1", 0},
        {"xn--bcher-kva.example", "xn--bcher-kva.example", 0},
        {"192.0.2.1", "192.0.2.1", 0},
        {"192.0.2.1:65535", "192.0.2.1", 65535},
        {"[2001:db8::1]", "[2001:db8::1]", 0},
        {"[2001:db8::1]:1", "[2001:db8::1]", 1},
        {"evil.example, good.example", "good.example", 0},
        {"evil.example:1 , good.example:2 ", "good.example", 2},
        {NAME_63 "." NAME_63 "." NAME_63 "." NAME_63, NAME_63 "." NAME_63 "." NAME_63 "." NAME_63, 0},
        {NAME_63 "." NAME_63 "." NAME_63 "." NAME_63 "a", NULL, 0},
        {"", NULL, 0},
        {"good.example,", NULL, 0},
        {"good.example, evil example", NULL, 0},
        {".", NULL, 0},
        {".example", NULL, 0},
        {"a..b", NULL, 0},
        {"-a", NULL, 0},
        {"a.-b", NULL, 0},
        {":80", NULL, 0},
        {"a:", NULL, 0},
        {"a:0", NULL, 0},
        {"a:65536", NULL, 0},
        {"a:99999999999999999999", NULL, 0},
        {"a:-1", NULL, 0},
        {"a:8o", NULL, 0},
        {"a:80:80", NULL, 0},
        {"a:80/x", NULL, 0},
        {"2001:db8::1", NULL, 0},
        {"[2001:db8::1", NULL, 0},
        {"[2001:db8::1]80", NULL, 0},
        {"[2001:db8::1].example", NULL, 0},
        {"[192.0.2.1]", NULL, 0},
        {"[example.com]", NULL, 0},
        {"[]", NULL, 0},
        {"user@example.com", NULL, 0},
        {"http://example.com", NULL, 0},
        {"example.com/path", NULL, 0},
        {"example.com?x", NULL, 0},
        {"example.com#x", NULL, 0},
        {"example.com\r\nSet-Cookie: a=b", NULL, 0},
        {"ex%61mple.com", NULL, 0},
        {"b\xc3\xbc"
         "cher.example",
         NULL, 0},
        {"*", NULL, 0},
        {"<script>alert(1)</script>", NULL, 0},
        {"\"example.com\"", NULL, 0},
        {"${jndi:ldap://evil.example}", NULL, 0},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct span host = span_text("before");
        int port = -2;
        bool found = forwarded_host(guard_copy(cases[i].value, strlen(cases[i].value)), &host, &port);
        SUITE_CHECK(found == (cases[i].host != NULL), "'%s': found %d", cases[i].value, found);
        SUITE_CHECK(span_is(host, found ? cases[i].host : "before"), "'%s': %.*s", cases[i].value, (int)host.length,
                    (const char *)host.at);
        SUITE_CHECK(port == (found ? cases[i].port : -2), "'%s': port %d", cases[i].value, port);
    }
}

static void ports(void)
{
    static const struct {
        const char *value;
        int port;
    } cases[] = {
        {"443", 443},    {"1", 1},        {"65535", 65535}, {" 80\t", 80},      {"1, 443", 443},
        {"x,443", 443},  {"", -1},        {"0", -1},        {"65536", -1},      {"443,", -1},
        {"443, x", -1},  {"-1", -1},      {"+443", -1},     {"443a", -1},       {"0x1bb", -1},
        {"4 43", -1},    {":443", -1},    {"443.0", -1},    {"4294967739", -1}, {"18446744073709552059", -1},
        {"\"443\"", -1}, {"443\r\n", -1},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        int port = forwarded_port(guard_copy(cases[i].value, strlen(cases[i].value)));
        SUITE_CHECK(port == cases[i].port, "'%s': %d", cases[i].value, port);
    }
}

static const struct suite_case cases[] = {
    {"clients", clients},       {"bytes that no text holds", bytes_that_no_text_holds},
    {"long lists", long_lists}, {"schemes", schemes},
    {"hosts", hosts},           {"ports", ports},
};

int main(int argc, char **argv)
{
    return suite_main("forwarded", cases, SUITE_COUNT(cases), argc, argv);
}
