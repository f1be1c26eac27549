/* html.c: results as a page of its own: what it says, in which order; see html.h. */
#include "report/html.h"

#include <math.h>
#include <stdlib.h>

#include "judge/claim.h"
#include "report/html_figures.h"
#include "report/html_style.h"
#include "report/html_tables.h"
#include "report/html_text.h"
#include "results/field.h"

static void add_heading(struct table *out, const char *text)
{
    table_add(out, "<h2>%s</h2>\n", text);
}

static void add_head(struct table *out, const json_t *results)
{
    table_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>millbench: ");
    html_text(out, field_text(results, "plan"));
    table_add(out, "</title>\n<style>\n%s</style></head><body>\n<h1>millbench: ", html_style);
    html_text(out, field_text(results, "plan"));
    table_add(out, "</h1>\n<p class=\"soft\">");
    html_text(out, field_text(results, "started"));
    table_add(out, ", %s, layout %s, windows of %s s, seed %.0f, method %.0f</p>\n", field_text(results, "state"),
              field_text(results, "layout.kind"), table_digits(field_number(results, "settings.window_s"), 1),
              field_number(results, "seed"), field_number(results, "method"));
    if (!field_is(results, "state", "complete"))
        table_add(out, "<p class=\"bad\">This run is not complete: what follows is what it had until then.</p>\n");
}

/* -- claims ------------------------------------------------------------------------------------------------------ */

static void add_claims(struct table *out, const json_t *results)
{
    size_t i;
    json_t *claim;
    add_heading(out, "Claims");
    if (!field_true(results, "rounds_claimable")) {
        table_add(out, "<p>None: fewer than %d rounds. What follows is a look, no comparison.</p>\n", CLAIM_ROUNDS);
        return;
    }
    table_add(out, "<ul class=\"claims\">\n");
    json_array_foreach(json_object_get(results, "claims"), i, claim)
    {
        table_add(out, "<li class=\"%s\">", field_text(claim, "verdict"));
        html_text(out, field_text(claim, "text"));
        table_add(out, "</li>\n");
    }
    table_add(out, "</ul>\n");
}

static void add_noise(struct table *out, const json_t *results)
{
    size_t i;
    json_t *line;
    double noise = field_number(results, "noise");
    add_heading(out, "The same server under two names");
    if (isnan(noise))
        table_add(out, "<p>Not measured.</p>\n");
    else
        table_add(out, "<p>Where there is no difference, they were at most %s&nbsp;%% apart. Nothing less is claimed.</p>\n",
                  table_digits(claim_percent(noise), 1));
    table_add(out, "<ul>\n");
    json_array_foreach(json_object_get(results, "aa"), i, line)
    {
        table_add(out, "<li>%s %s, %s loop: %s %% [%s, %s], %s rounds</li>\n", field_text(line, "workload"), field_text(line, "path"),
                  field_text(line, "loop"), table_digits(claim_percent(field_number(line, "estimate")), 1),
                  table_digits(claim_percent(field_number(line, "lo")), 1),
                  table_digits(claim_percent(field_number(line, "hi")), 1), table_whole(field_number(line, "n")));
    }
    table_add(out, "</ul>\n");
}

/* -- the rest ---------------------------------------------------------------------------------------------------- */

static void add_voids(struct table *out, const json_t *voids)
{
    size_t i;
    json_t *line;
    add_heading(out, "Rounds that do not count");
    table_add(out, "<details><summary>%zu rounds</summary><ul>\n", json_array_size(voids));
    json_array_foreach((json_t *)voids, i, line)
    {
        table_add(out, "<li>%s: ", field_text(line, "status"));
        html_text(out, field_text(line, "cell"));
        table_add(out, ", round %s: ", table_whole(field_number(line, "round")));
        html_text(out, json_string_value(json_array_get(json_object_get(line, "reasons"), 0)) ?: "no reason is known");
        table_add(out, "</li>\n");
    }
    table_add(out, "</ul></details>\n");
}

