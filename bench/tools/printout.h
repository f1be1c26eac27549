/*
 * printout.h: reads a tool's printed lines by a table of their forms.
 *
 * Pure: bytes in, numbers out. Independent of the locale: a decimal comma is an error that is named, not a number cut
 * short.
 */
#ifndef BENCH_TOOLS_PRINTOUT_H
#define BENCH_TOOLS_PRINTOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/span.h"

#define PRINTOUT_VALUES_MAX 8
#define PRINTOUT_FORMS_MAX  32
#define PRINTOUT_IGNORE     UINT16_MAX

/* One line. `rest` follows the label: a blank stands for any number of blanks, %d for a whole number without sign (an
 * int64_t), %f for a real one (a double; what is not finite becomes NAN), anything else for itself. The values go to
 * these offsets of the reading. */
struct printout_form {
    const char *label, *rest;
    bool is_required;
    const char *missing, *unreadable, *comma, *twice; /* the sentences */
    uint16_t offsets[PRINTOUT_VALUES_MAX];            /* PRINTOUT_IGNORE: not kept */
};

#define PRINTOUT_FORM(LABEL, REST, REQUIRED, ...)                                                                      \
    {                                                                                                                  \
        .label = (LABEL), .rest = (REST), .is_required = (REQUIRED),                                                   \
        .missing = "the line \"" LABEL REST "\" is missing", .unreadable = "the line \"" LABEL "\" cannot be read",    \
        .comma = "the line \"" LABEL "\" has a decimal comma: it ran without LC_ALL=C",                                \
        .twice = "the line \"" LABEL REST "\" is there twice", .offsets = {__VA_ARGS__},                               \
    }

/* Reads the lines that the forms know, whatever is between them. Only lines with their newline count: what is cut may
 * have lost digits. Returns NULL when every required line was there, once, and every line that has a label of the table
 * could be read; else the sentence about the first fault. */
const char *printout_read(const struct printout_form *forms, size_t count, struct span output, void *reading)
    MUST_CHECK;

/* Takes the next line, without its newline, off `rest`. Returns false when there is no whole line. */
bool printout_line(struct span *rest, struct span *line) MUST_CHECK;

/* Takes a number off the front of `text`: %d and %f of the forms. Returns false when there is none. */
bool printout_count(struct span *text, int64_t *count) MUST_CHECK;
bool printout_real(struct span *text, double *real) MUST_CHECK;

#endif
