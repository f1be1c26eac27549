/*
 * peers.h: the addresses from which a FastCGI application may be asked: the list in FCGI_WEB_SERVER_ADDRS. Pure.
 * Source: FastCGI specification 1.0, section 3.2.
 */
#ifndef BASE_PEERS_H
#define BASE_PEERS_H

#include "base/networks.h"

struct peers {
    struct networks addresses; /* none: everybody may ask */
};

/* Reads addresses with commas between them; NULL stands for none. There are no networks in this list.
 * Returns NULL, or why the text is no such list (static text). */
const char *peers_parse(struct peers *peers, const char *text) __attribute__((warn_unused_result));

/* True when this peer may ask. One on a unix socket always may: there the file's mode decides. */
bool peers_allow(const struct peers *peers, const struct sockaddr *peer);

#endif
