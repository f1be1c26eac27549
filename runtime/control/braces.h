/*
 * braces.h: whether every brace, string and comment of a configuration is closed, and the text without its comments.
 * Pure.
 * Source: libconfuse's lexical rules: # and // to the end of the line, C comments, "..." and '...' with \ escapes.
 */
#ifndef CONTROL_BRACES_H
#define CONTROL_BRACES_H

#include <stddef.h>

#define BRACES_DEPTH_MAX 32

struct braces { /* zeroed at the start */
    int state;
    int line;      /* lines ended so far */
    int open_line; /* after braces_end: where what is not closed begins */
    int depth;
    int lines[BRACES_DEPTH_MAX];
    int begun; /* line of the string or comment at hand */
};

/* Overwrites comments with blanks; line ends stay. */
void braces_feed(struct braces *braces, char *text, size_t length);

/* Returns NULL, or what is not closed (static text); `open_line` says where it begins. */
const char *braces_end(struct braces *braces);

#endif
