/*
 * origin.c: makes the variables of a connection. Runs on lanes, once a connection.
 */
#include "serve/origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

#include "base/check.h"

/* One end as text. A unix socket has a path or nothing. */
struct end {
    char address[sizeof((struct sockaddr_un *)0)->sun_path + 8];
    char port[8];
};

static void describe(struct end *end, const struct sockaddr *address)
{
    const struct sockaddr_in *ip4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)address;
    in_port_t port = ip4->sin_port;
    *end = (struct end){0};
    if (address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &ip4->sin_addr, end->address, sizeof end->address);
    } else if (address->sa_family == AF_INET6) {
        port = ip6->sin6_port;
        if (IN6_IS_ADDR_V4MAPPED(&ip6->sin6_addr))
            inet_ntop(AF_INET, ip6->sin6_addr.s6_addr + 12, end->address, sizeof end->address);
        else
            inet_ntop(AF_INET6, &ip6->sin6_addr, end->address, sizeof end->address);
    } else {
        const struct sockaddr_un *local = (const struct sockaddr_un *)address;
        snprintf(end->address, sizeof end->address, "unix:%.*s", (int)sizeof local->sun_path, local->sun_path);
        return;
    }
    snprintf(end->port, sizeof end->port, "%u", ntohs(port));
}

static void add(char *text, size_t *length, const char *name, const char *value)
{
    int more = snprintf(text + *length, ORIGIN_BYTES - *length, "%s=%s", name, value);
    CHECK(more > 0 && *length + (size_t)more < ORIGIN_BYTES);
    *length += (size_t)more + 1;
}

struct origin *origin_new(const struct sockaddr *remote, const struct sockaddr *local, bool trusted)
{
    struct end client, server;
    char text[ORIGIN_BYTES];
    size_t length = 1;
    text[0] = trusted ? ORIGIN_TRUSTED : '-';
    describe(&client, remote);
    describe(&server, local);
    add(text, &length, "GATEWAY_INTERFACE", "CGI/1.1");
    add(text, &length, "SERVER_SOFTWARE", "millrace/" MR_VERSION);
    add(text, &length, "SERVER_ADDR", server.address);
    add(text, &length, "SERVER_PORT", server.port);
    add(text, &length, "REMOTE_ADDR", client.address);
    add(text, &length, "REMOTE_PORT", client.port);
    add(text, &length, "REMOTE_USER", "");
    add(text, &length, "REQUEST_SCHEME", "http");
    return origin_copy(span_of(text, length));
}

struct origin *origin_copy(struct span memory)
{
    CHECK(memory.length > 1 && memory.length <= ORIGIN_BYTES && memory.at[memory.length - 1] == '\0');
    struct origin *origin = malloc(sizeof *origin + memory.length);
    if (origin == NULL)
        return NULL;
    origin->length = (uint16_t)memory.length;
    origin->count = 0;
    memcpy(origin->memory, memory.at, memory.length);
    struct span entries = origin_entries(origin);
    for (size_t place = 0; place < entries.length && origin->count < ORIGIN_ENTRIES;
         place += strlen((const char *)entries.at + place) + 1)
        origin->places[origin->count++] = (uint16_t)place;
    return origin;
}

const char *origin_value(const struct origin *origin, const char *name)
{
    const char *entries = (const char *)origin_entries(origin).at;
    size_t name_length = strlen(name);
    for (int i = 0; i < origin->count; i++) {
        const char *entry = entries + origin->places[i];
        if (strncmp(entry, name, name_length) == 0 && entry[name_length] == '=')
            return entry + name_length + 1;
    }
    return "";
}
