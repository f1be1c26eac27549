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

bool token_is_token(struct span text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!token_is_token_byte(text.at[i]))
            return false;
    return text.length > 0;
}

bool token_is_value(struct span text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((text.at[i] < ' ' && text.at[i] != '\t') || text.at[i] == 0x7f)
            return false;
    return true;
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
