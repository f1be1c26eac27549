/* test_proxy_protocol.c: the PROXY protocol's header in both versions. */
#include <CUnit/CUnit.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "serve/proxy_protocol.h"
#include "suite.h"

#define SIGNATURE   "\r\n\r\n\0\r\nQUIT\n"
#define IP4_ENDS    "\xc0\0\x02\x01\xc6\x33\x64\x02\xdc\x04\x01\xbb"
#define IP6_ONE     "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
#define IP6_TWO     "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02"
#define TEN         "0123456789"
#define BYTES(text) text, sizeof(text) - 1

struct good {
    const char *input;
    size_t length;
    const char *meaning; /* source, port, destination, port; or local */
};

static const struct good good[] = {
    {BYTES("PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n"), "192.0.2.1 56324 198.51.100.2 443"},
    {BYTES("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"),
     "255.255.255.255 65535 255.255.255.255 65535"},
    {BYTES("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n"), "0.0.0.0 0 0.0.0.0 0"},
    {BYTES("PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n"), "2001:db8::1 1 2001:db8::2 65535"},
    {BYTES("PROXY TCP6 2001:DB8:0:0:0:0:0:1 ::1 10 20\r\n"), "2001:db8::1 10 ::1 20"},
    {BYTES("PROXY TCP6 ::ffff:192.0.2.1 ::ffff:192.0.2.2 10 20\r\n"), "::ffff:192.0.2.1 10 ::ffff:192.0.2.2 20"},
    {BYTES(
         "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n"),
     "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535"},
    {BYTES("PROXY UNKNOWN\r\n"), "local"},
    {BYTES("PROXY UNKNOWN \r\n"), "local"},
    {BYTES("PROXY UNKNOWN anything  at all\r\n"), "local"},
    {BYTES("PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 "
           "65535\r\n"),
     "local"},
    {BYTES(SIGNATURE "\x21\x11\0\x0c" IP4_ENDS), "192.0.2.1 56324 198.51.100.2 443"},
    {BYTES(SIGNATURE "\x21\x11\0\x13" IP4_ENDS "\x04\0\x04"
                     "1234"),
     "192.0.2.1 56324 198.51.100.2 443"},
    {BYTES(SIGNATURE "\x21\x21\0\x24" IP6_ONE IP6_TWO "\0\x0a\0\x14"), "2001:db8::1 10 2001:db8::2 20"},
    {BYTES(SIGNATURE "\x20\0\0\0"), "local"},
    {BYTES(SIGNATURE "\x20\0\0\x0a" TEN), "local"},
    {BYTES(SIGNATURE "\x20\x11\0\x0c" IP4_ENDS), "local"},
    {BYTES(SIGNATURE "\x20\x99\0\0"), "local"},
    {BYTES(SIGNATURE "\x21\0\0\0"), "local"},
    {BYTES(SIGNATURE "\x21\0\0\x14" TEN TEN), "local"},
};

