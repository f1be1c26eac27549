/* markdown.c: results for a terminal or a pull request: claims first, then every cell's line; see markdown.h. */
#include "report/markdown.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/claim.h"
#include "report/table.h"
#include "results/field.h"

#define SECTION_BYTES 64

/* Text from files: nothing of it may become markup or end a table's field. */
static void add_escaped(struct table *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("|*_`<>[]\\#", *text) != NULL)
            table_add(out, "\\");
        table_add(out, "%c", *text == '\n' || *text == '\r' ? ' ' : *text);
    }
}

static void add_title(struct table *out, const json_t *results)
{
    table_add(out, "# millbench: ");
    add_escaped(out, field_text(results, "plan"));
    table_add(out, "\n\n%s, %s, seed %.0f, method %.0f, layout %s, window %s s\n", field_text(results, "started"),
              field_text(results, "state"), field_number(results, "seed"), field_number(results, "method"),
              field_text(results, "layout.kind"), table_digits(field_number(results, "settings.window_s"), 1));
    if (!field_is(results, "state", "complete"))
        table_add(out, "\n**This run is not complete: what follows is what it had until then.**\n");
}

/* -- claims ------------------------------------------------------------------------------------------------------ */

static void add_claims(struct table *out, const json_t *results)
{
    size_t i;
    json_t *claim;
    table_add(out, "\n## Claims\n\n");
    if (!field_true(results, "rounds_claimable")) {
        table_add(out, "None: fewer than %d rounds. What follows is a look, no comparison.\n", CLAIM_ROUNDS);
        return;
    }
    json_array_foreach(json_object_get(results, "claims"), i, claim)
    {
        table_add(out, "- ");
        add_escaped(out, field_text(claim, "text"));
        table_add(out, "\n");
    }
    if (i == 0)
        table_add(out, "None: there is nothing to compare.\n");
}

static void add_noise(struct table *out, const json_t *results)
{
    size_t i;
    json_t *line;
    double noise = field_number(results, "noise");
    table_add(out, "\n## The same server under two names\n\n");
    if (isnan(noise))
        table_add(out, "Not measured: no difference can be claimed beyond it.\n");
    else
        table_add(out, "At most %s %% apart, where there is no difference:\n\n", table_digits(claim_percent(noise), 1));
    json_array_foreach(json_object_get(results, "aa"), i, line)
    {
        table_add(out, "- %s %s, %s: %s %% [%s, %s], %.0f rounds\n", field_text(line, "workload"), field_text(line, "path"),
                  field_text(line, "loop"), table_digits(claim_percent(field_number(line, "estimate")), 1),
                  table_digits(claim_percent(field_number(line, "lo")), 1),
                  table_digits(claim_percent(field_number(line, "hi")), 1), field_number(line, "n"));
    }
}

/* -- cells ------------------------------------------------------------------------------------------------------- */

static bool is_open(const json_t *cell)
{
    return field_is(cell, "loop", "open");
}

static const char *first_reason(const json_t *cell)
{
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(cell, "rounds"), i, round)
    {
        const char *reason = json_string_value(json_array_get(json_object_get(round, "reasons"), 0));
        if (reason != NULL)
            return reason;
    }
    return "no reason is known";
}

static void add_load(struct table *out, const json_t *cell)
{
    if (is_open(cell))
        table_add(out, " | %s/s", table_whole(field_number(cell, "rate")));
    else
        table_add(out, " | c = %s", table_whole(field_number(cell, "concurrency")));
}

static void add_figures(struct table *out, const json_t *cell)
{
    const json_t *summary = json_object_get(cell, "summary");
    double goodput = field_number(summary, "goodput.median"), lo = field_number(summary, "goodput.lo");
    table_add(out, " | %s%s", field_true(summary, "at_least") ? "≥ " : "", table_whole(goodput));
    if (isfinite(lo))
        table_add(out, " [%s, %s]", table_whole(lo), table_whole(field_number(summary, "goodput.hi")));
    table_add(out, " | %s | %s", field_text(summary, "limiter"),
              table_digits(field_number(summary, "cpu_us_per_request.serving"), 2));
    table_add(out, " | %s / %s", table_whole(field_number(summary, "time_us.p50")),
              is_open(cell) ? table_whole(field_number(summary, "time_us.p99")) : TABLE_NOTHING);
}

