/* html.h: results as a page of its own: one file, no network, no script. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <jansson.h>

/* Returns the page, which the caller frees; NULL after a line on standard error that begins with `who`. Blocks while gnuplot draws. */
char *html_of(const json_t *results, const char *who) __attribute__((warn_unused_result));

#endif
