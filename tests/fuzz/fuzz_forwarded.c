/*
 * fuzz_forwarded.c: libFuzzer entry for the X-Forwarded headers and the addresses in them.
 *
 * Whatever the bytes: what comes out lies within them and is what it should be, and asked about again it comes out the
 * same.
 */
#include <stdlib.h>

#include "base/check.h"
#include "serve/forwarded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct networks trusted;

static bool within(struct span part, struct span whole)
{
    return part.at >= whole.at && part.at + part.length <= whole.at + whole.length;
}

static bool same(struct span one, struct span other)
{
    return one.length == other.length && memcmp(one.at, other.at, one.length) == 0;
}

/* An address is the client of itself, and a trusted proxy behind the list changes nothing. */
static void check_client(struct span list)
{
    static const char proxy[] = ", [2001:db8::1]:80,10.1.2.3 ";
    struct span client, again;
    struct in6_addr address;
    bool found = forwarded_client(list, &trusted, &client);
    uint8_t *longer = malloc(list.length + sizeof proxy - 1);
    CHECK(longer != NULL);
    if (list.length > 0)
        memcpy(longer, list.at, list.length);
    memcpy(longer + list.length, proxy, sizeof proxy - 1);
    CHECK(forwarded_client(span_of(longer, list.length + sizeof proxy - 1), &trusted, &again));
    if (found) {
        CHECK(within(client, list) && networks_read(&address, client) && same(client, again));
        CHECK(forwarded_client(client, &trusted, &again) && same(client, again));
    } else {
        CHECK(span_is(again, "2001:db8::1"));
    }
    free(longer);
}

static void check_host(struct span value)
{
    struct span host, again;
    int port, no_port;
    if (!forwarded_host(value, &host, &port))
        return;
    CHECK(within(host, value) && host.length > 0 && port >= 0 && port <= 65535);
    CHECK(forwarded_host(host, &again, &no_port) && same(host, again) && no_port == 0);
    for (size_t i = 0; i < host.length; i++)
        CHECK(host.at[i] > ' ' && host.at[i] < 0x7f && strchr("/@,;\"'<>%?#\\", host.at[i]) == NULL);
}

/* A network's text is one only as it would be written; then it holds its own address. */
static void check_network(struct span text)
{
    struct networks one = {0};
    char copy[64];
    if (text.length >= sizeof copy || memchr(text.at, '\0', text.length) != NULL)
        return;
    memcpy(copy, text.at, text.length);
    copy[text.length] = '\0';
    if (networks_add(&one, copy) != NULL) {
        CHECK(one.count == 0 && !one.unix_sockets);
        return;
    }
    CHECK(one.unix_sockets || networks_hold_text(&one, span_of(copy, strcspn(copy, "/"))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input = span_of(data, size);
    if (size == 0)
        return 0;
    if (trusted.count == 0)
        CHECK(networks_add(&trusted, "10.0.0.0/8") == NULL && networks_add(&trusted, "2001:db8::/32") == NULL);
    check_client(input);
    check_host(input);
    check_network(input);
    CHECK(forwarded_port(input) >= -1 && forwarded_port(input) <= 65535 && forwarded_port(input) != 0);
    forwarded_scheme(input);
    return 0;
}
