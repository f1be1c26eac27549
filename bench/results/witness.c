/* witness.c: the instruments side by side; see witness.h. */
#include "results/witness.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "judge/limiter.h"
#include "results/field.h"

#define NEAR       0.05
#define TEXT_BYTES 600

static bool same(const json_t *a, const json_t *b, const char *field)
{
    return json_equal(json_object_get(a, field), json_object_get(b, field));
}

static const json_t *find(const json_t *cells, const json_t *like, const char *instrument)
{
    size_t i;
    json_t *cell;
    json_array_foreach((json_t *)cells, i, cell)
    {
        if (field_is(cell, "instrument", instrument) && same(cell, like, "server") &&
            same(cell, like, "configuration") && same(cell, like, "path") && same(cell, like, "workload") &&
            same(cell, like, "concurrency"))
            return cell;
    }
    return NULL;
}

/* Why a witness says something else than the generator, from what both are known to do and from the CPUs. */
static void explain(char text[TEXT_BYTES], const char *name, const json_t *witness, double load)
{
    size_t length = strlen(text);
    double rate = field_number(witness, "summary.goodput.median"),
           busy = field_number(witness, "summary.busy.generator");
    char *at = text + length;
    size_t room = TEXT_BYTES - length;
    const char *separator = length > 0 ? " " : "";
    if (witness == NULL)
        return;
    if (isnan(rate)) {
        snprintf(at, room, "%s%s: no round counts.", separator, name);
        return;
    }
    double gap = rate / load - 1;
    const char *why = "";
    if (fabs(gap) <= NEAR)
        why = "agrees";
    else if (strcmp(name, "httperf") == 0 && gap < 0)
        why = "selects over all its connections for each reply, and its last connections run alone at the end";
    else if (gap < 0 && busy >= LIMITER_BUSY)
        why = "is at the limit of its one CPU, so that its figure is the generator's";
    else if (gap < 0)
        why = "waits in a loop of its own with a buffer of 8 KiB, and asks in HTTP/1.0";
    else
        why = "does less for a request: it compares lengths at most, where the own generator hashes every body";
    snprintf(at, room, "%s%s (%+.0f %%) %s.", separator, name, 100 * gap, why);
}

static json_t *line_of(const json_t *cells, const json_t *load)
{
    const json_t *ab = find(cells, load, "ab"), *httperf = find(cells, load, "httperf");
    char text[TEXT_BYTES] = "";
    double rate = field_number(load, "summary.goodput.median");
    if (ab == NULL && httperf == NULL)
        return NULL;
    if (!isnan(rate)) {
        explain(text, "ab", ab, rate);
        explain(text, "httperf", httperf, rate);
    }
    json_t *line = json_pack("{s:o, s:o, s:o, s:s}", "load", field_real(rate), "ab",
                             field_real(field_number(ab, "summary.goodput.median")), "httperf",
                             field_real(field_number(httperf, "summary.goodput.median")), "text", text);
    static const char *const copied[] = {"server", "configuration", "path", "workload", "concurrency"};
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        json_object_set(line, copied[i], json_object_get(load, copied[i]));
    return line;
}

json_t *witness_lines(const json_t *cells)
{
    json_t *lines = json_array(), *cell;
    size_t i;
    json_array_foreach((json_t *)cells, i, cell)
    {
        json_t *line =
            field_is(cell, "instrument", "load") && field_is(cell, "loop", "closed") ? line_of(cells, cell) : NULL;
        if (line != NULL)
            json_array_append_new(lines, line);
    }
    return lines;
}
