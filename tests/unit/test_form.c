/*
 * test_form.c: query strings and forms, right and wrong. Cases C69, C103.
 *
 * Every input lies directly before a page that cannot be read, and what is written has exactly the room that form.h
 * asks for: a byte beyond either shows, the latter under AddressSanitizer.
 */
#include <CUnit/CUnit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "serve/form.h"
#include "suite.h"

#define BYTES(text) text, sizeof(text) - 1

struct decoded {
    struct form_field *fields;
    size_t count;
    char *texts;
};

static struct decoded decode(struct span form)
{
    struct decoded decoded = {.count = form_count(form)};

    decoded.fields = malloc(decoded.count * sizeof *decoded.fields + 1);
    decoded.texts = malloc(form.length + 2 * decoded.count + 1);
    CU_ASSERT_FATAL(decoded.fields != NULL && decoded.texts != NULL);
    decoded.texts[form.length + 2 * decoded.count] = '~';
    form_decode(form, decoded.fields, decoded.texts);
    CU_ASSERT_EQUAL(decoded.texts[form.length + 2 * decoded.count], '~');
    return decoded;
}

static void forget(struct decoded *decoded)
{
    free(decoded->fields);
    free(decoded->texts);
}

/* The fields as text, `[name][value]`, what is no text as `!`. */
static const char *describe(const struct decoded *decoded)
{
    static char text[4096];

    text[0] = '\0';
    for (size_t i = 0; i < decoded->count; i++) {
        const char *parts[] = {decoded->fields[i].name, decoded->fields[i].value};

        for (int j = 0; j < 2; j++) {
            strcat(text, parts[j] ? "[" : "!");
            strcat(text, parts[j] ? parts[j] : "");
            strcat(text, parts[j] ? "]" : "");
        }
    }
    return text;
}

static const struct {
    const char *form;
    size_t length;
    const char *meaning;
} forms[] = {
    {BYTES(""), ""},
    {BYTES("a=b"), "[a][b]"},
    {BYTES("a=b&c=d"), "[a][b][c][d]"},
    {BYTES("a=1&a=2"), "[a][1][a][2]"},
    {BYTES("a"), "[a][]"},
    {BYTES("a="), "[a][]"},
    {BYTES("=b"), "[][b]"},
    {BYTES("="), "[][]"},
    {BYTES("=="), "[][=]"},
    {BYTES("a=b=c"), "[a][b=c]"},
    {BYTES("&"), ""},
    {BYTES("&&&"), ""},
    {BYTES("&a=b&&c=d&"), "[a][b][c][d]"},
    {BYTES("a;b=c;d"), "[a;b][c;d]"}, /* a semicolon separates nothing */
    {BYTES("a?b=c#d"), "[a?b][c#d]"},
    {BYTES("a+b=c+d++"), "[a b][c d  ]"},
    {BYTES("a%2Bb=c%20d"), "[a+b][c d]"},
    {BYTES("a%3Db=c%26d"), "[a=b][c&d]"},
    {BYTES("%61=%42%7a%7A"), "[a][Bzz]"},
    {BYTES("a=%2541"), "[a][%41]"}, /* decoded once */
    {BYTES("a=%0D%0A%09%01%7f"), "[a][\r\n\t\x01\x7f]"},
    {BYTES("a=b\r\nc"), "[a][b\r\nc]"},
    {BYTES("a=<>\"'"), "[a][<>\"']"},
    /* escapes that are none */
    {BYTES("a=%"), "[a]!"},
    {BYTES("a=%4"), "[a]!"},
    {BYTES("a=%4&b=1"), "[a]![b][1]"}, /* what follows is not taken for its second digit */
    {BYTES("a=%&41=1"), "[a]![41][1]"},
    {BYTES("a=%4=1"), "[a]!"},
    {BYTES("a%4=1"), "![1]"},
    {BYTES("a=%4g"), "[a]!"},
    {BYTES("a=%g4"), "[a]!"},
    {BYTES("a=%%41"), "[a]!"},
    {BYTES("a=%+4"), "[a]!"},
    {BYTES("a=% 41"), "[a]!"},
    {BYTES("a=%u0041"), "[a]!"},
    {BYTES("a=%0x41"), "[a]!"},
    {BYTES("a=100%"), "[a]!"},
    /* NUL */
    {BYTES("a=%00"), "[a]!"},
    {BYTES("a=b%00c"), "[a]!"},
    {BYTES("a%00b=c"), "![c]"},
    {BYTES("a=b\0c"), "[a]!"},
    {BYTES("\0=b"), "![b]"},
    {BYTES("a=%0"), "[a]!"},
    /* UTF-8 */
    {BYTES("n=%C3%BC&m=\xc3\xbc"), "[n][\xc3\xbc][m][\xc3\xbc]"},
    {BYTES("n=\xc3%BC"), "[n][\xc3\xbc]"},
    {BYTES("%E2%82%AC=%F0%9F%98%80"), "[\xe2\x82\xac][\xf0\x9f\x98\x80]"},
    {BYTES("n=%FC"), "[n]!"}, /* Latin-1 */
    {BYTES("n=%C3"), "[n]!"},
    {BYTES("n=%C3&m=%BC"), "[n]![m]!"},
    {BYTES("n=%C3+%BC"), "[n]!"},
    {BYTES("n=%BC"), "[n]!"},
    {BYTES("n=%C0%80"), "[n]!"}, /* a NUL, overlong */
    {BYTES("n=%C0%AF"), "[n]!"},
    {BYTES("n=%E0%80%AF"), "[n]!"},
    {BYTES("n=%F0%80%80%AF"), "[n]!"},
    {BYTES("n=%ED%A0%80"), "[n]!"}, /* a surrogate */
    {BYTES("n=%ED%A0%BD%ED%B8%80"), "[n]!"},
    {BYTES("n=%F4%8F%BF%BF"), "[n][\xf4\x8f\xbf\xbf]"},
    {BYTES("n=%F4%90%80%80"), "[n]!"},
    {BYTES("n=%FF"), "[n]!"},
    {BYTES("n=%EF%BB%BFa"), "[n][\xef\xbb\xbf"
                            "a]"}, /* a byte order mark is a character like others */
};

