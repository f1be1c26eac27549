/* replacement.c: which cells want a further round; see replacement.h. */
#include "run/replacement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "results/field.h"
#include "results/measured.h"
#include "words.h"

static bool is_compared(const struct cell *a, const struct cell *b)
{
    return strcmp(a->workload, b->workload) == 0 && a->instrument == b->instrument && a->concurrency == b->concurrency &&
           a->rate == b->rate;
}

static const json_t *cell_of(const json_t *run, const char *name)
{
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(run, "cells"), i, cell) if (field_is(cell, "name", name)) return cell;
    return NULL;
}

/* A round that was not made, since the cell had enough by then, counts for nothing. */
static bool counts(const char *folder, const struct cell *cell, const json_t *run, int round)
{
    char *place = words("%s/raw/%s/%02d", folder, cell->name, round);
    bool there = access(place, F_OK) == 0;
    free(place);
    if (!there)
        return false;
    json_t *measured = measured_round(folder, cell_of(run, cell->name), round, json_object_get(run, "pages"));
    bool is_void = field_is(measured, "status", "void");
    json_decref(measured);
    return !is_void;
}

/* Of those with fewer rounds in the plan (the null server's, witnesses) as many as they have are asked for. */
static int complete_rounds(const struct plan *plan, const struct cell *cell, const bool *counted, int rounds)
{
    int complete = 0;
    for (int round = 0; round < rounds; round++) {
        bool all = true;
        for (size_t i = 0; i < plan->cell_count; i++)
            if (is_compared(&plan->cells[i], cell) && plan->cells[i].rounds == cell->rounds)
                all = all && counted[i * (size_t)rounds + (size_t)round];
        complete += all;
    }
    return complete;
}

size_t replacement_wanted(const char *folder, const struct plan *plan, const json_t *run, int rounds, bool *wanted)
{
    size_t count = 0;
    bool *counted = calloc(plan->cell_count * (size_t)rounds + 1, sizeof *counted);
    CHECK(counted != NULL);
    for (size_t i = 0; i < plan->cell_count; i++)
        for (int round = 0; round < rounds; round++)
            counted[i * (size_t)rounds + (size_t)round] = counts(folder, &plan->cells[i], run, round + 1);
    for (size_t i = 0; i < plan->cell_count; i++) {
        wanted[i] = complete_rounds(plan, &plan->cells[i], counted, rounds) < plan->cells[i].rounds;
        count += wanted[i];
    }
    free(counted);
    return count;
}
