/* html_tables.c: the tables of a report; see html_tables.h. */
#include "report/html_tables.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "report/html_text.h"
#include "results/field.h"

static const char *const groups[] = {"server", "nginx", "postgresql", "generator", NULL};

static bool is_open(const json_t *cell)
{
    return field_is(cell, "loop", "open");
}

/* The table that is being written: on a narrow screen each field stands under its heading. */
static struct {
    const char *const *headings;
    size_t column;
} now;

/* Headings with a leading # are of numbers. */
static void add_head(struct table *out, const char *const *headings)
{
    now.headings = headings;
    table_add(out, "<table><thead><tr>");
    for (; *headings != NULL; headings++)
        table_add(out, "<th%s>%s</th>", **headings == '#' ? " class=\"n\"" : "", *headings + (**headings == '#'));
    table_add(out, "</tr></thead><tbody>\n");
}

static void add_foot(struct table *out)
{
    table_add(out, "</tbody></table>\n");
}

static void begin_row(struct table *out)
{
    now.column = 0;
    table_add(out, "<tr>");
}

static void begin_field(struct table *out)
{
    const char *heading = now.headings[now.column++];
    bool number = *heading == '#';
    table_add(out, "<td data-of=\"%s\"%s>", heading + number, number ? " class=\"n\"" : "");
}

static void add_field(struct table *out, const char *text)
{
    begin_field(out);
    html_text(out, *text != '\0' ? text : TABLE_NOTHING);
    table_add(out, "</td>");
}

static void add_number(struct table *out, const char *text)
{
    begin_field(out);
    table_add(out, "%s</td>", text);
}

static void add_load(struct table *out, const json_t *cell)
{
    begin_field(out);
    if (is_open(cell))
        table_add(out, "%s/s</td>", table_whole(field_number(cell, "rate")));
    else
        table_add(out, "c = %s</td>", table_whole(field_number(cell, "concurrency")));
}

/* What every line about a cell begins with. */
static void add_cell_name(struct table *out, const json_t *cell)
{
    begin_row(out);
    add_field(out, field_text(cell, "workload"));
    add_field(out, field_text(cell, "path"));
    add_field(out, field_text(cell, "server"));
    add_field(out, field_text(cell, "instrument"));
    add_load(out, cell);
}

/* -- cells ------------------------------------------------------------------------------------------------------- */

static const char *reason_of(const json_t *cell, const char *status)
{
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(cell, "rounds"), i, round)
    {
        const char *reason = json_string_value(json_array_get(json_object_get(round, "reasons"), 0));
        if (field_is(round, "status", status) && reason != NULL)
            return reason;
    }
    return "it was not measured";
}

static void add_no_figures(struct table *out, const json_t *cell)
{
    const char *status = field_number(cell, "summary.n_failed") > 0 ? "failed" : "void";
    table_add(out, "<td colspan=\"4\" class=\"bad\">%s: ", status);
    now.column += 4;
    html_text(out, reason_of(cell, status));
    table_add(out, "</td>");
}

static void add_figures(struct table *out, const json_t *cell)
{
    const json_t *summary = json_object_get(cell, "summary");
    double lo = field_number(summary, "goodput.lo");
    begin_field(out);
    table_add(out, "%s%s", field_true(summary, "at_least") ? "≥ " : "",
              table_whole(field_number(summary, "goodput.median")));
    if (isfinite(lo))
        table_add(out, " <span class=\"soft\">[%s, %s]</span>", table_whole(lo),
                  table_whole(field_number(summary, "goodput.hi")));
    table_add(out, "</td>");
    begin_field(out);
    table_add(out, "%s%s</td>", field_text(summary, "limiter"), field_true(summary, "at_least") ? "-limited" : "");
    add_number(out, table_digits(field_number(summary, "cpu_us_per_request.serving"), 2));
    add_number(out, table_digits(field_number(summary, "headroom"), 2));
}

static void add_flags(struct table *out, const json_t *summary)
{
    size_t i;
    json_t *flag;
    begin_field(out);
    table_add(out, "%s of %s", table_whole(field_number(summary, "n_valid")), table_whole(field_number(summary, "n")));
    json_array_foreach(json_object_get(summary, "flags"), i, flag)
    {
        table_add(out, "<br><span class=\"soft\">");
        html_text(out, json_string_value(flag) ?: "");
        table_add(out, "</span>");
    }
    table_add(out, "</td></tr>\n");
}

