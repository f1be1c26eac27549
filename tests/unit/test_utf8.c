/*
 * test_utf8.c: characters. All of them are known, and beside them nothing is: each one is encoded here and counted.
 */
#include <CUnit/CUnit.h>

#include "base/utf8.h"
#include "guard.h"
#include "suite.h"

static size_t encode(uint32_t character, uint8_t to[4])
{
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = length - 1; i > 0; i--, character >>= 6)
        to[i] = (uint8_t)(0x80 | (character & 0x3f));
    to[0] = (uint8_t)(first[length] | character);
    return length;
}

/* Also where the text ends behind it, and where it ends within it. */
static void every_character(void)
{
    for (uint32_t character = 0; character < 0x110000; character++) {
        uint8_t bytes[4];
        uint32_t seen;
        size_t length = encode(character, bytes);
        bool is_surrogate = character >= 0xd800 && character < 0xe000;

        SUITE_CHECK(utf8_character(span_of(bytes, length), &seen) == (is_surrogate ? 0 : length), "U+%04X", character);
        SUITE_CHECK(is_surrogate || seen == character, "U+%04X is U+%04X", character, seen);
        for (size_t cut = 0; cut < length; cut++)
            SUITE_CHECK(utf8_character(span_of(bytes, cut), &seen) == 0, "%zu bytes of U+%04X", cut, character);
    }
}

static int count_of(const uint8_t *bytes, size_t length)
{
    uint32_t character;
    return utf8_character(span_of(bytes, length), &character) == length;
}

/* As many sequences of two and of three bytes as there are characters of that length; of four, where the last two bytes
 * are at the ends of what they may be, one beyond included. */
static void nothing_else(void)
{
    static const uint8_t last[] = {0x7f, 0x80, 0xbf, 0xc0};
    int two = 0, three = 0, four = 0;

    for (unsigned pair = 0; pair < 0x10000; pair++) {
        uint8_t bytes[4] = {(uint8_t)(pair >> 8), (uint8_t)pair};

        two += count_of(bytes, 2);
        for (unsigned third = 0; third < 0x100; third++) {
            bytes[2] = (uint8_t)third;
            three += count_of(bytes, 3);
        }
        for (int i = 0; i < 16; i++) {
            bytes[2] = last[i / 4];
            bytes[3] = last[i % 4];
            four += count_of(bytes, 4);
        }
    }
    CU_ASSERT_EQUAL(two, 0x800 - 0x80);
    CU_ASSERT_EQUAL(three, 0x10000 - 0x800 - 0x800);
    CU_ASSERT_EQUAL(four, 0x100000 / (64 * 64) * 4);
}

static void texts(void)
{
    static const struct {
        const char *bytes;
        bool is_text;
    } cases[] = {
        {"", true},          {"plain", true},         {"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", true},
        {"a\xc3", false},    {"\xff", false},         {"a\xc3\xbc\xc3", false},
        {"\xc0\xaf", false}, {"\xed\xa0\x80", false},
    };

    for (size_t i = 0; i < SUITE_COUNT(cases); i++) {
        struct span text = span_text(cases[i].bytes);

        SUITE_CHECK(utf8_is_text(guard_copy(text.at, text.length)) == cases[i].is_text, "case %zu", i);
    }
    CU_ASSERT(utf8_is_text(span_of("a\0b", 3)));
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"every character", every_character},
        {"nothing else", nothing_else},
        {"texts", texts},
    };
    return suite_main("utf8", cases, SUITE_COUNT(cases), argc, argv);
}
