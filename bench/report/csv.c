/* csv.c: results as a table for other programs; see csv.h. */
#include "report/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "report/table.h"
#include "results/field.h"

/* A column is a field of the cell or of the round. The names say the units. */
struct column {
    const char *name, *path;
};

static const struct column of_cell[] = {
    {"cell", "name"},       {"server", "server"},           {"configuration", "configuration"},
    {"path", "path"},       {"workload", "workload"},       {"instrument", "instrument"},
    {"loop", "loop"},       {"concurrency", "concurrency"}, {"rate_per_s", "rate"},
    {"section", "section"},
};

static const struct column of_round[] = {
    {"round", "round"},
    {"attempt", "attempt"},
    {"status", "status"},
    {"requests", "requests"},
    {"goodput_per_s", "goodput"},
    {"tool_rate_per_s", "tool_rate"},
    {"limiter", "limiter"},
    {"server_busy", "busy.server"},
    {"generator_busy", "busy.generator"},
    {"foreign_busy", "busy.foreign"},
    {"steal", "busy.steal"},
    {"softirq", "busy.softirq"},
    {"serving_cpu_us_per_request", "cpu_us_per_request.serving"},
    {"server_cpu_us_per_request", "cpu_us_per_request.server"},
    {"nginx_cpu_us_per_request", "cpu_us_per_request.nginx"},
    {"postgresql_cpu_us_per_request", "cpu_us_per_request.postgresql"},
    {"generator_cpu_us_per_request", "cpu_us_per_request.generator"},
    {"server_pss_kib", "memory_kib.server.pss"},
    {"nginx_pss_kib", "memory_kib.nginx.pss"},
    {"postgresql_pss_kib", "memory_kib.postgresql.pss"},
    {"server_rss_grown_kib", "memory_kib.server.rss_grown"},
    {"server_voluntary_switches_per_request", "switches.server.voluntary"},
    {"server_involuntary_switches_per_request", "switches.server.involuntary"},
    {"time_kind", "time_us.kind"},
    {"time_mean_us", "time_us.mean"},
    {"time_p50_us", "time_us.p50"},
    {"time_p90_us", "time_us.p90"},
    {"time_p99_us", "time_us.p99"},
    {"time_p99_9_us", "time_us.p99_9"},
    {"time_max_us", "time_us.max"},
    {"lag_p99_us", "lag_p99_us"},
    {"mib_per_s", "mib_per_s"},
    {"requests_per_connection", "reuse"},
    {"header_bytes", "header_bytes"},
    {"warm_up_s", "warm_up_s"},
};

static void add_text(struct table *table, const char *text)
{
    if (text[strcspn(text, "\",\r\n")] == '\0') {
        table_add(table, "%s", text);
        return;
    }
    table_add(table, "\"");
    for (; *text != '\0'; text++)
        table_add(table, *text == '"' ? "\"\"" : "%c", *text);
    table_add(table, "\"");
}

static void add_value(struct table *table, const json_t *of, const char *path)
{
    double number = field_number(of, path);
    if (isfinite(number))
        table_add(table, "%.12g", number);
    else
        add_text(table, field_text(of, path));
    table_add(table, ",");
}

/* The last column, since there may be many. */
static void add_reasons(struct table *table, const json_t *round)
{
    struct table all = {0};
    size_t i;
    json_t *reason;
    json_array_foreach(json_object_get(round, "reasons"), i, reason)
        table_add(&all, "%s%s", i > 0 ? "; " : "", json_string_value(reason) ?: "");
    add_text(table, all.text != NULL ? all.text : "");
    table_add(table, "\n");
    free(all.text);
}

static void add_cell(struct table *table, const json_t *cell)
{
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(cell, "rounds"), i, round)
    {
        for (size_t c = 0; c < COUNT_OF(of_cell); c++)
            add_value(table, cell, of_cell[c].path);
        for (size_t c = 0; c < COUNT_OF(of_round); c++)
            add_value(table, round, of_round[c].path);
        add_reasons(table, round);
    }
}

char *csv_of(const json_t *results)
{
    struct table table = {0};
    size_t i;
    json_t *cell;
    for (size_t c = 0; c < COUNT_OF(of_cell); c++)
        table_add(&table, "%s,", of_cell[c].name);
    for (size_t c = 0; c < COUNT_OF(of_round); c++)
        table_add(&table, "%s,", of_round[c].name);
    table_add(&table, "reasons\n");
    json_array_foreach(json_object_get(results, "cells"), i, cell) add_cell(&table, cell);
    return table.text;
}
