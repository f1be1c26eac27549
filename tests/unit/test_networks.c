/* test_networks.c: networks of a configuration, read and looked up. */
#include <CUnit/CUnit.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/networks.h"
#include "suite.h"

static bool hold(const struct networks *networks, const char *text)
{
    struct sockaddr_in ip4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6};
    bool as_text = networks_hold_text(networks, span_text(text)), as_peer;
    if (inet_pton(AF_INET, text, &ip4.sin_addr) == 1) {
        as_peer = networks_hold(networks, (const struct sockaddr *)&ip4);
    } else {
        CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, text, &ip6.sin6_addr), 1);
        as_peer = networks_hold(networks, (const struct sockaddr *)&ip6);
    }
    SUITE_CHECK(as_peer == as_text, "%s: as a peer %d, as text %d", text, as_peer, as_text);
    return as_peer;
}

static void members(void)
{
    static const struct {
        const char *network, *address;
        bool held;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.2", false},
        {"127.0.0.1", "::ffff:127.0.0.1", true}, /* what an IPv6 socket sees of it */
        {"127.0.0.1", "::127.0.0.1", false},
        {"::ffff:127.0.0.1", "127.0.0.1", true},
        {"10.0.0.0/8", "10.0.0.0", true},
        {"10.0.0.0/8", "10.255.255.255", true},
        {"10.0.0.0/8", "9.255.255.255", false},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.0.0.0/8", "::ffff:10.1.2.3", true},
        {"::ffff:10.0.0.0/104", "10.1.2.3", true},
        {"192.0.2.128/25", "192.0.2.128", true},
        {"192.0.2.128/25", "192.0.2.127", false},
        {"192.0.2.128/26", "192.0.2.191", true},
        {"192.0.2.128/26", "192.0.2.192", false},
        {"192.0.2.6/31", "192.0.2.7", true},
        {"192.0.2.6/31", "192.0.2.8", false},
        {"192.0.2.6/32", "192.0.2.6", true},
        {"192.0.2.6/32", "192.0.2.7", false},
        {"0.0.0.0/0", "255.255.255.255", true},
        {"0.0.0.0/0", "::1", false},
        {"::ffff:0:0/96", "1.2.3.4", true},
        {"::ffff:0:0/96", "::1", false},
        {"::1", "::1", true},
        {"::1", "::2", false},
        {"::1", "127.0.0.1", false},
        {"::/0", "2001:db8::1", true},
        {"::/0", "10.0.0.1", false},
        {"::/0", "::ffff:10.0.0.1", false},
        {"::/64", "::ffff:10.0.0.1", false},
        {"2001:db8::/32", "2001:db8:ffff::1", true},
        {"2001:db8::/32", "2001:DB8:FFFF::1", true},
        {"2001:db8::/32", "2001:db9::", false},
        {"2001:db8::/33", "2001:db8:7fff::", true},
        {"2001:db8::/33", "2001:db8:8000::", false},
        {"2001:db8::5/128", "2001:db8::5", true},
        {"2001:db8::5/128", "2001:db8::4", false},
        {"unix", "127.0.0.1", false},
        {"unix", "::", false},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct networks networks = {0};
        const char *why = networks_add(&networks, cases[i].network);
        SUITE_CHECK(why == NULL, "%s: %s", cases[i].network, why);
        SUITE_CHECK(hold(&networks, cases[i].address) == cases[i].held, "%s in %s", cases[i].address, cases[i].network);
    }
}

/* Every prefix of both families, beside a comparison bit by bit. */
static void every_prefix(void)
{
    static const char *const ends[] = {"255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"};
    for (int family = 0; family < 2; family++) {
        int size = family == 0 ? 32 : 128;
        for (int bits = 0; bits <= size; bits++) {
            struct networks networks = {0};
            unsigned char address[16];
            char text[INET6_ADDRSTRLEN], network[INET6_ADDRSTRLEN + 4];
            int type = family == 0 ? AF_INET : AF_INET6;
            inet_pton(type, ends[family], address);
            for (int bit = bits; bit < size; bit++)
                address[bit / 8] &= (unsigned char)~(0x80 >> bit % 8);
            inet_ntop(type, address, text, sizeof text);
            snprintf(network, sizeof network, "%s/%d", text, bits);
            CU_ASSERT_PTR_NULL(networks_add(&networks, network));
            SUITE_CHECK(hold(&networks, ends[family]), "%s not in %s", ends[family], network);
            if (bits == 0)
                continue;
            address[(bits - 1) / 8] ^= (unsigned char)(0x80 >> (bits - 1) % 8);
            inet_ntop(type, address, text, sizeof text);
            SUITE_CHECK(!hold(&networks, text), "%s in %s", text, network);
        }
    }
}

