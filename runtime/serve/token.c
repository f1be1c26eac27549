/*
 * token.c: which bytes a header line may hold. Pure; runs on any thread.
 */
#include "serve/token.h"

bool token_is_alphanumeric(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

/* One bit a byte: letters, digits and !#$%&'*+-.^_`|~ */
static const uint32_t token_bytes[8] = {0, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff};

bool token_is_token_byte(uint8_t byte)
{
    return token_bytes[byte >> 5] >> (byte & 31) & 1;
}

size_t token_length(struct span text)
{
    size_t length = 0;
    while (length < text.length && (token_bytes[text.at[length] >> 5] >> (text.at[length] & 31) & 1))
        length++;
    return length;
}

bool token_is_token(struct span text)
{
    return text.length > 0 && token_length(text) == text.length;
}

static bool is_text(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((bytes[i] < ' ' && bytes[i] != '\t') || bytes[i] == 0x7f)
            return false;
    return true;
}

/* Eight bytes at a time: a byte under 0x20, or one that is 0x7f, makes the highest bit of its place. Such a byte may be
 * a tab, so those eight are looked at one by one. */
bool token_is_value(struct span text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t i = 0;
    for (; i + 8 <= text.length; i += 8) {
        uint64_t word, rubout;
        memcpy(&word, text.at + i, 8);
        rubout = word ^ ones * 0x7f;
        if ((((word - ones * 0x20) & ~word) | ((rubout - ones) & ~rubout)) & ones * 0x80 && !is_text(text.at + i, 8))
            return false;
    }
    return is_text(text.at + i, text.length - i);
}

int token_hex(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

struct span token_trim(struct span text)
{
    while (text.length > 0 && is_blank(text.at[0]))
        span_take(&text, 1);
    while (text.length > 0 && is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

bool token_next_item(struct span *list, struct span *item)
{
    while (list->length > 0) {
        const uint8_t *comma = memchr(list->at, ',', list->length);
        *item = token_trim(span_take(list, comma == NULL ? list->length : (size_t)(comma - list->at)));
        if (list->length > 0)
            span_take(list, 1);
        if (item->length > 0)
            return true;
    }
    return false;
}