static void add_section(struct table *out, const json_t *cells, const char *section)
{
    static const char *const headings[] = {
        "workload",   "path",    "server",    "instrument",        "load", "#right replies a second",
        "limited by", "#CPU µs", "#headroom", "rounds that count", NULL};
    size_t i;
    json_t *cell;
    table_add(out, "<h3>");
    html_text(out, section);
    table_add(out, "</h3>\n");
    add_head(out, headings);
    json_array_foreach((json_t *)cells, i, cell)
    {
        if (!field_is(cell, "section", section))
            continue;
        add_cell_name(out, cell);
        if (field_number(cell, "summary.n_valid") > 0)
            add_figures(out, cell);
        else
            add_no_figures(out, cell);
        add_flags(out, json_object_get(cell, "summary"));
    }
    add_foot(out);
}

void html_tables_cells(struct table *out, const json_t *cells)
{
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *section = field_text(json_array_get(cells, i), "section");
        bool first = true;
        for (size_t j = 0; j < i; j++)
            first = first && !field_is(json_array_get(cells, j), "section", section);
        if (first)
            add_section(out, cells, section);
    }
}

/* -- processes --------------------------------------------------------------------------------------------------- */

static void add_by_group(struct table *out, const json_t *of, const char *inner, int decimals)
{
    begin_field(out);
    for (size_t g = 0; groups[g] != NULL; g++) {
        const json_t *value = json_object_get(of, groups[g]);
        double number = inner != NULL ? field_number(value, inner) : field_number(of, groups[g]);
        table_add(out, "%s%s", g > 0 ? " / " : "", decimals > 0 ? table_digits(number, decimals) : table_whole(number));
    }
    table_add(out, "</td>");
}

void html_tables_processes(struct table *out, const json_t *cells)
{
    static const char *const headings[] = {
        "workload", "path", "server", "instrument", "load", "#CPU µs a request", "#memory, KiB", "#switches a request",
        NULL};
    size_t i;
    json_t *cell;
    table_add(out, "<p class=\"soft\">Each column: server / nginx / PostgreSQL / generator. Memory is the proportional "
                   "share (PSS); "
                   "switches are voluntary ones.</p>\n");
    add_head(out, headings);
    json_array_foreach((json_t *)cells, i, cell)
    {
        if (!(field_number(cell, "summary.n_valid") > 0) || !field_is(cell, "instrument", "load"))
            continue;
        add_cell_name(out, cell);
        add_by_group(out, field_at(cell, "summary.cpu_us_per_request"), NULL, 2);
        add_by_group(out, field_at(cell, "summary.memory_kib"), "pss", 0);
        add_by_group(out, field_at(cell, "summary.switches"), "voluntary", 3);
        table_add(out, "</tr>\n");
    }
    add_foot(out);
}

/* -- times ------------------------------------------------------------------------------------------------------- */

void html_tables_latency(struct table *out, const json_t *cells)
{
    static const char *const headings[] = {"workload", "path",          "server",          "instrument",
                                           "load",     "what is timed", "#p50 µs",         "#p90",
                                           "#p99",     "#p99.9",        "#sent late, p99", NULL};
    static const char *const percentiles[] = {"p50", "p90", "p99", "p99_9"};
    size_t i;
    json_t *cell;
    add_head(out, headings);
    json_array_foreach((json_t *)cells, i, cell)
    {
        const json_t *times = field_at(cell, "summary.time_us");
        if (!json_is_object(times))
            continue;
        add_cell_name(out, cell);
        begin_field(out);
        if (is_open(cell))
            table_add(out, "from the intended start</td>");
        else
            table_add(out, "service time at c = %s</td>", table_whole(field_number(cell, "concurrency")));
        for (size_t p = 0; p < sizeof percentiles / sizeof *percentiles; p++)
            add_number(out, is_open(cell) || p == 0 ? table_whole(field_number(times, percentiles[p])) : TABLE_NOTHING);
        add_number(out, table_whole(field_number(cell, "summary.lag_p99_us")));
        table_add(out, "</tr>\n");
    }
    add_foot(out);
}

