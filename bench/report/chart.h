/* chart.h: a chart as SVG for a page, drawn by gnuplot. */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include <stddef.h>

#define CHART_SERIES 6

enum chart_kind { CHART_LINES, CHART_STACKS };

/* Lines: rows are points, x is a number. Stacks: rows are bars, x is their name. What is borrowed stays the caller's. */
struct chart {
    enum chart_kind kind;
    int number;             /* within the page: its ids begin with it */
    const char *title;      /* what it says, for who does not see it */
    const char *x_label, *y_label;
    const char *series[CHART_SERIES];
    size_t series_count, row_count;
    const char *const *names; /* a row's name, for stacks */
    const double *x;          /* a row's place, for lines */
    const double *y;          /* row by row, a value for each series; NAN: there is none */
};

/* Returns the SVG, which the caller frees, NULL after a line on standard error that begins with `who`. Its colours are classes of the
 * page: text and axes are black, the grid gray, series N rgb(N, N, N). Blocks while gnuplot draws. */
char *chart_svg(const struct chart *chart, const char *who) __attribute__((warn_unused_result));

#endif
