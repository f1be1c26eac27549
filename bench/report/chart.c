/* chart.c: a chart as SVG for a page, drawn by gnuplot; see chart.h. */
#include "report/chart.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "report/html_text.h"
#include "report/table.h"
#include "words.h"

/* -- what gnuplot is told ---------------------------------------------------------------------------------------- */

/* Within gnuplot's double quotes. */
static void add_quoted(struct table *script, const char *text)
{
    table_add(script, "\"");
    for (; *text != '\0'; text++)
        table_add(script, strchr("\"\\`$@", *text) != NULL ? "\\%c" : "%c", *text == '\n' ? ' ' : *text);
    table_add(script, "\"");
}

static void add_data(struct table *script, const struct chart *chart)
{
    table_add(script, "$data << END\n");
    for (size_t row = 0; row < chart->row_count; row++) {
        if (chart->kind == CHART_STACKS)
            add_quoted(script, chart->names[row]);
        else
            table_add(script, "%.12g", chart->x[row]);
        for (size_t s = 0; s < chart->series_count; s++) {
            double y = chart->y[row * chart->series_count + s];
            if (isfinite(y))
                table_add(script, " %.12g", y);
            else
                table_add(script, " NaN");
        }
        table_add(script, "\n");
    }
    table_add(script, "END\n");
}

static void add_series(struct table *script, const struct chart *chart, size_t s)
{
    bool stacks = chart->kind == CHART_STACKS;
    table_add(script, "%s$data using %s%zu%s ", s > 0 ? ", " : "plot ", stacks ? "" : "1:", s + 2,
              stacks ? ":xtic(1)" : "");
    table_add(script, stacks ? "lc rgb \"#%02zx%02zx%02zx\" title " : "with linespoints pt 7 ps 0.5 lw 2 lc rgb \"#%02zx%02zx%02zx\" title ",
              s + 1, s + 1, s + 1);
    add_quoted(script, chart->series[s]);
}

static char *script_of(const struct chart *chart)
{
    struct table script = {0};
    bool stacks = chart->kind == CHART_STACKS;
    table_add(&script, "set terminal svg size 720,%d dynamic font \"sans-serif,13\" background \"#ffffff00\" noenhanced\n"
                       "set decimalsign \".\"\nset grid ytics\nset border 3\nset tics nomirror\n"
                       "set key above left\nset yrange [0:*]\nset format y \"%%.0f\"\n",
              stacks ? 420 : 340);
    if (stacks)
        table_add(&script, "set style data histograms\nset style histogram rowstacked\nset style fill solid 1 noborder\n"
                           "set boxwidth 0.7\nset xtics rotate by -40\nset format y \"%%g\"\n");
    table_add(&script, "set xlabel ");
    add_quoted(&script, chart->x_label);
    table_add(&script, "\nset ylabel ");
    add_quoted(&script, chart->y_label);
    table_add(&script, "\n");
    add_data(&script, chart);
    for (size_t s = 0; s < chart->series_count; s++)
        add_series(&script, chart, s);
    table_add(&script, "\n");
    return script.text;
}

/* -- gnuplot ----------------------------------------------------------------------------------------------------- */

static char *read_all(FILE *from)
{
    struct table all = {0};
    char piece[4096];
    for (size_t count; (count = fread(piece, 1, sizeof piece, from)) > 0;)
        table_add(&all, "%.*s", (int)count, piece);
    return all.text;
}

/* The script goes through a file, so that nothing in it meets a shell. */
static char *draw(const char *script, const char *who)
{
    char file[] = "/tmp/millbench-chart-XXXXXX";
    int fd = mkstemp(file);
    if (fd < 0 || write(fd, script, strlen(script)) != (ssize_t)strlen(script)) {
        fprintf(stderr, "%s: %s: %s\n", who, file, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    close(fd);
    char *command = words("LC_ALL=C gnuplot %s", file);
    FILE *gnuplot = popen(command, "r");
    char *svg = gnuplot != NULL ? read_all(gnuplot) : NULL;
    int status = gnuplot != NULL ? pclose(gnuplot) : -1;
    unlink(file);
    free(command);
    if (status == 0 && svg != NULL)
        return svg;
    fprintf(stderr, "%s: gnuplot: it drew nothing (status %d); runtime/packages bench installs it\n", who, status);
    free(svg);
    return NULL;
}

/* -- for a page -------------------------------------------------------------------------------------------------- */

/* Names that gnuplot gives in every drawing, which are to be unique in a page. */
static size_t own_name(const char *at)
{
    static const char *const names[] = {"gnuplot_", "gpDot", "gpPt", "textbox", "greybox"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strncmp(at, names[i], strlen(names[i])) == 0)
            return strlen(names[i]);
    return 0;
}

/* From the drawing's first group on: what stands before it is a document's, and a title that says Gnuplot. */
static char *for_page(const char *drawn, const struct chart *chart)
{
    struct table out = {0};
    const char *view = strstr(drawn, "viewBox=\""), *body = strstr(drawn, "<g id=\"gnuplot_canvas\"");
    if (view == NULL || body == NULL)
        return NULL;
    table_add(&out, "<svg class=\"chart\" role=\"img\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" %.*s\"><title>",
              (int)strcspn(view + strlen("viewBox=\""), "\"") + (int)strlen("viewBox=\""), view);
    html_text(&out, chart->title);
    table_add(&out, "</title>\n");
    for (const char *at = body; *at != '\0'; at++) {
        size_t length = own_name(at);
        if (length > 0)
            table_add(&out, "chart%d_%.*s", chart->number, (int)length, at);
        else
            table_add(&out, "%c", *at);
        at += length > 0 ? length - 1 : 0;
    }
    return out.text;
}

char *chart_svg(const struct chart *chart, const char *who)
{
    char *script = script_of(chart), *drawn = draw(script, who);
    char *svg = drawn != NULL ? for_page(drawn, chart) : NULL;
    if (drawn != NULL && svg == NULL)
        fprintf(stderr, "%s: gnuplot: what it drew is no SVG\n", who);
    free(script);
    free(drawn);
    return svg;
}
