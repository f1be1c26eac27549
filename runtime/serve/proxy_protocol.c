/*
 * proxy_protocol.c: reads the header of either version. Pure.
 *
 * A header is taken whole or not at all: addresses are looked at only when its last byte is there. What can no longer
 * become one is refused at the first byte that shows it, so that a client that speaks HTTP to such a listener hears of
 * it at once.
 */
#include "serve/proxy_protocol.h"

#include <arpa/inet.h>

#define DONE PROXY_PROTOCOL_DONE
#define MORE PROXY_PROTOCOL_MORE
#define BAD  PROXY_PROTOCOL_BAD

/* How much of the input is there of what must stand at its beginning. */
static enum proxy_protocol_result match(struct span input, const char *begin, size_t length)
{
    size_t there = input.length < length ? input.length : length;
    if (memcmp(input.at, begin, there) != 0)
        return BAD;
    return there < length ? MORE : DONE;
}

/* -- version 1: a line ------------------------------------------------------------------------------------------------
 */

#define LINE_BEGIN "PROXY "

/* Takes what comes before the next blank, or all that is left. */
static struct span take_word(struct span *line)
{
    const uint8_t *blank = memchr(line->at, ' ', line->length);
    if (blank == NULL)
        return span_take(line, line->length);
    struct span word = span_take(line, (size_t)(blank - line->at));
    span_take(line, 1);
    return word;
}

static bool read_address(struct span word, union proxy_protocol_address *address, sa_family_t family)
{
    char text[INET6_ADDRSTRLEN];
    void *to = family == AF_INET ? (void *)&address->ip4.sin_addr : (void *)&address->ip6.sin6_addr;
    if (word.length >= sizeof text || memchr(word.at, '\0', word.length) != NULL)
        return false;
    memcpy(text, word.at, word.length);
    text[word.length] = '\0';
    memset(address, 0, sizeof *address);
    address->any.sa_family = family;
    return inet_pton(family, text, to) == 1;
}

/* The port is at the same place for both families. */
_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
               "places of the ports");

static bool read_port(struct span word, union proxy_protocol_address *address)
{
    int64_t port = span_number(word);
    if (port < 0 || port > 65535 || (word.length > 1 && word.at[0] == '0'))
        return false;
    address->ip4.sin_port = htons((uint16_t)port);
    return true;
}

/* What comes after LINE_BEGIN, without the CRLF. */
static bool read_line(struct span line, struct proxy_protocol *header)
{
    struct span kind = take_word(&line);
    if (span_is(kind, "UNKNOWN")) {
        header->local = true; /* the rest of the line means nothing */
        return true;
    }
    if (!span_is(kind, "TCP4") && !span_is(kind, "TCP6"))
        return false;
    sa_family_t family = kind.at[3] == '4' ? AF_INET : AF_INET6;
    if (!read_address(take_word(&line), &header->source, family) ||
        !read_address(take_word(&line), &header->destination, family) || !read_port(take_word(&line), &header->source))
        return false;
    return read_port(line, &header->destination); /* what is left: a blank after it is one too many */
}

static enum proxy_protocol_result parse_line(struct span input, struct proxy_protocol *header)
{
    size_t begin = sizeof LINE_BEGIN - 1;
    size_t limit = input.length < PROXY_PROTOCOL_LINE_BYTES ? input.length : PROXY_PROTOCOL_LINE_BYTES;
    enum proxy_protocol_result begins = match(input, LINE_BEGIN, begin);
    if (begins != DONE)
        return begins;
    for (size_t i = begin; i < limit; i++) {
        if (input.at[i] == '\n')
            return BAD;
        if (input.at[i] != '\r')
            continue;
        if (i + 1 == limit) /* where the line may go no further, its end does not come */
            return limit < PROXY_PROTOCOL_LINE_BYTES ? MORE : BAD;
        header->bytes = i + 2;
        return input.at[i + 1] == '\n' && read_line(span_of(input.at + begin, i - begin), header) ? DONE : BAD;
    }
    return limit < PROXY_PROTOCOL_LINE_BYTES ? MORE : BAD;
}

