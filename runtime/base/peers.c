/*
 * peers.c: reads the list and looks addresses up in it. Pure.
 */
#include "base/peers.h"

#include <arpa/inet.h>
#include <string.h>

static struct in6_addr mapped(const struct in_addr *ip4)
{
    struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(address.s6_addr + 12, ip4, 4);
    return address;
}

static bool parse_one(struct in6_addr *address, const char *text, size_t length)
{
    char one[INET6_ADDRSTRLEN];
    struct in_addr ip4;
    if (length >= sizeof one)
        return false;
    memcpy(one, text, length);
    one[length] = '\0';
    if (inet_pton(AF_INET, one, &ip4) != 1)
        return inet_pton(AF_INET6, one, address) == 1;
    *address = mapped(&ip4);
    return true;
}

const char *peers_parse(struct peers *peers, const char *text)
{
    peers->count = 0;
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        if (peers->count == PEERS_MAX)
            return "it has more than 64 addresses";
        if (!parse_one(&peers->addresses[peers->count], text, length))
            return "it must hold IP addresses with commas between them, like 192.0.2.1,192.0.2.2";
        peers->count++;
        text += length;
        text += *text == ',';
    }
    return NULL;
}

bool peers_allow(const struct peers *peers, const struct sockaddr *peer)
{
    struct in6_addr address;
    if (peers->count == 0 || peer->sa_family == AF_UNIX)
        return true;
    if (peer->sa_family == AF_INET)
        address = mapped(&((const struct sockaddr_in *)(const void *)peer)->sin_addr);
    else
        address = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
    for (int i = 0; i < peers->count; i++)
        if (memcmp(&peers->addresses[i], &address, sizeof address) == 0)
            return true;
    return false;
}
