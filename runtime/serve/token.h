/*
 * token.h: the small pieces of a header line. Pure.
 * Source: RFC 9110 sections 5.5 (values), 5.6.1 (lists), 5.6.2 (tokens) and 5.6.3 (blanks).
 */
#ifndef SERVE_TOKEN_H
#define SERVE_TOKEN_H

#include "base/span.h"

bool token_is_token_byte(uint8_t byte);
bool token_is_token(struct span text);

/* How many bytes at the front of the text are a token's. */
size_t token_length(struct span text);

/* True when the bytes may stand in a header's value: no control character but the tab. */
bool token_is_value(struct span text);

bool token_is_alphanumeric(uint8_t byte);

/* The value of a hexadecimal digit, −1: it is none. */
int token_hex(uint8_t byte);

/* Without the blanks and tabs at both ends. */
struct span token_trim(struct span text);

/* Takes the next item off a list with commas, trimmed; empty ones are passed over. Returns false when there is none. */
bool token_next_item(struct span *list, struct span *item);

#endif
