/*
 * option.h: every option of the configuration, once. From this table come libconfuse's options, the help text, the
 * sample configuration and the manual page's check.
 */
#ifndef CONTROL_OPTION_H
#define CONTROL_OPTION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
    OPTION_COUNT, /* a whole number; `auto` where the table says so */
    OPTION_BYTES, /* a whole number with an optional K, M or G */
    OPTION_SECONDS,
    OPTION_MILLISECONDS,
    OPTION_MODE, /* an octal file mode */
    OPTION_TEXT,
    OPTION_FLAG,
    OPTION_LIST, /* of texts */
};

enum option_scope { OPTION_GLOBAL = 1, OPTION_APP = 2 };

struct option {
    const char *name;
    enum option_type type;
    int scopes;            /* OPTION_GLOBAL, OPTION_APP, or both */
    int64_t lowest, highest;
    const char *unset;     /* the default as it is written, NULL: none */
    const char *help;
};

extern const struct option option_table[];
extern const size_t option_count;

const struct option *option_find(const char *name);

/* Reads a number of any numeric type, in the unit of the type (bytes for OPTION_BYTES). Pure.
 * Returns NULL, or why it is none (static text, ends where the range may follow). */
const char *option_read_number(const struct option *option, const char *text, int64_t *number)
    __attribute__((warn_unused_result));

/* One line an option, for --help. */
void option_print_help(FILE *to);

#endif
