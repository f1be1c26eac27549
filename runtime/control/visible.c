/*
 * visible.c: which bytes are shown as they are. Pure.
 * Source: RFC 3629 section 4 (well-formed UTF-8).
 */
#include "control/visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* C1 controls, and the marks, embeddings, overrides and isolates that turn the direction of what follows them. */
static bool is_harmful(uint32_t character)
{
    return (character >= 0x80 && character < 0xa0) || character == 0x061c || character == 0x200e ||
           character == 0x200f || (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

/* The length of the character that begins here; 0: none does, or one that is not shown. `at` ends with a NUL, which is
 * no continuation. */
static size_t length_of(const uint8_t *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (at[0] < 0x80)
        return at[0] >= 0x20 && at[0] != 0x7f;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    uint32_t character = at[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (at[i] & 0x3f);
    }
    bool is_surrogate = character >= 0xd800 && character < 0xe000;
    if (character < least[length] || character > 0x10ffff || is_surrogate || is_harmful(character))
        return 0;
    return length;
}

char *visible_copy(char *to, size_t room, const char *bytes)
{
    size_t at = 0;
    while (*bytes != '\0') {
        size_t length = length_of((const uint8_t *)bytes), needed = length == 0 ? 3 : length;
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
