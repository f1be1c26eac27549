/*
 * networks.c: reads networks and looks addresses up in them. Pure.
 */
#include "base/networks.h"

#include <arpa/inet.h>
#include <string.h>

#define IP6_BITS    128
#define MAPPED_BITS 96 /* what comes before the IPv4 address in a mapped one */

static struct in6_addr mapped(const struct in_addr *ip4)
{
    struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(address.s6_addr + 12, ip4, sizeof *ip4);
    return address;
}

bool networks_read(struct in6_addr *address, struct span text)
{
    char copy[INET6_ADDRSTRLEN];
    struct in_addr ip4;
    if (text.length == 0 || text.length >= sizeof copy || memchr(text.at, '\0', text.length) != NULL)
        return false;
    memcpy(copy, text.at, text.length);
    copy[text.length] = '\0';
    if (inet_pton(AF_INET, copy, &ip4) != 1)
        return inet_pton(AF_INET6, copy, address) == 1;
    *address = mapped(&ip4);
    return true;
}

/* How many bits of the address must be equal, from the text after the slash. Returns −1 when it cannot be. */
static int read_prefix(struct span text, int bits_before)
{
    bool leading_zero = text.length > 1 && text.at[0] == '0';
    int64_t bits = span_number(text);
    return leading_zero || bits < 0 || bits > IP6_BITS - bits_before ? -1 : bits_before + (int)bits;
}

static bool equal_bits(const struct in6_addr *one, const struct in6_addr *other, int bits)
{
    size_t bytes = (size_t)bits / 8;
    unsigned rest = (unsigned)bits % 8;
    if (memcmp(one, other, bytes) != 0)
        return false;
    return rest == 0 || (one->s6_addr[bytes] ^ other->s6_addr[bytes]) >> (8 - rest) == 0;
}

static bool has_bits_beyond(const struct in6_addr *address, int prefix_bits)
{
    for (int bit = prefix_bits; bit < IP6_BITS; bit++)
        if (address->s6_addr[bit / 8] & (0x80 >> bit % 8))
            return true;
    return false;
}

const char *networks_add(struct networks *networks, const char *text)
{
    const char *slash = strchrnul(text, '/');
    struct networks_one one = {.prefix_bits = IP6_BITS};
    if (strcmp(text, "unix") == 0) {
        networks->unix_sockets = true;
        return NULL;
    }
    if (!networks_read(&one.address, span_of(text, (size_t)(slash - text))))
        return "write an address or a network, like 127.0.0.1, 10.0.0.0/8, ::1, 2001:db8::/32, or unix";
    if (*slash == '/') {
        bool dotted = memchr(text, ':', (size_t)(slash - text)) == NULL;
        one.prefix_bits = read_prefix(span_text(slash + 1), dotted ? MAPPED_BITS : 0);
    }
    if (one.prefix_bits < 0)
        return "after the slash comes a number of bits: up to 32 for IPv4, up to 128 for IPv6";
    if (has_bits_beyond(&one.address, one.prefix_bits))
        return "the address has bits set beyond its prefix: write 10.0.0.0/8 for the network, 10.1.2.3 for one host";
    if (networks->count == NETWORKS_MAX)
        return "there are more than 64 networks";
    networks->list[networks->count++] = one;
    return NULL;
}

static bool hold_address(const struct networks *networks, const struct in6_addr *address)
{
    for (int i = 0; i < networks->count; i++) {
        const struct networks_one *one = &networks->list[i];
        bool same_family = IN6_IS_ADDR_V4MAPPED(&one->address) == IN6_IS_ADDR_V4MAPPED(address);
        if (same_family && equal_bits(&one->address, address, one->prefix_bits))
            return true;
    }
    return false;
}

bool networks_hold(const struct networks *networks, const struct sockaddr *peer)
{
    struct in6_addr address;
    if (peer->sa_family == AF_UNIX)
        return networks->unix_sockets;
    if (peer->sa_family == AF_INET)
        address = mapped(&((const struct sockaddr_in *)(const void *)peer)->sin_addr);
    else if (peer->sa_family == AF_INET6)
        address = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
    else
        return false;
    return hold_address(networks, &address);
}

bool networks_hold_text(const struct networks *networks, struct span text)
{
    struct in6_addr address;
    return networks_read(&address, text) && hold_address(networks, &address);
}