/* -- witnesses, equal work --------------------------------------------------------------------------------------- */

void html_tables_witnesses(struct table *out, const json_t *witnesses)
{
    static const char *const headings[] = {"workload", "path", "#c", "#load", "#ab", "#httperf", "why", NULL};
    size_t i;
    json_t *line;
    add_head(out, headings);
    json_array_foreach((json_t *)witnesses, i, line)
    {
        begin_row(out);
        add_field(out, field_text(line, "workload"));
        add_field(out, field_text(line, "path"));
        add_number(out, table_whole(field_number(line, "concurrency")));
        add_number(out, table_whole(field_number(line, "load")));
        add_number(out, table_whole(field_number(line, "ab")));
        add_number(out, table_whole(field_number(line, "httperf")));
        add_field(out, field_text(line, "text"));
        table_add(out, "</tr>\n");
    }
    add_foot(out);
}

static void add_differences(struct table *out, const json_t *card)
{
    size_t i;
    json_t *difference;
    begin_field(out);
    json_array_foreach(json_object_get(card, "differences"), i, difference)
    {
        table_add(out, "%s<span class=\"bad\">", i > 0 ? "<br>" : "");
        html_text(out, json_string_value(difference) ?: "");
        table_add(out, "</span>");
    }
    table_add(out, "%s</td></tr>\n", i == 0 ? "none" : "");
}

void html_tables_equal_work(struct table *out, const json_t *cards)
{
    static const char *const headings[] = {"workload", "path",        "server", "#header bytes", "#body bytes", "HTTP",
                                           "kept",     "differences", NULL};
    size_t i;
    json_t *card;
    add_head(out, headings);
    json_array_foreach((json_t *)cards, i, card)
    {
        begin_row(out);
        add_field(out, field_text(card, "workload"));
        add_field(out, field_text(card, "path"));
        add_field(out, field_text(card, "server"));
        add_number(out, table_whole(field_number(card, "header_bytes")));
        add_number(out, table_whole(field_number(card, "body_bytes")));
        add_field(out, field_text(card, "http_version"));
        add_field(out, field_true(card, "keep_alive") ? "yes" : "no");
        add_differences(out, card);
    }
    add_foot(out);
}

/* -- commands ---------------------------------------------------------------------------------------------------- */

static void add_rounds(struct table *out, const json_t *rounds)
{
    static const char *const headings[] = {
        "#round", "#attempt", "status", "#right replies a second", "limited by", "#CPU µs", "#foreign", "#steal", NULL};
    size_t i;
    json_t *round;
    add_head(out, headings);
    json_array_foreach((json_t *)rounds, i, round)
    {
        const char *reason = json_string_value(json_array_get(json_object_get(round, "reasons"), 0));
        begin_row(out);
        add_number(out, table_whole(field_number(round, "round")));
        add_number(out, table_whole(field_number(round, "attempt")));
        begin_field(out);
        table_add(out, "%s%s", field_text(round, "status"), reason != NULL ? ": " : "");
        html_text(out, reason != NULL ? reason : "");
        table_add(out, "</td>");
        add_number(out, table_digits(field_number(round, "goodput"), 1));
        add_field(out, field_text(round, "limiter"));
        add_number(out, table_digits(field_number(round, "cpu_us_per_request.serving"), 3));
        add_number(out, table_digits(field_number(round, "busy.foreign"), 4));
        add_number(out, table_digits(field_number(round, "busy.steal"), 4));
        table_add(out, "</tr>\n");
    }
    add_foot(out);
}

void html_tables_commands(struct table *out, const json_t *cells)
{
    size_t i;
    json_t *cell;
    json_array_foreach((json_t *)cells, i, cell)
    {
        table_add(out, "<details><summary>");
        html_text(out, field_text(cell, "name"));
        table_add(out, "</summary><pre>");
        html_text(out, field_text(cell, "command"));
        table_add(out, "</pre>\n");
        add_rounds(out, json_object_get(cell, "rounds"));
        table_add(out, "</details>\n");
    }
}
