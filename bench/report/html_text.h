/* html_text.h: text as HTML. */
#ifndef REPORT_HTML_TEXT_H
#define REPORT_HTML_TEXT_H

#include "report/table.h"

/* Appends the text so that no byte of it is markup, in an element or in quotes. */
void html_text(struct table *out, const char *text);

#endif
