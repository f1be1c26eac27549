/* attempt.c: a window that a covariate voided is measured again; see attempt.h. */
#include "run/attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/field.h"
#include "results/measured.h"
#include "words.h"

static bool is_aside(const char *folder, const struct cell *cell, int round, int attempt)
{
    char *place = words("%s/raw/%s/%02d.%d", folder, cell->name, round, attempt);
    bool there = access(place, F_OK) == 0;
    free(place);
    return there;
}

/* How many were put aside. */
static int count_aside(const char *folder, const struct cell *cell, int round)
{
    int count = 0;
    while (is_aside(folder, cell, round, count + 1))
        count++;
    return count;
}

static const json_t *cell_of(const json_t *run, const char *name)
{
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(run, "cells"), i, cell) if (field_is(cell, "name", name)) return cell;
    return NULL;
}

bool attempt_wanted(const char *folder, const struct plan *plan, const struct cell *cell, const json_t *run, int round)
{
    if (count_aside(folder, cell, round) + 1 >= plan->attempts)
        return false;
    json_t *measured = measured_round(folder, cell_of(run, cell->name), round, 0, json_object_get(run, "pages"));
    bool is_void = field_is(measured, "status", "void");
    json_decref(measured);
    return is_void;
}

int attempt_set_aside(const char *folder, const struct cell *cell, int round)
{
    int attempt = count_aside(folder, cell, round) + 1;
    char *place = words("%s/raw/%s/%02d", folder, cell->name, round);
    char *aside = words("%s.%d", place, attempt);
    int result = rename(place, aside);
    free(place);
    free(aside);
    return result;
}
