/*
 * networks.h: a list of networks, as written in a configuration: `127.0.0.1`, `10.0.0.0/8`, `::1`, `2001:db8::/32`, and
 * `unix` for whoever connects to a unix socket. Pure.
 *
 * An IPv6 address that stands for an IPv4 one (::ffff:10.1.1.1) counts as that, in the list and in what is looked up:
 * so `::/0` holds no IPv4 address, and an IPv6 socket sees the same peers as an IPv4 one.
 */
#ifndef BASE_NETWORKS_H
#define BASE_NETWORKS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/span.h"

#define NETWORKS_MAX 64

struct networks {
    int count;
    bool unix_sockets;
    struct networks_one {
        struct in6_addr address; /* an IPv4 one as mapped address */
        int prefix_bits;         /* of the 128 */
    } list[NETWORKS_MAX];
};

/* Adds one to a list that began as zeros. Returns NULL, or why the text is no network (static text); the list is then as
 * it was. */
const char *networks_add(struct networks *networks, const char *text) __attribute__((warn_unused_result));

/* An empty list holds nobody; other families than IPv4, IPv6 and unix are in no network. */
bool networks_hold(const struct networks *networks, const struct sockaddr *peer);

/* An address as text, without port or brackets. What is no address is in no network. */
bool networks_hold_text(const struct networks *networks, struct span address);

/* Reads an IPv4 address (as mapped address) or an IPv6 address from text that is nothing else. Returns false when it is
 * neither. */
bool networks_read(struct in6_addr *address, struct span text) __attribute__((warn_unused_result));

#endif
