/*
 * address.h: where to listen, as written in the configuration. Pure: no name is looked up.
 */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADDRESS_TEXT_BYTES 160

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
    } socket;
    socklen_t length;
    char text[ADDRESS_TEXT_BYTES]; /* as written */
};

/* Understands `unix:/path`, `127.0.0.1:9000` and `[::1]:9000`.
 * Returns NULL, or why the text is none of them (static text). */
const char *address_parse(struct address *address, const char *text) __attribute__((warn_unused_result));

bool address_is_local(const struct address *address);
bool address_is_loopback(const struct address *address);

#endif
