/*
 * span.h: borrowed bytes.
 */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct span {
    const uint8_t *at;
    size_t length;
};

static inline struct span span_of(const void *at, size_t length)
{
    return (struct span){.at = at, .length = length};
}

static inline struct span span_text(const char *text)
{
    return span_of(text, strlen(text));
}

/* Takes `length` bytes off the front of `from`. */
static inline struct span span_take(struct span *from, size_t length)
{
    struct span head = span_of(from->at, length);
    from->at += length;
    from->length -= length;
    return head;
}

static inline bool span_is(struct span span, const char *text)
{
    size_t length = strlen(text);
    return span.length == length && memcmp(span.at, text, length) == 0;
}

/* Decimal digits alone. Returns −1 when the text is no such number or has more than 18 digits. */
static inline int64_t span_number(struct span text)
{
    int64_t number = 0;
    if (text.length == 0 || text.length > 18)
        return -1;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return -1;
        number = number * 10 + (text.at[i] - '0');
    }
    return number;
}

static inline bool span_is_ignoring_case(struct span span, const char *text)
{
    size_t length = strlen(text);
    return span.length == length && strncasecmp((const char *)span.at, text, length) == 0;
}

#endif
