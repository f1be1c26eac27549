/*
 * peers.c: reads the list and looks addresses up in it. Pure.
 */
#include "base/peers.h"

#include <string.h>

const char *peers_parse(struct peers *peers, const char *text)
{
    memset(peers, 0, sizeof *peers);
    while (text != NULL && *text != '\0') {
        char one[INET6_ADDRSTRLEN];
        struct in6_addr address;
        size_t length = strcspn(text, ",");
        if (!networks_read(&address, span_of(text, length)))
            return "it must hold IP addresses with commas between them, like 192.0.2.1,192.0.2.2";
        memcpy(one, text, length);
        one[length] = '\0';
        if (networks_add(&peers->addresses, one) != NULL)
            return "it has more than 64 addresses";
        text += length;
        text += *text == ',';
    }
    return NULL;
}

bool peers_allow(const struct peers *peers, const struct sockaddr *peer)
{
    return peers->addresses.count == 0 || peer->sa_family == AF_UNIX || networks_hold(&peers->addresses, peer);
}
