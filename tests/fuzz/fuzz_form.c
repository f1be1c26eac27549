/*
 * fuzz_form.c: libFuzzer entry for forms.
 *
 * Whatever the bytes: the fields are those that a second decoder sees, which is written down here field by field as the
 * URL Standard says it (section 5.1), knows nothing of the first one's pieces, and is slow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "serve/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int digit(uint8_t byte)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = byte == '\0' ? NULL : strchr(digits, byte);
    return at == NULL ? -1 : (int)((at - digits) % 16);
}

/* The table of RFC 3629 section 4, by ranges of the second byte. */
static bool is_utf8(const uint8_t *bytes, size_t length)
{
    static const struct {
        uint8_t first_low, first_high, second_low, second_high, more;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 0x80, 0xbf, 1}, {0xe0, 0xe0, 0xa0, 0xbf, 2},
        {0xe1, 0xec, 0x80, 0xbf, 2}, {0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2},
        {0xf0, 0xf0, 0x90, 0xbf, 3}, {0xf1, 0xf3, 0x80, 0xbf, 3}, {0xf4, 0xf4, 0x80, 0x8f, 3},
    };
    size_t at = 0;
    while (at < length) {
        size_t form = 0;
        while (form < COUNT_OF(forms) && !(bytes[at] >= forms[form].first_low && bytes[at] <= forms[form].first_high))
            form++;
        if (form == COUNT_OF(forms) || length - at <= forms[form].more)
            return false;
        for (size_t i = 1; i <= forms[form].more; i++) {
            uint8_t low = i == 1 ? forms[form].second_low : 0x80, high = i == 1 ? forms[form].second_high : 0xbf;
            if (bytes[at + i] < low || bytes[at + i] > high)
                return false;
        }
        at += 1u + forms[form].more;
    }
    return true;
}

/* Checks one name or value against the bytes [from, to). */
static void check_text(const char *text, const uint8_t *data, size_t from, size_t to)
{
    uint8_t *bytes = malloc(to - from + 1);
    size_t length = 0;
    bool is_text = true;
    CHECK(bytes != NULL);
    for (size_t i = from; i < to; i++) {
        int byte = data[i];
        if (byte == '%') {
            if (to - i < 3 || digit(data[i + 1]) < 0 || digit(data[i + 2]) < 0) {
                is_text = false;
                break;
            }
            byte = digit(data[i + 1]) * 16 + digit(data[i + 2]);
            i += 2;
        } else if (byte == '+') {
            byte = ' ';
        }
        bytes[length++] = (uint8_t)byte;
    }
    is_text = is_text && memchr(bytes, 0, length) == NULL && is_utf8(bytes, length);
    CHECK(is_text == (text != NULL));
    if (is_text)
        CHECK(strlen(text) == length && memcmp(text, bytes, length) == 0);
    free(bytes);
}

static size_t find(const uint8_t *data, size_t from, size_t to, char byte)
{
    while (from < to && data[from] != (uint8_t)byte)
        from++;
    return from;
}

/* Returns how many fields there are. */
static size_t check_fields(const struct form_field *fields, size_t count, const uint8_t *data, size_t size)
{
    size_t seen = 0;
    for (size_t at = 0; at < size;) {
        size_t end = find(data, at, size, '&'), equals = find(data, at, end, '=');
        if (end > at) {
            CHECK(seen < count);
            check_text(fields[seen].name, data, at, equals);
            check_text(fields[seen].value, data, equals < end ? equals + 1 : end, end);
            seen++;
        }
        at = end + 1;
    }
    return seen;
}

/* Each name leads to the first field that has it. */
static void check_names(const struct form_field *fields, size_t count)
{
    for (size_t i = 0; i < count && i < 32; i++) {
        if (fields[i].name == NULL)
            continue;
        const struct form_field *found = form_find(fields, count, fields[i].name);
        CHECK(found != NULL && found <= &fields[i] && strcmp(found->name, fields[i].name) == 0);
        for (const struct form_field *before = fields; before < found; before++)
            CHECK(before->name == NULL || strcmp(before->name, fields[i].name) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span form = span_of(data, size);
    size_t count = form_count(form);
    struct form_field *fields = malloc(count * sizeof *fields + 1);
    char *texts = malloc(size + 2 * count > 0 ? size + 2 * count : 1); /* not a byte more: a sanitizer would see it */
    CHECK(fields != NULL && texts != NULL);
    form_decode(form, fields, texts);
    CHECK(check_fields(fields, count, data, size) == count);
    check_names(fields, count);
    free(fields);
    free(texts);
    return 0;
}
