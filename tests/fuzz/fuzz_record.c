/*
 * fuzz_record.c: libFuzzer entry for the record parser and name-value pairs.
 *
 * The first byte says how the rest is cut. Whatever the cuts, the same pieces must come out: types, ids, content bytes.
 */
#include <stdlib.h>

#include "base/check.h"
#include "serve/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct digest {
    uint64_t hash;
    size_t records;
    enum record_result end;
};

static void add(struct digest *digest, uint64_t value)
{
    digest->hash = (digest->hash ^ value) * UINT64_C(1099511628211);
}

static void take_pieces(struct record_parser *parser, struct span input, struct digest *digest)
{
    struct record_piece piece;
    while (digest->end != RECORD_BAD_VERSION && (digest->end = record_parse(parser, &input, &piece)) == RECORD_PIECE) {
        CHECK(piece.bytes.length <= piece.content_length);
        for (size_t i = 0; i < piece.bytes.length; i++)
            add(digest, piece.bytes.at[i]);
        if (!piece.ends_record)
            continue;
        add(digest, (uint64_t)piece.type << 32 | (uint64_t)piece.id << 16 | piece.content_length);
        digest->records++;
    }
    CHECK(digest->end == RECORD_BAD_VERSION || input.length == 0);
}

/* Each part is a copy of its own, so that a byte read beyond it is seen. */
static struct digest parse_in_parts(const uint8_t *data, size_t size, size_t part)
{
    struct record_parser parser = {0};
    struct digest digest = {0};
    for (size_t at = 0; at < size; at += part) {
        size_t length = size - at < part ? size - at : part;
        uint8_t *copy = malloc(length);
        CHECK(copy != NULL);
        memcpy(copy, data + at, length);
        take_pieces(&parser, span_of(copy, length), &digest);
        free(copy);
    }
    return digest;
}

static void read_pairs(const uint8_t *data, size_t size)
{
    struct span pairs = span_of(data, size), name, value;
    size_t total = 0;
    while (record_pair(&pairs, &name, &value) == 1) {
        total += name.length + value.length;
        CHECK(name.at >= data && name.at + name.length <= data + size);
        CHECK(value.at >= data && value.at + value.length <= data + size);
    }
    CHECK(total <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct digest whole = parse_in_parts(data + 1, size - 1, size);
    struct digest parts = parse_in_parts(data + 1, size - 1, (size_t)data[0] % 64 + 1);
    CHECK(whole.hash == parts.hash && whole.records == parts.records);
    CHECK((whole.end == RECORD_BAD_VERSION) == (parts.end == RECORD_BAD_VERSION));
    read_pairs(data + 1, size - 1);
    return 0;
}
