/*
 * fuzz_proxy.c: libFuzzer entry for the PROXY protocol's header.
 *
 * A decision, once made, stays whatever comes after it; before the last byte of a header there is none; and what was
 * read, written again in either version, is read as the same.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "serve/proxy_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of its own, so that a byte read beyond it is seen. */
static enum proxy_protocol_result parse_prefix(const uint8_t *data, size_t length, struct proxy_protocol *header)
{
    uint8_t *exact = malloc(length > 0 ? length : 1);
    CHECK(exact != NULL);
    memcpy(exact, data, length);
    enum proxy_protocol_result result = proxy_protocol_parse(span_of(exact, length), header);
    free(exact);
    return result;
}

static const void *address_of(const union proxy_protocol_address *end)
{
    return end->any.sa_family == AF_INET ? (const void *)&end->ip4.sin_addr : (const void *)&end->ip6.sin6_addr;
}

static bool same_end(const union proxy_protocol_address *one, const union proxy_protocol_address *other)
{
    return one->any.sa_family == other->any.sa_family && one->ip4.sin_port == other->ip4.sin_port &&
           memcmp(address_of(one), address_of(other), one->any.sa_family == AF_INET ? 4 : 16) == 0;
}

static bool same(const struct proxy_protocol *one, const struct proxy_protocol *other)
{
    if (one->local || other->local)
        return one->local == other->local;
    return same_end(&one->source, &other->source) && same_end(&one->destination, &other->destination);
}

static void check_again(const uint8_t *written, size_t length, const struct proxy_protocol *expected)
{
    struct proxy_protocol header;
    CHECK(parse_prefix(written, length, &header) == PROXY_PROTOCOL_DONE);
    CHECK(header.bytes == length && same(&header, expected));
}

static void write_again(const struct proxy_protocol *header)
{
    char line[PROXY_PROTOCOL_LINE_BYTES + 1], source[INET6_ADDRSTRLEN], destination[INET6_ADDRSTRLEN];
    bool ip4 = header->source.any.sa_family == AF_INET;
    size_t size = ip4 ? 4 : 16;
    uint8_t binary[16 + 36] = {'\r', '\n', '\r', '\n', 0,    '\r', '\n',
                               'Q',  'U',  'I',  'T',  '\n', 0x21, ip4 ? 0x11 : 0x21};
    CHECK(ip4 || header->source.any.sa_family == AF_INET6);
    CHECK(header->destination.any.sa_family == header->source.any.sa_family);
    inet_ntop(header->source.any.sa_family, address_of(&header->source), source, sizeof source);
    inet_ntop(header->source.any.sa_family, address_of(&header->destination), destination, sizeof destination);
    int length = snprintf(line, sizeof line, "PROXY TCP%c %s %s %u %u\r\n", ip4 ? '4' : '6', source, destination,
                          ntohs(header->source.ip4.sin_port), ntohs(header->destination.ip4.sin_port));
    check_again((const uint8_t *)line, (size_t)length, header);
    binary[15] = (uint8_t)(2 * (size + 2));
    memcpy(binary + 16, address_of(&header->source), size);
    memcpy(binary + 16 + size, address_of(&header->destination), size);
    memcpy(binary + 16 + 2 * size, &header->source.ip4.sin_port, 2);
    memcpy(binary + 18 + 2 * size, &header->destination.ip4.sin_port, 2);
    check_again(binary, 16 + 2 * (size + 2), header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proxy_protocol whole = {0}, header;
    if (size > PROXY_PROTOCOL_MAX_BYTES)
        size = PROXY_PROTOCOL_MAX_BYTES;
    enum proxy_protocol_result result = parse_prefix(data, size, &whole);
    CHECK(result != PROXY_PROTOCOL_MORE || size < PROXY_PROTOCOL_MAX_BYTES);
    CHECK(result != PROXY_PROTOCOL_DONE || (whole.bytes > 0 && whole.bytes <= size));
    size_t step = size / 128 + 1;
    for (size_t length = 0; length < size; length += step) {
        enum proxy_protocol_result before = parse_prefix(data, length, &header);
        CHECK(before == PROXY_PROTOCOL_MORE || before == result);
        CHECK(before != PROXY_PROTOCOL_DONE || (header.bytes == whole.bytes && same(&header, &whole)));
        CHECK(result != PROXY_PROTOCOL_DONE || (before == PROXY_PROTOCOL_DONE) == (length >= whole.bytes));
    }
    if (result != PROXY_PROTOCOL_DONE)
        return 0;
    CHECK(parse_prefix(data, whole.bytes, &header) == PROXY_PROTOCOL_DONE);
    CHECK(parse_prefix(data, whole.bytes - 1, &header) == PROXY_PROTOCOL_MORE);
    if (!whole.local)
        write_again(&whole);
    return 0;
}
