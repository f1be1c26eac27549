/*
 * braces.c: follows braces, strings and comments through a text. Pure.
 */
#include "control/braces.h"

#include <stdbool.h>

enum { PLAIN, SLASH, LINE_COMMENT, COMMENT, COMMENT_STAR, DOUBLE, DOUBLE_ESCAPE, SINGLE, SINGLE_ESCAPE };

static void plain(struct braces *braces, char byte)
{
    braces->state = PLAIN;
    switch (byte) {
    case '{':
        if (braces->depth < BRACES_DEPTH_MAX)
            braces->lines[braces->depth] = braces->line + 1;
        braces->depth++;
        break;
    case '}':
        braces->depth -= braces->depth > 0; /* one too many is libconfuse's to report */
        break;
    case '#':
        braces->state = LINE_COMMENT;
        break;
    case '/':
        braces->state = SLASH;
        break;
    case '"':
    case '\'':
        braces->state = byte == '"' ? DOUBLE : SINGLE;
        braces->begun = braces->line + 1;
        break;
    }
}

static void after_slash(struct braces *braces, char byte)
{
    if (byte == '*') {
        braces->state = COMMENT;
        braces->begun = braces->line + 1;
    } else if (byte == '/') {
        braces->state = LINE_COMMENT;
    } else {
        plain(braces, byte);
    }
}

static void step(struct braces *braces, char byte)
{
    switch (braces->state) {
    case PLAIN:
        plain(braces, byte);
        break;
    case SLASH:
        after_slash(braces, byte);
        break;
    case LINE_COMMENT:
        if (byte == '\n')
            braces->state = PLAIN;
        break;
    case COMMENT:
    case COMMENT_STAR:
        braces->state = byte == '*' ? COMMENT_STAR : byte == '/' && braces->state == COMMENT_STAR ? PLAIN : COMMENT;
        break;
    case DOUBLE:
        braces->state = byte == '"' ? PLAIN : byte == '\\' ? DOUBLE_ESCAPE : DOUBLE;
        break;
    case SINGLE:
        braces->state = byte == '\'' ? PLAIN : byte == '\\' ? SINGLE_ESCAPE : SINGLE;
        break;
    case DOUBLE_ESCAPE:
        braces->state = DOUBLE;
        break;
    case SINGLE_ESCAPE:
        braces->state = SINGLE;
        break;
    }
}

static bool in_comment(int state)
{
    return state == LINE_COMMENT || state == COMMENT || state == COMMENT_STAR;
}

void braces_feed(struct braces *braces, char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        int before = braces->state;
        step(braces, text[i]);
        braces->line += text[i] == '\n';
        if (before == SLASH && in_comment(braces->state) && i > 0)
            text[i - 1] = ' ';
        if ((in_comment(before) || in_comment(braces->state)) && text[i] != '\n')
            text[i] = ' ';
    }
}

const char *braces_end(struct braces *braces)
{
    braces->open_line = braces->begun;
    if (braces->state == COMMENT || braces->state == COMMENT_STAR)
        return "a comment that begins here is not closed: add */";
    if (braces->state == DOUBLE || braces->state == DOUBLE_ESCAPE)
        return "a text that begins here is not closed: add \"";
    if (braces->state == SINGLE || braces->state == SINGLE_ESCAPE)
        return "a text that begins here is not closed: add '";
    if (braces->depth == 0)
        return NULL;
    int innermost = braces->depth <= BRACES_DEPTH_MAX ? braces->depth - 1 : BRACES_DEPTH_MAX - 1;
    braces->open_line = braces->lines[innermost];
    return "a block that begins here is not closed: add }";
}
