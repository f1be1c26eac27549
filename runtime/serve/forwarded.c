/*
 * forwarded.c: reads the X-Forwarded headers, from the right. Pure.
 */
#include "serve/forwarded.h"

#include "serve/token.h"

#define HOST_MAX_BYTES 255 /* of a name in the DNS */

/* Takes the last element off the list; when that was the first, `list->at` is NULL. */
static struct span take_last(struct span *list)
{
    const uint8_t *comma = list->length > 0 ? memrchr(list->at, ',', list->length) : NULL;
    struct span last = *list;
    if (comma != NULL)
        span_take(&last, (size_t)(comma + 1 - list->at));
    *list = comma != NULL ? span_of(list->at, (size_t)(comma - list->at)) : span_of(NULL, 0);
    return token_trim(last);
}

static int read_port(struct span text)
{
    int64_t port = text.length <= 5 ? span_number(text) : -1;
    return port >= 1 && port <= 65535 ? (int)port : -1;
}

/* Splits `[host]:port`, `[host]` and `host:port`, where the host itself holds no colon. `*port` is 0 when there is
 * none. The brackets stay. Returns false when there is something else behind the host. */
static bool split_port(struct span text, struct span *host, int *port)
{
    size_t length = text.length;
    const uint8_t *end = NULL;
    if (length > 0)
        end = text.at[0] == '[' ? memchr(text.at, ']', length) : memchr(text.at, ':', length);
    if (end != NULL)
        length = (size_t)(end - text.at) + (*end == ']');
    *host = span_take(&text, length);
    *port = 0;
    if (text.length == 0)
        return true;
    bool colon = span_take(&text, 1).at[0] == ':';
    *port = read_port(text);
    return colon && *port > 0;
}

/* The address between brackets; an empty one where there are none. */
static struct span without_brackets(struct span host)
{
    bool has_both = host.length > 2 && host.at[0] == '[' && host.at[host.length - 1] == ']';
    return has_both ? span_of(host.at + 1, host.length - 2) : span_of(host.at, 0);
}

static bool is_ip6(struct span text)
{
    struct in6_addr address;
    return text.length > 0 && memchr(text.at, ':', text.length) != NULL && networks_read(&address, text);
}

/* An element of X-Forwarded-For. Returns false when it is no address. */
static bool read_address(struct span element, struct span *address)
{
    struct in6_addr read;
    struct span host;
    int port;
    if (networks_read(&read, element)) {
        *address = element;
        return true;
    }
    if (!split_port(element, &host, &port))
        return false;
    bool in_brackets = host.length > 0 && host.at[0] == '[';
    *address = in_brackets ? without_brackets(host) : host;
    return in_brackets ? is_ip6(*address) : networks_read(&read, host);
}

bool forwarded_client(struct span list, const struct networks *trusted, struct span *client)
{
    bool found = false;
    while (list.at != NULL) {
        struct span address;
        if (!read_address(take_last(&list), &address))
            break;
        *client = address;
        found = true;
        if (!networks_hold_text(trusted, address))
            break;
    }
    return found;
}

const char *forwarded_scheme(struct span value)
{
    struct span scheme = take_last(&value);
    if (span_is_ignoring_case(scheme, "https"))
        return "https";
    return span_is_ignoring_case(scheme, "http") ? "http" : NULL;
}

/* Labels of letters, digits, hyphens and underscores; one dot between two of them, and perhaps one at the end. */
static bool is_name(struct span host)
{
    bool in_label = false;
    for (size_t i = 0; i < host.length; i++) {
        uint8_t byte = host.at[i];
        if (byte == '.' ? !in_label : !token_is_alphanumeric(byte) && byte != '_' && (byte != '-' || !in_label))
            return false;
        in_label = byte != '.';
    }
    return host.length > 0 && host.length <= HOST_MAX_BYTES;
}

bool forwarded_host(struct span value, struct span *host, int *port)
{
    struct span name;
    int number;
    if (!split_port(take_last(&value), &name, &number) || !(is_ip6(without_brackets(name)) || is_name(name)))
        return false;
    *host = name;
    *port = number;
    return true;
}

int forwarded_port(struct span value)
{
    return read_port(take_last(&value));
}
