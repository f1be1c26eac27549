/* test_record.c: the FastCGI record parser on every split, and name-value pairs. */
#include <CUnit/CUnit.h>
#include <stdlib.h>

#include "base/check.h"
#include "serve/record.h"
#include "suite.h"

/* Three records: content with padding, an empty one, one with padding alone. */
static const uint8_t stream[] = {
    1, 5, 0, 7, 0, 3, 5, 0, 'a', 'b', 'c', 0, 0, 0, 0, 0, /**/
    1, 5, 0, 7, 0, 0, 0, 0,                               /**/
    1, 4, 1, 0, 0, 0, 2, 0, 9, 9,
};

struct seen {
    char content[64];
    size_t content_length;
    int records, empty;
    uint16_t last_id;
    uint8_t last_type;
};

static void feed(struct record_parser *parser, struct span input, struct seen *seen)
{
    struct record_piece piece;
    enum record_result result;
    while ((result = record_parse(parser, &input, &piece)) == RECORD_PIECE) {
        memcpy(seen->content + seen->content_length, piece.bytes.at, piece.bytes.length);
        seen->content_length += piece.bytes.length;
        seen->records += piece.ends_record;
        seen->empty += piece.content_length == 0;
        seen->last_id = piece.id;
        seen->last_type = piece.type;
    }
    CU_ASSERT_EQUAL(result, RECORD_MORE);
    CU_ASSERT_EQUAL(input.length, 0);
}

static void check_seen(const struct seen *seen, const struct record_parser *parser)
{
    CU_ASSERT_EQUAL(seen->records, 3);
    CU_ASSERT_EQUAL(seen->empty, 2);
    CU_ASSERT_EQUAL(seen->content_length, 3);
    CU_ASSERT(memcmp(seen->content, "abc", 3) == 0);
    CU_ASSERT_EQUAL(seen->last_id, 256);
    CU_ASSERT_EQUAL(seen->last_type, RECORD_PARAMS);
    CU_ASSERT(record_at_boundary(parser));
}

static void every_pair_of_splits(void)
{
    for (size_t first = 0; first <= sizeof stream; first++) {
        for (size_t second = first; second <= sizeof stream; second++) {
            struct record_parser parser = {0};
            struct seen seen = {0};
            feed(&parser, span_of(stream, first), &seen);
            feed(&parser, span_of(stream + first, second - first), &seen);
            feed(&parser, span_of(stream + second, sizeof stream - second), &seen);
            check_seen(&seen, &parser);
        }
    }
}

static void byte_by_byte(void)
{
    struct record_parser parser = {0};
    struct seen seen = {0};
    for (size_t i = 0; i < sizeof stream; i++)
        feed(&parser, span_of(stream + i, 1), &seen);
    check_seen(&seen, &parser);
}

static void inside_is_no_boundary(void)
{
    for (size_t length = 1; length < 16; length++) {
        struct record_parser parser = {0};
        struct seen seen = {0};
        feed(&parser, span_of(stream, length), &seen);
        CU_ASSERT_FALSE(record_at_boundary(&parser));
    }
}

static void wrong_versions(void)
{
    for (unsigned version = 0; version < 256; version++) {
        uint8_t record[8] = {(uint8_t)version, 1, 0, 1, 0, 0, 0, 0};
        struct record_parser parser = {0};
        struct record_piece piece;
        struct span input = span_of(record, sizeof record);
        CU_ASSERT_EQUAL(record_parse(&parser, &input, &piece), version == 1 ? RECORD_PIECE : RECORD_BAD_VERSION);
    }
}

static void largest_record(void)
{
    size_t length = 8 + 65535 + 255;
    uint8_t *bytes = calloc(1, length);
    struct record_parser parser = {0};
    struct record_piece piece;
    record_put_header(bytes, RECORD_STDIN, 65535, 65535, 255);
    struct span input = span_of(bytes, length);
    CU_ASSERT_EQUAL(record_parse(&parser, &input, &piece), RECORD_PIECE);
    CU_ASSERT_EQUAL(piece.id, 65535);
    CU_ASSERT_EQUAL(piece.bytes.length, 65535);
    CU_ASSERT(piece.ends_record);
    CU_ASSERT_EQUAL(record_parse(&parser, &input, &piece), RECORD_MORE);
    CU_ASSERT(record_at_boundary(&parser));
    free(bytes);
}

