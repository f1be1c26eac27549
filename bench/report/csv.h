/* csv.h: results as a table for other programs: a line for each round of each cell, commas, LF, RFC 4180's quoting. */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include <jansson.h>

/* The caller frees it. What is not known is empty. */
char *csv_of(const json_t *results) __attribute__((warn_unused_result));

#endif
