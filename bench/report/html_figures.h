/* html_figures.h: the charts of a report: sweeps, and the CPU of each process. */
#ifndef REPORT_HTML_FIGURES_H
#define REPORT_HTML_FIGURES_H

#include <jansson.h>

#include "report/table.h"

/* Append figures; none where there is nothing to draw. Return 0, -1 after a line on standard error that begins with `who`. */
int html_figures_sweep(struct table *out, const json_t *cells, const char *who) __attribute__((warn_unused_result));
int html_figures_cpu(struct table *out, const json_t *cells, const char *who) __attribute__((warn_unused_result));

#endif
