/* table.c: a growing text, and the texts of numbers in it; see table.h. */
#include "report/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define TEXTS      8
#define TEXT_BYTES 64

static char *next_text(void)
{
    static char texts[TEXTS][TEXT_BYTES];
    static int used;
    return texts[used++ % TEXTS];
}

void table_add(struct table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    CHECK(length >= 0);
    if (table->length + (size_t)length + 1 > table->room) {
        table->room = 2 * (table->length + (size_t)length + 1);
        table->text = realloc(table->text, table->room);
        CHECK(table->text != NULL);
    }
    va_start(arguments, format);
    vsnprintf(table->text + table->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    table->length += (size_t)length;
}

const char *table_digits(double number, int decimals)
{
    char *text = next_text();
    if (!isfinite(number))
        return TABLE_NOTHING;
    snprintf(text, TEXT_BYTES, "%.*f", decimals, number);
    return text;
}

const char *table_whole(double number)
{
    char digits[TEXT_BYTES / 2], *text = next_text();
    if (!isfinite(number) || fabs(number) > 1e18)
        return TABLE_NOTHING;
    int length = snprintf(digits, sizeof digits, "%.0f", fabs(number)), at = 0;
    if (number <= -0.5)
        text[at++] = '-';
    for (int i = 0; i < length; i++) {
        text[at++] = digits[i];
        if (i + 1 < length && (length - i - 1) % 3 == 0)
            text[at++] = ',';
    }
    text[at] = '\0';
    return text;
}
