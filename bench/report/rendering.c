/* rendering.c: the files that a run's results are shown as; see rendering.h. */
#include "report/rendering.h"

#include <stddef.h>

#include "report/csv.h"
#include "report/html.h"
#include "report/markdown.h"
#include "results/results.h"

static char *json(const json_t *results, const char *who)
{
    (void)who;
    return results_text(results);
}

static char *csv(const json_t *results, const char *who)
{
    (void)who;
    return csv_of(results);
}

static char *markdown(const json_t *results, const char *who)
{
    (void)who;
    return markdown_of(results);
}

const struct rendering renderings[] = {
    {"results.json", json},
    {"results.csv", csv},
    {"report.html", html_of},
    {"report.md", markdown},
    {NULL, NULL},
};