static const struct {
    const char *name, *input;
    size_t length;
    size_t known_at; /* with so many bytes it is refused, one less may still become a header */
} bad[] = {
    {"HTTP", BYTES("GET / HTTP/1.1\r\n"), 1},
    {"HTTP with a method like it", BYTES("PROPFIND / HTTP/1.1\r\n"), 4},
    {"TLS", BYTES("\x16\x03\x01\x02"), 1},
    {"lower case", BYTES("proxy UNKNOWN\r\n"), 1},
    {"no blank", BYTES("PROXY\r\n"), 6},
    {"two blanks after PROXY", BYTES("PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n"), 37},
    {"two blanks before the source", BYTES("PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n"), 37},
    {"two blanks before the destination", BYTES("PROXY TCP4 192.0.2.1  192.0.2.2 1 2\r\n"), 37},
    {"two blanks before the port", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2  1 2\r\n"), 37},
    {"two blanks between the ports", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1  2\r\n"), 37},
    {"a blank at the end", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n"), 37},
    {"a tab", BYTES("PROXY TCP4\t192.0.2.1 192.0.2.2 1 2\r\n"), 36},
    {"one word more", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n"), 38},
    {"a port missing", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n"), 34},
    {"both ports missing", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2\r\n"), 32},
    {"a destination missing", BYTES("PROXY TCP4 192.0.2.1\r\n"), 22},
    {"nothing but the family", BYTES("PROXY TCP4\r\n"), 12},
    {"nothing", BYTES("PROXY \r\n"), 8},
    {"another family", BYTES("PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n"), 36},
    {"UDP", BYTES("PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n"), 36},
    {"unknown in lower case", BYTES("PROXY unknown\r\n"), 15},
    {"a longer word", BYTES("PROXY UNKNOWNS\r\n"), 16},
    {"IPv6 for TCP4", BYTES("PROXY TCP4 ::1 ::1 1 2\r\n"), 24},
    {"IPv4 for TCP6", BYTES("PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n"), 36},
    {"both families", BYTES("PROXY TCP4 192.0.2.1 ::1 1 2\r\n"), 30},
    {"a number over 255", BYTES("PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n"), 38},
    {"a leading zero", BYTES("PROXY TCP4 192.0.2.01 192.0.2.2 1 2\r\n"), 37},
    {"a short address", BYTES("PROXY TCP4 192.0.2 192.0.2.2 1 2\r\n"), 34},
    {"two double colons", BYTES("PROXY TCP6 1::2::3 ::1 1 2\r\n"), 28},
    {"five digits", BYTES("PROXY TCP6 ::00001 ::1 1 2\r\n"), 28},
    {"a zone", BYTES("PROXY TCP6 fe80::1%lo ::1 1 2\r\n"), 31},
    {"brackets", BYTES("PROXY TCP6 [::1] [::1] 1 2\r\n"), 28},
    {"a name", BYTES("PROXY TCP4 localhost 192.0.2.2 1 2\r\n"), 36},
    {"a NUL", BYTES("PROXY TCP4 192.0.2.1\0 192.0.2.2 1 2\r\n"), 37},
    {"a port over 65535", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n"), 40},
    {"a port of many digits", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 18446744073709551617 2\r\n"), 55},
    {"a port with a sign", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n"), 37},
    {"a negative port", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1 -2\r\n"), 37},
    {"a port with a leading zero", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n"), 37},
    {"a port of two zeros", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1 00\r\n"), 37},
    {"a hexadecimal port", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1 0x1\r\n"), 38},
    {"LF alone", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n"), 35},
    {"CR alone", BYTES("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rG"), 36},
    {"CR alone, then CRLF", BYTES("PROXY UNKNOWN a\rb\r\n"), 17},
    {"two CRs", BYTES("PROXY UNKNOWN\r\r\n"), 15},
    {"108 bytes", BYTES("PROXY UNKNOWN " TEN TEN TEN TEN TEN TEN TEN TEN TEN "12\r\n"), 107},
    {"no end", BYTES("PROXY UNKNOWN " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN), 107},
    {"another signature", BYTES("\r\n\r\n\0\r\nQUIX\n\x21\x11\0\x0c" IP4_ENDS), 11},
    {"a blank line", BYTES("\r\n\r\nGET / HTTP/1.1\r\n"), 5},
    {"version 1 in binary", BYTES(SIGNATURE "\x11\x11\0\x0c" IP4_ENDS), 13},
    {"version 3", BYTES(SIGNATURE "\x31\x11\0\x0c" IP4_ENDS), 13},
    {"an unknown command", BYTES(SIGNATURE "\x22\x11\0\x0c" IP4_ENDS), 13},
    {"UDP over IPv4", BYTES(SIGNATURE "\x21\x12\0\x0c" IP4_ENDS), 14},
    {"UDP over IPv6", BYTES(SIGNATURE "\x21\x22\0\x24" IP6_ONE IP6_TWO "1234"), 14},
    {"unix datagrams", BYTES(SIGNATURE "\x21\x32\0\0"), 14},
    {"datagrams of no family", BYTES(SIGNATURE "\x21\x02\0\0"), 14},
    {"IPv4 without a protocol", BYTES(SIGNATURE "\x21\x10\0\x0c" IP4_ENDS), 14},
    {"an unknown protocol", BYTES(SIGNATURE "\x21\x13\0\x0c" IP4_ENDS), 14},
    {"an unknown family", BYTES(SIGNATURE "\x21\x41\0\x0c" IP4_ENDS), 14},
    {"too short for IPv4", BYTES(SIGNATURE "\x21\x11\0\x0b" IP4_ENDS), 16},
    {"too short for IPv6", BYTES(SIGNATURE "\x21\x21\0\x23" IP6_ONE IP6_TWO "1234"), 16},
    {"too short for unix", BYTES(SIGNATURE "\x21\x31\0\xd7"), 16},
    {"too long", BYTES(SIGNATURE "\x21\x11\x08\x01" IP4_ENDS), 16},
    {"far too long", BYTES(SIGNATURE "\x20\0\xff\xff"), 16},
};

static enum proxy_protocol_result parse(const void *input, size_t length, struct proxy_protocol *header)
{
    return proxy_protocol_parse(guard_copy(input, length), header);
}

static const char *meaning_of(const struct proxy_protocol *header)
{
    static char text[200];
    char source[INET6_ADDRSTRLEN], destination[INET6_ADDRSTRLEN];
    const union proxy_protocol_address *one = &header->source, *two = &header->destination;
    bool ip4 = one->any.sa_family == AF_INET;
    if (header->local)
        return "local";
    CU_ASSERT_EQUAL_FATAL(one->any.sa_family, two->any.sa_family);
    inet_ntop(one->any.sa_family, ip4 ? (const void *)&one->ip4.sin_addr : &one->ip6.sin6_addr, source, sizeof source);
    inet_ntop(two->any.sa_family, ip4 ? (const void *)&two->ip4.sin_addr : &two->ip6.sin6_addr, destination,
              sizeof destination);
    snprintf(text, sizeof text, "%s %u %s %u", source, ntohs(ip4 ? one->ip4.sin_port : one->ip6.sin6_port), destination,
             ntohs(ip4 ? two->ip4.sin_port : two->ip6.sin6_port));
    return text;
}

/* -- cases
 * --------------------------------------------------------------------------------------------------------------
 */

static void meanings(void)
{
    for (size_t i = 0; i < SUITE_COUNT(good); i++) {
        struct proxy_protocol header;
        enum proxy_protocol_result result = parse(good[i].input, good[i].length, &header);
        SUITE_CHECK(result == PROXY_PROTOCOL_DONE, "%zu (%s): result %d", i, good[i].meaning, result);
        SUITE_CHECK(header.bytes == good[i].length, "%zu: %zu bytes of %zu", i, header.bytes, good[i].length);
        SUITE_CHECK(strcmp(meaning_of(&header), good[i].meaning) == 0, "%zu: %s, not %s", i, meaning_of(&header),
                    good[i].meaning);
    }
}

static void every_prefix_is_a_beginning(void)
{
    for (size_t i = 0; i < SUITE_COUNT(good); i++)
        for (size_t length = 0; length < good[i].length; length++) {
            struct proxy_protocol header;
            SUITE_CHECK(parse(good[i].input, length, &header) == PROXY_PROTOCOL_MORE, "%zu cut at %zu", i, length);
        }
}

/* What follows belongs to the client, even when it looks like more of the header. */
static void what_follows_is_left(void)
{
    static const char *const next[] = {"\r\n", "\n", "GET / HTTP/1.1\r\n\r\n", "PROXY UNKNOWN\r\n", " "};
    for (size_t i = 0; i < SUITE_COUNT(good); i++)
        for (size_t j = 0; j < SUITE_COUNT(next); j++)
            for (size_t more = 1; more <= strlen(next[j]); more++) {
                struct proxy_protocol header;
                uint8_t input[400];
                memcpy(input, good[i].input, good[i].length);
                memcpy(input + good[i].length, next[j], more);
                SUITE_CHECK(parse(input, good[i].length + more, &header) == PROXY_PROTOCOL_DONE, "%zu and %zu", i, j);
                SUITE_CHECK(header.bytes == good[i].length, "%zu and %zu: %zu bytes", i, j, header.bytes);
                SUITE_CHECK(strcmp(meaning_of(&header), good[i].meaning) == 0, "%zu and %zu: another meaning", i, j);
            }
}

static void refused_as_soon_as_known(void)
{
    for (size_t i = 0; i < SUITE_COUNT(bad); i++)
        for (size_t length = 0; length <= bad[i].length; length++) {
            struct proxy_protocol header = {.bytes = 4711};
            enum proxy_protocol_result expected = length < bad[i].known_at ? PROXY_PROTOCOL_MORE : PROXY_PROTOCOL_BAD;
            enum proxy_protocol_result result = parse(bad[i].input, length, &header);
            SUITE_CHECK(result == expected, "%s: %zu bytes: %d, not %d", bad[i].name, length, result, expected);
            SUITE_CHECK(header.bytes == 4711, "%s: the header was written", bad[i].name);
        }
}

/* Each byte of each header, replaced by each value: whatever it then is, decisions stay and nothing is read beyond. */
static void every_byte_replaced(void)
{
    for (size_t i = 0; i < SUITE_COUNT(good); i++)
        for (size_t at = 0; at < good[i].length; at++)
            for (int value = 0; value < 256; value++) {
                struct proxy_protocol whole = {0}, part;
                uint8_t input[400];
                memcpy(input, good[i].input, good[i].length);
                input[at] = (uint8_t)value;
                enum proxy_protocol_result result = parse(input, good[i].length, &whole);
                for (size_t length = at; length < good[i].length; length++) {
                    enum proxy_protocol_result before = parse(input, length, &part);
                    bool stays = before == result && (before == PROXY_PROTOCOL_BAD || part.bytes == whole.bytes);
                    SUITE_CHECK(before == PROXY_PROTOCOL_MORE || stays, "%zu, byte %zu is %d: %d after %zu bytes", i,
                                at, value, before, length);
                }
            }
}

static void unix_addresses_and_the_longest(void)
{
    static uint8_t input[PROXY_PROTOCOL_MAX_BYTES] = SIGNATURE "\x21\x31\0\xd8";
    struct proxy_protocol header;
    memset(input + 16, 'u', sizeof input - 16);
    CU_ASSERT_EQUAL(parse(input, 16 + 215, &header), PROXY_PROTOCOL_MORE);
    CU_ASSERT_EQUAL(parse(input, 16 + 216, &header), PROXY_PROTOCOL_DONE);
    CU_ASSERT(header.local && header.bytes == 16 + 216);
    input[14] = 8; /* 2048, after addresses of IPv4 */
    input[15] = 0;
    input[13] = 0x11;
    CU_ASSERT_EQUAL(parse(input, sizeof input - 1, &header), PROXY_PROTOCOL_MORE);
    CU_ASSERT_EQUAL(parse(input, sizeof input, &header), PROXY_PROTOCOL_DONE);
    CU_ASSERT(!header.local && header.bytes == sizeof input);
}

static const struct suite_case cases[] = {
    {"meanings", meanings},
    {"every prefix is a beginning", every_prefix_is_a_beginning},
    {"what follows is left", what_follows_is_left},
    {"refused as soon as known", refused_as_soon_as_known},
    {"every byte replaced", every_byte_replaced},
    {"unix addresses and the longest", unix_addresses_and_the_longest},
};

int main(int argc, char **argv)
{
    return suite_main("proxy_protocol", cases, SUITE_COUNT(cases), argc, argv);
}
