/* test_peers_list.c: FCGI_WEB_SERVER_ADDRS, read and looked up. Case C101. */
#include <CUnit/CUnit.h>

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "base/peers.h"
#include "suite.h"

static bool allows(const struct peers *peers, const char *text)
{
    struct sockaddr_in ip4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &ip4.sin_addr) == 1)
        return peers_allow(peers, (const struct sockaddr *)&ip4);
    CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, text, &ip6.sin6_addr), 1);
    return peers_allow(peers, (const struct sockaddr *)&ip6);
}

static void lists(void)
{
    static const struct {
        const char *list, *peer;
        bool allowed;
    } cases[] = {
        {NULL, "10.1.1.1", true},
        {"", "10.1.1.1", true},
        {"10.1.1.1", "10.1.1.1", true},
        {"10.1.1.1", "::ffff:10.1.1.1", true}, /* what an IPv6 socket sees of it */
        {"10.1.1.1", "10.1.1.2", false},
        {"10.1.1.1", "::1", false},
        {"10.1.1.1,::1", "::1", true},
        {"10.1.1.1,::1", "10.1.1.1", true},
        {"10.1.1.1,10.1.1.3,", "10.1.1.3", true},
    };
    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct peers peers;
        CU_ASSERT_PTR_NULL(peers_parse(&peers, cases[i].list));
        SUITE_CHECK(allows(&peers, cases[i].peer) == cases[i].allowed, "%s in %s", cases[i].peer, cases[i].list);
    }
}

static void unix_sockets_are_not_asked(void)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct peers peers;
    CU_ASSERT_PTR_NULL(peers_parse(&peers, "10.1.1.1"));
    CU_ASSERT(peers_allow(&peers, (const struct sockaddr *)&local));
}

static void bad_lists(void)
{
    static const char *const bad[] = {"localhost",           "10.1.1",
                                      "10.1.1.1 10.1.1.2",   "10.1.1.1, 10.1.1.2",
                                      ",10.1.1.1",           "10.1.1.1,,10.1.1.2",
                                      "10.1.1.1/8",          "1234567890123456789012345678901234567890123456789",
                                      "10.0.0.0/8,10.0.0.1", "unix",
                                      "10.0.0.1unix"};
    struct peers peers;
    char many[70 * 8 + 1] = "";
    for (size_t i = 0; i < SUITE_COUNT(bad); i++)
        SUITE_CHECK(peers_parse(&peers, bad[i]) != NULL, "taken: %s", bad[i]);
    for (int i = 0; i < 70; i++)
        strcat(many, "1.1.1.1,");
    CU_ASSERT_PTR_NOT_NULL(peers_parse(&peers, many));
}

static const struct suite_case cases[] = {
    {"lists", lists},
    {"unix sockets are not asked", unix_sockets_are_not_asked},
    {"bad lists", bad_lists},
};

int main(int argc, char **argv)
{
    return suite_main("peers_list", cases, SUITE_COUNT(cases), argc, argv);
}
