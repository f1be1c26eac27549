/*
 * form.c: splits a form into fields and decodes them. Pure; runs on any thread.
 */
#include "serve/form.h"

#include "base/utf8.h"
#include "serve/token.h"

/* Takes what lies before the separator, or all, off the front; and the separator. */
static struct span take_to(struct span *from, char separator)
{
    const uint8_t *end = from->length == 0 ? NULL : memchr(from->at, separator, from->length);
    struct span taken = span_take(from, end == NULL ? from->length : (size_t)(end - from->at));
    if (end != NULL)
        span_take(from, 1);
    return taken;
}

/* Takes the next field, still encoded. Returns false at the end. */
static bool next(struct span *form, struct span *name, struct span *value)
{
    while (form->length > 0) {
        *value = take_to(form, '&');
        if (value->length == 0)
            continue;
        *name = take_to(value, '=');
        return true;
    }
    return false;
}

/* The byte that an escape stands for, −1: it is none. */
static int unescape(struct span text)
{
    int high = text.length < 3 ? -1 : token_hex(text.at[1]);
    int low = text.length < 3 ? -1 : token_hex(text.at[2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* Writes the decoded text and a NUL. Returns it, NULL where it is none; `to` is then behind it. */
static const char *decode(struct span text, char **to)
{
    char *start = *to;
    while (text.length > 0) {
        bool is_escape = text.at[0] == '%';
        int byte = is_escape ? unescape(text) : text.at[0];
        if (byte <= 0) /* a NUL would end it for whoever reads it as a string */
            return NULL;
        *(*to)++ = (char)(byte == '+' && !is_escape ? ' ' : byte);
        span_take(&text, is_escape ? 3 : 1);
    }
    bool is_text = utf8_is_text(span_of(start, (size_t)(*to - start)));
    *(*to)++ = '\0';
    return is_text ? start : NULL;
}

size_t form_count(struct span form)
{
    struct span name, value;
    size_t count = 0;
    while (next(&form, &name, &value))
        count++;
    return count;
}

void form_decode(struct span form, struct form_field *fields, char *texts)
{
    struct span name, value;
    for (; next(&form, &name, &value); fields++) {
        fields->name = decode(name, &texts);
        fields->value = decode(value, &texts);
    }
}

const struct form_field *form_find(const struct form_field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (fields[i].name != NULL && strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}
