/* html_tables.h: the tables of a report, each with the lines that there are. */
#ifndef REPORT_HTML_TABLES_H
#define REPORT_HTML_TABLES_H

#include <jansson.h>

#include "report/table.h"

void html_tables_cells(struct table *out, const json_t *cells);   /* a table for each section */
void html_tables_processes(struct table *out, const json_t *cells); /* CPU, memory and context switches of each */
void html_tables_latency(struct table *out, const json_t *cells);
void html_tables_witnesses(struct table *out, const json_t *witnesses);
void html_tables_equal_work(struct table *out, const json_t *cards);
void html_tables_commands(struct table *out, const json_t *cells); /* each cell's command and rounds */

#endif
