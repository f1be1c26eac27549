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

static inline bool span_is_ignoring_case(struct span span, const char *text)
{
    size_t length = strlen(text);
    return span.length == length && strncasecmp((const char *)span.at, text, length) == 0;
}

#endif
