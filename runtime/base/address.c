/*
 * address.c: reads a listening address. Pure.
 */
#include "base/address.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *parse_local(struct address *address, const char *path)
{
    struct sockaddr_un *local = &address->socket.local;
    size_t length = strlen(path);
    if (path[0] != '/')
        return "the path after `unix:` must begin with /";
    if (length >= sizeof local->sun_path)
        return "a unix socket's path holds at most 107 bytes: use a shorter directory";
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, path, length + 1);
    address->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    return NULL;
}

/* Digits alone, 1 to 65535. Returns 0 when it is no port. */
static unsigned parse_port(const char *text)
{
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 5 || text[length] != '\0')
        return 0;
    unsigned long port = strtoul(text, NULL, 10);
    return port <= 65535 ? (unsigned)port : 0;
}

static const char *parse_ip(struct address *address, const char *host, unsigned port)
{
    if (inet_pton(AF_INET, host, &address->socket.ip4.sin_addr) == 1) {
        address->socket.ip4.sin_family = AF_INET;
        address->socket.ip4.sin_port = htons((uint16_t)port);
        address->length = sizeof address->socket.ip4;
        return NULL;
    }
    size_t length = strlen(host);
    char bare[INET6_ADDRSTRLEN];
    if (length > 2 && host[0] == '[' && host[length - 1] == ']' && length - 2 < sizeof bare) {
        memcpy(bare, host + 1, length - 2);
        bare[length - 2] = '\0';
        if (inet_pton(AF_INET6, bare, &address->socket.ip6.sin6_addr) == 1) {
            address->socket.ip6.sin6_family = AF_INET6;
            address->socket.ip6.sin6_port = htons((uint16_t)port);
            address->length = sizeof address->socket.ip6;
            return NULL;
        }
    }
    return "the host must be an address (127.0.0.1, [::1]): names are not looked up";
}

const char *address_parse(struct address *address, const char *text)
{
    memset(address, 0, sizeof *address);
    if (strlen(text) >= sizeof address->text)
        return "the address is too long: a unix socket's path holds at most 107 bytes";
    strcpy(address->text, text);
    if (strncmp(text, "unix:", 5) == 0)
        return parse_local(address, text + 5);
    const char *colon = strrchr(text, ':');
    if (colon == NULL)
        return "write unix:/path, 127.0.0.1:9000 or [::1]:9000";
    if (colon == text)
        return "the host is missing: write 127.0.0.1 before the colon, or 0.0.0.0 for every interface";
    unsigned port = parse_port(colon + 1);
    if (port == 0)
        return "the port must be a number from 1 to 65535";
    char host[ADDRESS_TEXT_BYTES];
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    return parse_ip(address, host, port);
}

bool address_is_local(const struct address *address)
{
    return address->socket.any.sa_family == AF_UNIX;
}

bool address_is_loopback(const struct address *address)
{
    if (address->socket.any.sa_family == AF_INET)
        return ntohl(address->socket.ip4.sin_addr.s_addr) >> 24 == 127;
    return address->socket.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->socket.ip6.sin6_addr);
}
