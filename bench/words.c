/* words.c: a formatted text of its own; see words.h. */
#include "words.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"

char *words(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    CHECK(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    return text;
}
