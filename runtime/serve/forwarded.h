/*
 * forwarded.h: what X-Forwarded-For, -Proto, -Host and -Port say about the client. Pure: spans in, borrowed spans out.
 *
 * Anybody can send these headers, so they count only when the connection comes from a proxy that is trusted (ask
 * networks_hold first), and of each only what such a proxy has written. A proxy adds to the right. In the list of addresses
 * that lets us walk past all proxies that are trusted. The other three have no such chain: their elements do not say who
 * wrote them, and a list may be shorter than that of the addresses. The last element was written, or passed on by its own
 * decision, by the peer that we trust; those before may be the client's invention, so they are never looked at. Where several
 * proxies stand in a row, each that is not the first has to pass on what it got, which all know how to do.
 *
 * Several lines of one header are one list, in order (RFC 9110 section 5.3): join them with commas before asking.
 */
#ifndef SERVE_FORWARDED_H
#define SERVE_FORWARDED_H

#include "base/networks.h"
#include "base/span.h"

/* Walks X-Forwarded-For from the right over addresses that are trusted, to the first that is not, or to the leftmost when
 * all are. What is no address (a name, `unknown`, an empty element) ends the walk at the one before: what stands left of it
 * is nobody's word. Writes the address into `client`, without port and brackets. Returns false when there is none. */
bool forwarded_client(struct span list, const struct networks *trusted, struct span *client)
    __attribute__((warn_unused_result));

/* Returns "http" or "https" (static text), or NULL when X-Forwarded-Proto says neither. */
const char *forwarded_scheme(struct span value);

/* X-Forwarded-Host: a host name or an IPv4 address, or an IPv6 address in its brackets; and the port after it, 0 when there
 * is none. Returns false when it is none of these; both are then left as they were. */
bool forwarded_host(struct span value, struct span *host, int *port) __attribute__((warn_unused_result));

/* Returns X-Forwarded-Port, 1 to 65535, or −1 when it is no port. */
int forwarded_port(struct span value);

#endif
