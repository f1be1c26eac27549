/*
 * utf8.h: well-formed UTF-8. Pure.
 * Source: RFC 3629 section 4.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/span.h"

/* The length of the character at the front of the text, which is stored; 0: there is none, or no well-formed one. */
size_t utf8_character(struct span text, uint32_t *character);

/* True when all of it is characters; NUL is one. */
bool utf8_is_text(struct span text);

#endif