/* -- version 2: binary ------------------------------------------------------------------------------------------------
 */

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"

enum {
    SIGNATURE_BYTES = sizeof SIGNATURE - 1,
    FIXED_BYTES = SIGNATURE_BYTES + 4, /* version and command, family and protocol, length */
    CONTENT_MAX_BYTES = PROXY_PROTOCOL_MAX_BYTES - FIXED_BYTES,
    COMMAND_LOCAL = 0x20, /* with the version in the upper four bits */
    COMMAND_PROXY = 0x21,
    FAMILY_UNSPECIFIED = 0x00, /* with the protocol in the lower four bits */
    FAMILY_IP4 = 0x11,
    FAMILY_IP6 = 0x21,
    FAMILY_UNIX = 0x31,
};

/* How many bytes of addresses and ports this family needs. Returns −1 for those that are no stream, or unknown. */
static int content_bytes(uint8_t family)
{
    switch (family) {
    case FAMILY_UNSPECIFIED:
        return 0;
    case FAMILY_IP4:
        return 2 * (4 + 2);
    case FAMILY_IP6:
        return 2 * (16 + 2);
    case FAMILY_UNIX:
        return 2 * 108;
    default:
        return -1;
    }
}

/* Both addresses, then both ports, in network byte order. */
static void read_addresses(const uint8_t *content, uint8_t family, struct proxy_protocol *header)
{
    union proxy_protocol_address *ends[] = {&header->source, &header->destination};
    size_t size = family == FAMILY_IP4 ? 4 : 16;
    for (size_t i = 0; i < 2; i++) {
        memset(ends[i], 0, sizeof *ends[i]);
        ends[i]->any.sa_family = family == FAMILY_IP4 ? AF_INET : AF_INET6;
        memcpy(family == FAMILY_IP4 ? (void *)&ends[i]->ip4.sin_addr : (void *)&ends[i]->ip6.sin6_addr,
               content + i * size, size);
        memcpy(&ends[i]->ip4.sin_port, content + 2 * size + i * 2, 2);
    }
}

static enum proxy_protocol_result parse_binary(struct span input, struct proxy_protocol *header)
{
    enum proxy_protocol_result begins = match(input, SIGNATURE, SIGNATURE_BYTES);
    if (begins != DONE || input.length == SIGNATURE_BYTES)
        return begins == DONE ? MORE : begins;
    uint8_t command = input.at[SIGNATURE_BYTES];
    if (command != COMMAND_LOCAL && command != COMMAND_PROXY)
        return BAD;
    if (input.length == SIGNATURE_BYTES + 1)
        return MORE;
    uint8_t family = input.at[SIGNATURE_BYTES + 1];
    int needed = command == COMMAND_LOCAL ? 0 : content_bytes(family); /* of LOCAL the family means nothing */
    if (needed < 0)
        return BAD;
    if (input.length < FIXED_BYTES)
        return MORE;
    int length = input.at[FIXED_BYTES - 2] << 8 | input.at[FIXED_BYTES - 1];
    if (length < needed || length > CONTENT_MAX_BYTES)
        return BAD;
    header->bytes = FIXED_BYTES + (size_t)length;
    if (input.length < header->bytes)
        return MORE;
    header->local = command == COMMAND_LOCAL || (family != FAMILY_IP4 && family != FAMILY_IP6);
    if (!header->local)
        read_addresses(input.at + FIXED_BYTES, family, header);
    return DONE;
}

enum proxy_protocol_result proxy_protocol_parse(struct span input, struct proxy_protocol *header)
{
    struct proxy_protocol read = {0};
    if (input.length == 0)
        return MORE;
    enum proxy_protocol_result result =
        input.at[0] == LINE_BEGIN[0] ? parse_line(input, &read) : parse_binary(input, &read);
    if (result == DONE)
        *header = read;
    return result;
}