static void meanings(void)
{
    for (size_t i = 0; i < SUITE_COUNT(forms); i++) {
        struct decoded decoded = decode(guard_copy(forms[i].form, forms[i].length));

        SUITE_CHECK(strcmp(describe(&decoded), forms[i].meaning) == 0, "'%s': '%s', not '%s'", forms[i].form,
                    describe(&decoded), forms[i].meaning);
        forget(&decoded);
    }
}

static bool same(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* Wherever a form ends too early, the fields in front of its last one are what they were. */
static void every_prefix(void)
{
    for (size_t i = 0; i < SUITE_COUNT(forms); i++) {
        struct decoded whole = decode(span_of(forms[i].form, forms[i].length));

        for (size_t length = 0; length < forms[i].length; length++) {
            struct decoded part = decode(guard_copy(forms[i].form, length));

            CU_ASSERT_FATAL(part.count <= whole.count);
            for (size_t j = 0; j + 1 < part.count; j++)
                SUITE_CHECK(same(part.fields[j].name, whole.fields[j].name) &&
                                same(part.fields[j].value, whole.fields[j].value),
                            "'%s': field %zu of its first %zu bytes", forms[i].form, j, length);
            forget(&part);
        }
        forget(&whole);
    }
}

/* Two forms with & between them are the fields of both, whatever the two halves hold. */
static void every_split(void)
{
    for (size_t i = 0; i < SUITE_COUNT(forms); i++) {
        for (size_t at = 0; at <= forms[i].length; at++) {
            struct decoded first = decode(span_of(forms[i].form, at));
            struct decoded second = decode(span_of(forms[i].form + at, forms[i].length - at));
            char joined[256], expected[1024];

            memcpy(joined, forms[i].form, at);
            joined[at] = '&';
            memcpy(joined + at + 1, forms[i].form + at, forms[i].length - at);
            strcpy(expected, describe(&first));
            strcat(expected, describe(&second));
            struct decoded both = decode(guard_copy(joined, forms[i].length + 1));
            SUITE_CHECK(strcmp(describe(&both), expected) == 0, "'%s' split at %zu: '%s', not '%s'", forms[i].form, at,
                        describe(&both), expected);
            forget(&first);
            forget(&second);
            forget(&both);
        }
    }
}

/* Every byte, escaped in both cases of its digits, and as it is. */
static void every_byte(void)
{
    for (int byte = 0; byte < 256; byte++) {
        for (int i = 0; i < 2; i++) {
            char form[16];
            int length = snprintf(form, sizeof form, i == 0 ? "a=%%%02X" : "a=%%%02x", (unsigned)byte);
            struct decoded decoded = decode(guard_copy(form, (size_t)length));
            const char *value = decoded.fields[0].value;

            if (byte == 0 || byte >= 0x80)
                SUITE_CHECK(value == NULL, "%s is a text", form);
            else
                SUITE_CHECK(value != NULL && value[0] == byte && value[1] == '\0', "%s is '%s'", form, value);
            forget(&decoded);
        }
        if (byte != '&' && byte != '=' && byte != '%' && byte != '+') {
            char form[] = {'a', '=', (char)byte};
            struct decoded decoded = decode(guard_copy(form, sizeof form));
            const char *value = decoded.fields[0].value;

            SUITE_CHECK(byte == 0 || byte >= 0x80 ? value == NULL : value != NULL && value[0] == byte, "byte %d", byte);
            forget(&decoded);
        }
    }
}

/* The first one of the name; a name that is no text is no field's; names are compared as they are. */
static void found(void)
{
    static const char form[] = "a=1&a=2&A=3&%61b=4&a%00=5&%zz=6&=7&b=%&b=8";
    struct decoded decoded = decode(span_of(form, sizeof form - 1));
    const struct form_field *field;
    static const struct {
        const char *name, *value;
    } names[] = {{"a", "1"}, {"A", "3"}, {"ab", "4"}, {"", "7"}, {"b", NULL}};

    for (size_t i = 0; i < SUITE_COUNT(names); i++) {
        field = form_find(decoded.fields, decoded.count, names[i].name);
        SUITE_CHECK(field != NULL && same(field->value, names[i].value), "%s", names[i].name);
    }
    CU_ASSERT_PTR_NULL(form_find(decoded.fields, decoded.count, "c"));
    CU_ASSERT_PTR_NULL(form_find(decoded.fields, decoded.count, "%zz"));
    CU_ASSERT_PTR_NULL(form_find(decoded.fields, 0, "a"));
    forget(&decoded);
}

int main(int argc, char **argv)
{
    static const struct suite_case cases[] = {
        {"what forms mean", meanings}, {"every prefix of a form", every_prefix}, {"two forms joined", every_split},
        {"every byte", every_byte},    {"fields by their names", found},
    };
    return suite_main("form", cases, SUITE_COUNT(cases), argc, argv);
}
