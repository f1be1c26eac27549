/* html_figures.c: the charts of a report; see html_figures.h. */
#include "report/html_figures.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "report/chart.h"
#include "report/html_text.h"
#include "results/field.h"
#include "words.h"

#define ROWS_MAX 200

static int add_figure(struct table *out, const struct chart *chart, const char *who)
{
    char *svg = chart_svg(chart, who);
    if (svg == NULL)
        return -1;
    table_add(out, "<figure>%s<figcaption class=\"soft\">", svg);
    html_text(out, chart->title);
    table_add(out, "</figcaption></figure>\n");
    free(svg);
    return 0;
}

/* -- sweeps ------------------------------------------------------------------------------------------------------ */

static bool is_of_sweep(const json_t *cell, const char *workload, const char *path)
{
    return field_is(cell, "section", "sweep") && field_is(cell, "loop", "closed") && field_is(cell, "instrument", "load") &&
           (workload == NULL || field_is(cell, "workload", workload)) && (path == NULL || field_is(cell, "path", path));
}

static size_t find_x(double *x, size_t *count, double at)
{
    for (size_t i = 0; i < *count; i++)
        if (x[i] == at)
            return i;
    CHECK(*count < ROWS_MAX);
    x[*count] = at;
    return (*count)++;
}

/* Lines need their points in order; there are few. */
static void sort_rows(double *x, double *y, size_t rows, size_t columns)
{
    for (size_t i = 1; i < rows; i++)
        for (size_t j = i; j > 0 && x[j] < x[j - 1]; j--) {
            double kept = x[j];
            x[j] = x[j - 1];
            x[j - 1] = kept;
            for (size_t c = 0; c < columns; c++) {
                kept = y[j * columns + c];
                y[j * columns + c] = y[(j - 1) * columns + c];
                y[(j - 1) * columns + c] = kept;
            }
        }
}

static int draw_sweep(struct table *out, const json_t *cells, const char *workload, const char *of, const char *label, int number,
                      const char *who)
{
    static const char *const paths[] = {"static", "proxied", "direct"};
    double x[ROWS_MAX], y[ROWS_MAX * COUNT_OF(paths)];
    size_t rows = 0, i;
    json_t *cell;
    for (i = 0; i < COUNT_OF(y); i++)
        y[i] = NAN;
    json_array_foreach((json_t *)cells, i, cell)
    {
        for (size_t p = 0; p < COUNT_OF(paths); p++)
            if (is_of_sweep(cell, workload, paths[p]))
                y[find_x(x, &rows, field_number(cell, "concurrency")) * COUNT_OF(paths) + p] = field_number(cell, of);
    }
    if (rows < 2)
        return 0;
    sort_rows(x, y, rows, COUNT_OF(paths));
    char *title = words("%s: %s over the number of connections", workload, label);
    const struct chart chart = {.kind = CHART_LINES,
                                .number = number,
                                .title = title,
                                .x_label = "connections",
                                .y_label = label,
                                .series = {paths[0], paths[1], paths[2]},
                                .series_count = COUNT_OF(paths),
                                .row_count = rows,
                                .x = x,
                                .y = y};
    int result = add_figure(out, &chart, who);
    free(title);
    return result;
}

int html_figures_sweep(struct table *out, const json_t *cells, const char *who)
{
    int number = 1;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        const char *workload = field_text(cell, "workload");
        bool first = is_of_sweep(cell, NULL, NULL);
        for (size_t j = 0; j < i; j++)
            first = first && !is_of_sweep(json_array_get(cells, j), workload, NULL);
        if (first && (draw_sweep(out, cells, workload, "summary.goodput.median", "right replies a second", number, who) < 0 ||
                      draw_sweep(out, cells, workload, "summary.time_us.p50", "service time, median, us", number + 1, who) < 0))
            return -1;
        number += first ? 2 : 0;
    }
    return 0;
}

/* -- the CPU of each process ------------------------------------------------------------------------------------- */

#define CPU_NUMBER 100 /* behind the sweeps' */

int html_figures_cpu(struct table *out, const json_t *cells, const char *who)
{
    static const char *const groups[] = {"server", "nginx", "postgresql", "generator"};
    static char *names[ROWS_MAX];
    double y[ROWS_MAX * COUNT_OF(groups)];
    size_t rows = 0, i;
    json_t *cell;
    json_array_foreach((json_t *)cells, i, cell)
    {
        const json_t *cpu = field_at(cell, "summary.cpu_us_per_request");
        if (!json_is_object(cpu) || !field_is(cell, "section", "matrix") || !field_is(cell, "instrument", "load") ||
            !field_is(cell, "loop", "closed") || rows == ROWS_MAX)
            continue;
        for (size_t g = 0; g < COUNT_OF(groups); g++) {
            double value = field_number(cpu, groups[g]);
            y[rows * COUNT_OF(groups) + g] = isnan(value) ? 0 : value;
        }
        names[rows++] = words("%s %s%s", field_text(cell, "workload"), field_text(cell, "path"),
                              strstr(field_text(cell, "server"), "-again") != NULL ? " again" : "");
    }
    const struct chart chart = {.kind = CHART_STACKS,
                                .number = CPU_NUMBER,
                                .title = "CPU microseconds for a request, by process",
                                .x_label = "",
                                .y_label = "CPU us a request",
                                .series = {groups[0], groups[1], groups[2], groups[3]},
                                .series_count = COUNT_OF(groups),
                                .row_count = rows,
                                .names = (const char *const *)names,
                                .y = y};
    int result = rows > 1 ? add_figure(out, &chart, who) : 0;
    for (i = 0; i < rows; i++)
        free(names[i]);
    return result;
}