static void add_method(struct table *out)
{
    add_heading(out, "Method");
    table_add(out,
              "<ul>\n<li>A round is a fresh start of the server, a warm-up until the rate is steady, and one timed window. Every round "
              "shuffles the cells. Nothing is the best of several.</li>\n"
              "<li>Every body is compared in length and hash while the clock runs; only right replies count. A round with a wrong one has "
              "failed.</li>\n"
              "<li>A comparison takes ln(A÷B) of each round, the median of the Walsh averages, and the exact Wilcoxon signed-rank "
              "interval. A claim lies beyond what the same server under two names differs by.</li>\n"
              "<li>Rounds are void for what else happened on the machine alone: other programs over 3&nbsp;%% of a core, the hypervisor over "
              "1&nbsp;%%, a clock's step, a late generator. They stay listed.</li>\n"
              "<li>Limited by: the server when its CPUs are busy to 95&nbsp;%% and the generator's to at most 90&nbsp;%%; a rate that the "
              "generator limits is written ≥ and is never ranked. Headroom is what the generator reached with a server that does nothing, "
              "divided by this rate.</li>\n"
              "<li>Percentiles are those of a fixed rate, from the intended start of each request. In a closed loop, that of ab too, a server "
              "that stops is asked less, and its stop hardly shows: those times are service times at c = N.</li>\n"
              "<li>On loopback the sender's CPU does the receiver's work of TCP.</li>\n</ul>\n");
}

static void add_json(struct table *out, const char *title, const json_t *value)
{
    char *text = json_dumps(value, JSON_SORT_KEYS | JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
    table_add(out, "<details><summary>%s</summary><pre>", title);
    html_text(out, text != NULL ? text : TABLE_NOTHING);
    table_add(out, "</pre></details>\n");
    free(text);
}

static void add_raw(struct table *out, const json_t *raw)
{
    size_t i;
    json_t *file;
    add_heading(out, "Raw files");
    table_add(out, "<p>Every number of this page follows from them; <code>millbench verify</code> computes it again.</p>\n"
                   "<details><summary>%zu files and their SHA-256</summary><pre>",
              json_array_size(raw));
    json_array_foreach((json_t *)raw, i, file)
    {
        table_add(out, "%s  ", field_text(file, "sha256"));
        html_text(out, field_text(file, "path"));
        table_add(out, "\n");
    }
    table_add(out, "</pre></details>\n</body></html>\n");
}

static int add_measured(struct table *out, const json_t *cells, const char *who)
{
    add_heading(out, "All that was measured");
    html_tables_cells(out, cells);
    if (html_figures_sweep(out, cells, who) < 0)
        return -1;
    add_heading(out, "Each process");
    if (html_figures_cpu(out, cells, who) < 0)
        return -1;
    html_tables_processes(out, cells);
    add_heading(out, "Times");
    html_tables_latency(out, cells);
    return 0;
}

char *html_of(const json_t *results, const char *who)
{
    struct table out = {0};
    const json_t *cells = json_object_get(results, "cells");
    add_head(&out, results);
    add_claims(&out, results);
    add_noise(&out, results);
    if (add_measured(&out, cells, who) < 0) {
        free(out.text);
        return NULL;
    }
    add_heading(&out, "Witnesses");
    html_tables_witnesses(&out, json_object_get(results, "witnesses"));
    add_heading(&out, "Equal work");
    html_tables_equal_work(&out, json_object_get(results, "equal_work"));
    add_json(&out, "what the servers say of themselves", json_object_get(results, "starts"));
    add_voids(&out, json_object_get(results, "voids"));
    add_method(&out);
    add_heading(&out, "The machine, the build, the settings");
    table_add(&out, "<p>Fingerprint <code>%s</code></p>\n", field_text(results, "fingerprint_hash"));
    add_json(&out, "fingerprint", json_object_get(results, "fingerprint"));
    add_json(&out, "settings", json_object_get(results, "settings"));
    add_json(&out, "layout", json_object_get(results, "layout"));
    add_json(&out, "pages", json_object_get(results, "pages"));
    add_heading(&out, "Commands and rounds");
    html_tables_commands(&out, cells);
    add_raw(&out, json_object_get(results, "raw"));
    return out.text;
}
