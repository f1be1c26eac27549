/*
 * peers.h: the addresses from which a FastCGI application may be asked: the list in FCGI_WEB_SERVER_ADDRS. Pure.
 * Source: FastCGI specification 1.0, section 3.2.
 */
#ifndef BASE_PEERS_H
#define BASE_PEERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#define PEERS_MAX 64

struct peers {
    int count; /* 0: everybody may ask */
    struct in6_addr addresses[PEERS_MAX]; /* IPv4 ones as mapped addresses */
};

/* Reads addresses with commas between them; NULL stands for none.
 * Returns NULL, or why the text is no such list (static text). */
const char *peers_parse(struct peers *peers, const char *text) __attribute__((warn_unused_result));

/* True when this peer may ask. One on a unix socket always may: there the file's mode decides. */
bool peers_allow(const struct peers *peers, const struct sockaddr *peer);

#endif