struct pair_case {
    const char *name;
    const char *bytes;
    size_t length;
    int result; /* of the first pair */
    size_t name_length, value_length;
};

#define CASE(name, bytes, result, name_length, value_length) {name, bytes, sizeof bytes - 1, result, name_length, value_length}

static const struct pair_case pair_cases[] = {
    CASE("nothing", "", 0, 0, 0),
    CASE("both empty", "\0\0", 1, 0, 0),
    CASE("short", "\1\2abb", 1, 1, 2),
    CASE("four-byte form of a short length", "\x80\0\0\1\2abb", 1, 1, 2),
    CASE("value length missing", "\1", -1, 0, 0),
    CASE("length field cut", "\x80\0\0", -1, 0, 0),
    CASE("second length field cut", "\1\x80\0\0", -1, 0, 0),
    CASE("name beyond the end", "\5\0abc", -1, 0, 0),
    CASE("value beyond the end", "\1\5abc", -1, 0, 0),
    CASE("largest lengths", "\xff\xff\xff\xff\xff\xff\xff\xff" "abc", -1, 0, 0),
    CASE("sum wraps in 32 bits", "\xff\xff\xff\xff\x80\0\0\1abc", -1, 0, 0),
};

static void pairs(void)
{
    for (size_t i = 0; i < COUNT_OF(pair_cases); i++) {
        const struct pair_case *test = &pair_cases[i];
        struct span input = span_of(test->bytes, test->length), name = {0}, value = {0};
        int result = record_pair(&input, &name, &value);
        if (result != test->result || (result == 1 && (name.length != test->name_length || value.length != test->value_length)))
            fprintf(stderr, "pair case failed: %s\n", test->name);
        CU_ASSERT_EQUAL(result, test->result);
        CU_ASSERT_EQUAL(name.length, test->name_length);
        CU_ASSERT_EQUAL(value.length, test->value_length);
    }
}

static void lengths_around_the_forms(void)
{
    static const size_t lengths[] = {0, 1, 126, 127, 128, 255, 256, 65535};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        uint8_t *bytes = calloc(1, 5 + lengths[i]);
        size_t at = 0;
        bytes[at++] = 0;
        if (lengths[i] < 128) {
            bytes[at++] = (uint8_t)lengths[i];
        } else {
            bytes[at++] = (uint8_t)(0x80 | lengths[i] >> 24);
            bytes[at++] = (uint8_t)(lengths[i] >> 16);
            bytes[at++] = (uint8_t)(lengths[i] >> 8);
            bytes[at++] = (uint8_t)lengths[i];
        }
        struct span input = span_of(bytes, at + lengths[i]), name, value;
        CU_ASSERT_EQUAL(record_pair(&input, &name, &value), 1);
        CU_ASSERT_EQUAL(value.length, lengths[i]);
        CU_ASSERT_EQUAL(input.length, 0);
        free(bytes);
    }
}

static void written_records(void)
{
    uint8_t bytes[32];
    CU_ASSERT_EQUAL(record_put_end(bytes, 258, 0x01020304, RECORD_OVERLOADED), 16);
    CU_ASSERT(memcmp(bytes, "\1\3\1\2\0\10\0\0\1\2\3\4\2\0\0\0", 16) == 0);
    CU_ASSERT_EQUAL(record_put_unknown_type(bytes, 99), 16);
    CU_ASSERT(memcmp(bytes, "\1\13\0\0\0\10\0\0\143\0\0\0\0\0\0\0", 16) == 0);
    CU_ASSERT_EQUAL(record_put_short_pair(bytes, span_text("AB"), span_text("c")), 5);
    CU_ASSERT(memcmp(bytes, "\2\1ABc", 5) == 0);
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"every pair of splits gives the same records", every_pair_of_splits},
        {"byte by byte", byte_by_byte},
        {"inside a record is no boundary", inside_is_no_boundary},
        {"every version but 1 is refused", wrong_versions},
        {"the largest record with the largest padding", largest_record},
        {"name-value pairs", pairs},
        {"lengths around the one-byte and four-byte forms", lengths_around_the_forms},
        {"records written", written_records},
    };
    return suite_main("record", cases, COUNT_OF(cases), argc, argv);
}
