/*
 * utf8.c: well-formed UTF-8. Pure; runs on any thread.
 */
#include "base/utf8.h"

size_t utf8_character(struct span text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = text.length > 0 ? text.at[0] : 0;
    *character = first;
    if (text.length == 0)
        return 0;
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > text.length)
        return 0;
    *character = first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text.at[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (text.at[i] & 0x3f);
    }
    bool is_surrogate = *character >= 0xd800 && *character < 0xe000;
    return *character < least[length] || *character > 0x10ffff || is_surrogate ? 0 : length;
}

bool utf8_is_text(struct span text)
{
    while (text.length > 0) {
        uint32_t character;
        size_t length = utf8_character(text, &character);
        if (length == 0)
            return false;
        span_take(&text, length);
    }
    return true;
}