static void lists(void)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr other = {.sa_family = AF_PACKET};
    struct networks networks = {0};
    CU_ASSERT(!hold(&networks, "127.0.0.1"));
    CU_ASSERT(!networks_hold(&networks, (const struct sockaddr *)&local));
    CU_ASSERT_PTR_NULL(networks_add(&networks, "0.0.0.0/0"));
    CU_ASSERT_PTR_NULL(networks_add(&networks, "::/0"));
    CU_ASSERT(!networks_hold(&networks, (const struct sockaddr *)&local));
    CU_ASSERT(!networks_hold(&networks, &other));
    CU_ASSERT_PTR_NULL(networks_add(&networks, "unix"));
    CU_ASSERT_PTR_NULL(networks_add(&networks, "unix"));
    CU_ASSERT(networks_hold(&networks, (const struct sockaddr *)&local));
    CU_ASSERT(hold(&networks, "192.0.2.1") && hold(&networks, "2001:db8::1"));
    CU_ASSERT_EQUAL(networks.count, 2);
}

static void no_networks(void)
{
    static const char *const bad[] = {"",
                                      "localhost",
                                      "10",
                                      "10.1",
                                      "10.1.2",
                                      "10.0.0.0.0",
                                      "10.0.0.256",
                                      "010.0.0.1",
                                      "10.0.0.0/",
                                      "10.0.0.0/x",
                                      "10.0.0.0/33",
                                      "10.0.0.0/-1",
                                      "10.0.0.0/+8",
                                      "10.0.0.0/08",
                                      "10.0.0.0/",
                                      "10.0.0.0/8 ",
                                      " 10.0.0.0",
                                      "10.0.0.0 /8",
                                      "10.0.0.0/ 8",
                                      "10.0.0.0/8/8",
                                      "/8",
                                      "10.0.0.1/",
                                      "10.0.0.1:80",
                                      "[::1]",
                                      "::1/129",
                                      "::1/1000",
                                      "::1%lo",
                                      ":::",
                                      "10.0.0.*",
                                      "*",
                                      "all",
                                      "unix:",
                                      "unix:/a",
                                      "UNIX",
                                      "2001:db8::/32,::1",
                                      "10.1.2.3/8",
                                      "10.0.0.1/31",
                                      "0.0.0.1/0",
                                      "2001:db8::1/32",
                                      "::1/0",
                                      "::1/127",
                                      "::ffff:10.0.0.0/8",
                                      "::ffff:10.0.0.1/96",
                                      "10.0.0.0/99999999999999999999",
                                      "1234567890123456789012345678901234567890123456789"};
    struct networks networks = {0};
    for (size_t i = 0; i < SUITE_COUNT(bad); i++)
        SUITE_CHECK(networks_add(&networks, bad[i]) != NULL, "taken: '%s'", bad[i]);
    CU_ASSERT_EQUAL(networks.count, 0);
    CU_ASSERT(!networks.unix_sockets);
}

static void as_many_as_fit(void)
{
    struct networks networks = {0};
    for (int i = 0; i < NETWORKS_MAX; i++)
        CU_ASSERT_PTR_NULL(networks_add(&networks, "192.0.2.1"));
    CU_ASSERT_PTR_NOT_NULL(networks_add(&networks, "192.0.2.2"));
    CU_ASSERT_EQUAL(networks.count, NETWORKS_MAX);
    CU_ASSERT(hold(&networks, "192.0.2.1") && !hold(&networks, "192.0.2.2"));
}

static void text_that_is_no_address(void)
{
    static const struct span texts[] = {{(const uint8_t *)"", 0},
                                        {(const uint8_t *)"127.0.0.1\0", 10},
                                        {(const uint8_t *)"127.0.0.1\0.1", 12},
                                        {(const uint8_t *)"127.0.0.1 ", 10},
                                        {(const uint8_t *)"unix", 4},
                                        {(const uint8_t *)"\xff", 1}};
    struct networks networks = {.unix_sockets = true};
    CU_ASSERT_PTR_NULL(networks_add(&networks, "0.0.0.0/0"));
    CU_ASSERT_PTR_NULL(networks_add(&networks, "::/0"));
    for (size_t i = 0; i < SUITE_COUNT(texts); i++)
        SUITE_CHECK(!networks_hold_text(&networks, texts[i]), "text %zu is held", i);
}

static const struct suite_case cases[] = {
    {"members", members},
    {"every prefix", every_prefix},
    {"lists", lists},
    {"no networks", no_networks},
    {"as many as fit", as_many_as_fit},
    {"text that is no address", text_that_is_no_address},
};

int main(int argc, char **argv)
{
    return suite_main("networks", cases, SUITE_COUNT(cases), argc, argv);
}