static void add_cell(struct table *out, const json_t *cell)
{
    double valid = field_number(cell, "summary.n_valid"), all = field_number(cell, "summary.n");
    table_add(out, "| ");
    add_escaped(out, field_text(cell, "server"));
    table_add(out, " | %s | %s | %s", field_text(cell, "workload"), field_text(cell, "path"),
              field_text(cell, "instrument"));
    add_load(out, cell);
    if (valid > 0) {
        add_figures(out, cell);
    } else {
        table_add(out, " | %s: ", field_number(cell, "summary.n_failed") > 0 ? "failed" : "void");
        add_escaped(out, all > 0 ? first_reason(cell) : "it was not measured");
        table_add(out, " | | |");
    }
    table_add(out, " | %s of %s |\n", table_whole(valid), table_whole(all));
}

static void add_section(struct table *out, const json_t *cells, const char *section)
{
    size_t i;
    json_t *cell;
    table_add(out, "\n## ");
    add_escaped(out, section);
    table_add(out, "\n\n| server | workload | path | instrument | load | right replies a second | limited by | CPU µs | p50 / p99 µs "
                   "| rounds |\n|---|---|---|---|--:|--:|---|--:|--:|--:|\n");
    json_array_foreach((json_t *)cells, i, cell) if (field_is(cell, "section", section)) add_cell(out, cell);
}

static bool is_first_of_section(const json_t *cells, size_t at)
{
    const char *section = field_text(json_array_get(cells, at), "section");
    for (size_t i = 0; i < at; i++)
        if (field_is(json_array_get(cells, i), "section", section))
            return false;
    return true;
}

static void add_cells(struct table *out, const json_t *cells)
{
    for (size_t i = 0; i < json_array_size(cells); i++)
        if (is_first_of_section(cells, i))
            add_section(out, cells, field_text(json_array_get(cells, i), "section"));
    table_add(out, "\nEvery body was verified. The CPU is that of all processes that serve, for a request. Times of a closed loop "
                   "(c = N)\nare service times; percentiles are those of a fixed rate, from the intended start.\n");
}

/* -- the rest ---------------------------------------------------------------------------------------------------- */

static void add_witnesses(struct table *out, const json_t *witnesses)
{
    size_t i;
    json_t *line;
    if (json_array_size(witnesses) == 0)
        return;
    table_add(out, "\n## Witnesses\n\n| workload | path | c | load | ab | httperf | |\n|---|---|--:|--:|--:|--:|---|\n");
    json_array_foreach((json_t *)witnesses, i, line)
    {
        table_add(out, "| %s | %s | %s | %s | %s | %s | ", field_text(line, "workload"), field_text(line, "path"),
                  table_whole(field_number(line, "concurrency")), table_whole(field_number(line, "load")),
                  table_whole(field_number(line, "ab")), table_whole(field_number(line, "httperf")));
        add_escaped(out, field_text(line, "text"));
        table_add(out, " |\n");
    }
}

static void add_voids(struct table *out, const json_t *voids)
{
    size_t i;
    json_t *line;
    if (json_array_size(voids) == 0)
        return;
    table_add(out, "\n## Rounds that do not count\n\n");
    json_array_foreach((json_t *)voids, i, line)
    {
        table_add(out, "- %s: ", field_text(line, "status"));
        add_escaped(out, field_text(line, "cell"));
        table_add(out, ", round %.0f: ", field_number(line, "round"));
        add_escaped(out, json_string_value(json_array_get(json_object_get(line, "reasons"), 0)) ?: "no reason is known");
        table_add(out, "\n");
    }
}

char *markdown_of(const json_t *results)
{
    struct table out = {0};
    add_title(&out, results);
    add_claims(&out, results);
    add_noise(&out, results);
    add_cells(&out, json_object_get(results, "cells"));
    add_witnesses(&out, json_object_get(results, "witnesses"));
    add_voids(&out, json_object_get(results, "voids"));
    table_add(&out, "\nFingerprint %s; again: `build/millbench run --seed %.0f %s`\n", field_text(results, "fingerprint_hash"),
              field_number(results, "seed"), field_text(results, "plan"));
    return out.text;
}
