/* test_visible.c: bytes from outside as text, and numbers for people. */
#include <CUnit/CUnit.h>

#include <string.h>

#include "base/clock.h"
#include "control/figure.h"
#include "control/visible.h"
#include "suite.h"

static void what_is_shown(void)
{
    static const struct {
        const char *bytes, *shown;
    } texts[] = {
        {"", ""},
        {"/plain?a=b&c=<d>\"'\\", "/plain?a=b&c=<d>\"'\\"},
        {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"a\x1b[31mb", "a%1B[31mb"},
        {"line\r\nend\t\x7f", "line%0D%0Aend%09%7F"},
        {"\xff\xfe", "%FF%FE"},
        {"cut \xc3", "cut %C3"},
        {"cut \xe2\x82", "cut %E2%82"},
        {"cut \xf0\x9f\x98", "cut %F0%9F%98"},
        {"\xe2\x82\x28", "%E2%82("},
        {"\x80\xbf", "%80%BF"},
        {"\xc0\xaf", "%C0%AF"},               /* overlong */
        {"\xe0\x80\xaf", "%E0%80%AF"},        /* overlong */
        {"\xf0\x80\x80\xaf", "%F0%80%80%AF"}, /* overlong */
        {"\xed\xa0\x80", "%ED%A0%80"},        /* a surrogate */
        {"\xf4\x90\x80\x80", "%F4%90%80%80"}, /* beyond the last character */
        {"\xf8\x88\x80\x80\x80", "%F8%88%80%80%80"},
        {"\xc2\x9b"
         "31m",
         "%C2%9B31m"}, /* a control of its own */
        {"a\xe2\x80\xae"
         "b",
         "a%E2%80%AEb"}, /* turns the direction of writing */
        {"a\xe2\x81\xa6"
         "b",
         "a%E2%81%A6b"},
    };

    for (size_t i = 0; i < SUITE_COUNT(texts); i++) {
        char room[VISIBLE_ROOM(64)];

        visible_copy(room, sizeof room, texts[i].bytes);
        SUITE_CHECK(strcmp(room, texts[i].shown) == 0, "'%s', not '%s'", room, texts[i].shown);
    }
}

/* All of the worst fits where there is room for it, and nothing is cut in the middle where there is not. */
static void room(void)
{
    char bytes[41], to[VISIBLE_ROOM(40)];

    memset(bytes, 0xff, 40);
    bytes[40] = '\0';
    CU_ASSERT_EQUAL(strlen(visible_copy(to, sizeof to, bytes)), 120);
    CU_ASSERT_STRING_EQUAL(visible_copy(to, 1, bytes), "");
    CU_ASSERT_STRING_EQUAL(visible_copy(to, 3, bytes), "");
    CU_ASSERT_STRING_EQUAL(visible_copy(to, 4, bytes), "%FF");
    CU_ASSERT_STRING_EQUAL(visible_copy(to, 6, bytes), "%FF");
    CU_ASSERT_STRING_EQUAL(visible_copy(to, 4, "\xe2\x82\xac"), "\xe2\x82\xac");
    CU_ASSERT_STRING_EQUAL(visible_copy(to, 3, "\xe2\x82\xac"), "");
}

static void numbers(void)
{
    static const struct {
        double number;
        const char *text;
    } texts[] = {
        {0, "0"},       {0.0001, "0"},   {0.001, "0.001"},   {0.1268, "0.127"}, {0.9996, "1.00"},
        {1, "1.00"},    {9.994, "9.99"}, {9.996, "10.0"},    {12.34, "12.3"},   {99.94, "99.9"},
        {99.96, "100"}, {999.6, "1000"}, {12345.6, "12346"},
    };

    for (size_t i = 0; i < SUITE_COUNT(texts); i++)
        SUITE_CHECK(strcmp(figure_number(texts[i].number).text, texts[i].text) == 0, "%g is '%s'", texts[i].number,
                    figure_number(texts[i].number).text);
    CU_ASSERT_STRING_EQUAL(figure_ms(1500).text, "1.50");
    CU_ASSERT_STRING_EQUAL(figure_rate(-1).text, "–");
    CU_ASSERT_STRING_EQUAL(figure_rate(0).text, "0");
    CU_ASSERT_STRING_EQUAL(figure_rate(9999.4).text, "9999");
    CU_ASSERT_STRING_EQUAL(figure_rate(9999.5).text, "10\u202f000");
    CU_ASSERT_STRING_EQUAL(figure_count(9999).text, "9999");
    CU_ASSERT_STRING_EQUAL(figure_count(10000).text, "10\u202f000");
    CU_ASSERT_STRING_EQUAL(figure_count(UINT64_MAX).text, "18\u202f446\u202f744\u202f073\u202f709\u202f551\u202f615");
}

static void times(void)
{
    CU_ASSERT_STRING_EQUAL(figure_elapsed(-5).text, "0 ms");
    CU_ASSERT_STRING_EQUAL(figure_elapsed(12 * CLOCK_MS).text, "12.0 ms");
    CU_ASSERT_STRING_EQUAL(figure_elapsed(1270 * CLOCK_MS).text, "1.27 s");
    CU_ASSERT_STRING_EQUAL(figure_elapsed(253 * CLOCK_SECOND).text, "4 min 13 s");
    CU_ASSERT_STRING_EQUAL(figure_age(0).text, "0 s");
    CU_ASSERT_STRING_EQUAL(figure_age(59 * CLOCK_SECOND + 999999).text, "59 s");
    CU_ASSERT_STRING_EQUAL(figure_age(8040 * CLOCK_SECOND).text, "2 h 14 min");
    CU_ASSERT_STRING_EQUAL(figure_age(100 * 3600 * CLOCK_SECOND).text, "4 d 4 h");
}

static const struct suite_case cases[] = {
    {"what is shown", what_is_shown},
    {"room", room},
    {"numbers", numbers},
    {"times", times},
};

int main(int argc, char **argv)
{
    return suite_main("visible", cases, SUITE_COUNT(cases), argc, argv);
}
