/*
 * visible.c: which bytes are shown as they are. Pure.
 */
#include "control/visible.h"

#include <stdio.h>

#include "base/utf8.h"

/* C1 controls, and the marks, embeddings, overrides and isolates that turn the direction of what follows them. */
static bool is_harmful(uint32_t character)
{
    return (character >= 0x80 && character < 0xa0) || character == 0x061c || character == 0x200e ||
           character == 0x200f || (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

/* The length of the character that begins here; 0: none does, or one that is not shown. */
static size_t length_of(const char *at)
{
    uint32_t character;
    size_t length = utf8_character(span_of(at, strnlen(at, 4)), &character);
    return character < 0x20 || character == 0x7f || is_harmful(character) ? 0 : length;
}

char *visible_copy(char *to, size_t room, const char *bytes)
{
    size_t at = 0;
    while (*bytes != '\0') {
        size_t length = length_of(bytes), needed = length == 0 ? 3 : length;
        if (at + needed >= room)
            break;
        if (length == 0)
            snprintf(to + at, room - at, "%%%02X", (uint8_t)*bytes);
        else
            memcpy(to + at, bytes, length);
        at += needed;
        bytes += length == 0 ? 1 : length;
    }
    to[at] = '\0';
    return to;
}
