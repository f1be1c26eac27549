/*
 * record.c: reads and writes FastCGI records. Pure; runs on lanes and handler threads.
 */
#include "serve/record.h"

#define VERSION 1

static uint16_t get_16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void put_16(uint8_t *to, size_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void skip_padding(struct record_parser *parser, struct span *input)
{
    size_t skipped = smaller(parser->padding_left, input->length);
    span_take(input, skipped);
    parser->padding_left = (uint8_t)(parser->padding_left - skipped);
    if (parser->padding_left == 0)
        parser->header_length = 0;
}

/* Returns true when the header is complete. */
static bool take_header(struct record_parser *parser, struct span *input)
{
    size_t taken = smaller(RECORD_HEADER_BYTES - (size_t)parser->header_length, input->length);
    memcpy(parser->header + parser->header_length, span_take(input, taken).at, taken);
    parser->header_length = (uint8_t)(parser->header_length + taken);
    if (parser->header_length < RECORD_HEADER_BYTES)
        return false;
    parser->content_left = get_16(parser->header + 4);
    parser->padding_left = parser->header[6];
    return true;
}

enum record_result record_parse(struct record_parser *parser, struct span *input, struct record_piece *piece)
{
    bool inside = parser->header_length == RECORD_HEADER_BYTES;
    if (inside && parser->content_left == 0) {
        skip_padding(parser, input);
        inside = parser->header_length == RECORD_HEADER_BYTES;
    }
    if (input->length == 0 || (!inside && !take_header(parser, input)))
        return RECORD_MORE;
    if (parser->header[0] != VERSION)
        return RECORD_BAD_VERSION;
    uint16_t content_length = get_16(parser->header + 4);
    size_t taken = smaller(parser->content_left, input->length);
    if (taken == 0 && content_length > 0)
        return RECORD_MORE; /* the header alone has come */
    parser->content_left = (uint16_t)(parser->content_left - taken);
    *piece = (struct record_piece){
        .type = parser->header[1],
        .id = get_16(parser->header + 2),
        .content_length = content_length,
        .ends_record = parser->content_left == 0,
        .bytes = span_take(input, taken),
    };
    if (piece->ends_record)
        skip_padding(parser, input);
    return RECORD_PIECE;
}

bool record_at_boundary(const struct record_parser *parser)
{
    return parser->header_length == 0;
}

/* Section 3.4: one byte, or four with the highest bit set. Returns false when the bytes end too early. */
static bool take_length(struct span *from, size_t *length)
{
    if (from->length == 0)
        return false;
    if (from->at[0] < 0x80) {
        *length = span_take(from, 1).at[0];
        return true;
    }
    if (from->length < 4)
        return false;
    const uint8_t *at = span_take(from, 4).at;
    *length = (size_t)(at[0] & 0x7f) << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    return true;
}

int record_pair(struct span *pairs, struct span *name, struct span *value)
{
    size_t name_length, value_length;
    if (pairs->length == 0)
        return 0;
    if (!take_length(pairs, &name_length) || !take_length(pairs, &value_length))
        return -1;
    if (name_length > pairs->length || value_length > pairs->length - name_length)
        return -1;
    *name = span_take(pairs, name_length);
    *value = span_take(pairs, value_length);
    return 1;
}

size_t record_put_header(uint8_t *to, enum record_type type, uint16_t id, size_t content_bytes, size_t padding_bytes)
{
    to[0] = VERSION;
    to[1] = (uint8_t)type;
    put_16(to + 2, id);
    put_16(to + 4, content_bytes);
    to[6] = (uint8_t)padding_bytes;
    to[7] = 0;
    return RECORD_HEADER_BYTES;
}

size_t record_put_end(uint8_t *to, uint16_t id, uint32_t app_status, enum record_status status)
{
    record_put_header(to, RECORD_END_REQUEST, id, 8, 0);
    put_16(to + 8, app_status >> 16);
    put_16(to + 10, app_status & 0xffff);
    to[12] = (uint8_t)status;
    memset(to + 13, 0, 3);
    return RECORD_END_BYTES;
}

size_t record_put_unknown_type(uint8_t *to, uint8_t type)
{
    record_put_header(to, RECORD_UNKNOWN_TYPE, 0, 8, 0);
    memset(to + 8, 0, 8);
    to[8] = type;
    return RECORD_HEADER_BYTES + 8;
}

size_t record_put_short_pair(uint8_t *to, struct span name, struct span value)
{
    to[0] = (uint8_t)name.length;
    to[1] = (uint8_t)value.length;
    memcpy(to + 2, name.at, name.length);
    memcpy(to + 2 + name.length, value.at, value.length);
    return 2 + name.length + value.length;
}
