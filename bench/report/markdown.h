/* markdown.h: results for a terminal or a pull request. */
#ifndef REPORT_MARKDOWN_H
#define REPORT_MARKDOWN_H

#include <jansson.h>

/* The caller frees it. */
char *markdown_of(const json_t *results) __attribute__((warn_unused_result));

#endif
