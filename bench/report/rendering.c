/* rendering.c: the files that a run's results are shown as; see rendering.h. */
#include "report/rendering.h"

#include <stddef.h>

#include "results/results.h"

static char *json(const json_t *results, const char *who)
{
    (void)who;
    return results_text(results);
}

const struct rendering renderings[] = {
    {"results.json", json},
    {NULL, NULL},
};
