/* results.c: a run's folder becomes its results; see results.h. */
#include "results/results.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "file.h"
#include "judge/limiter.h"
#include "results/archive.h"
#include "results/contest.h"
#include "results/field.h"
#include "results/measured.h"
#include "results/regression.h"
#include "results/summary.h"
#include "results/witness.h"
#include "words.h"

#define ROUNDS_MAX 250

/* -- cells
 * -------------------------------------------------------------------------------------------------------------- */

static bool is_there(const char *folder, const char *cell, int round, int attempt)
{
    char *place = attempt > 0 ? words("%s/raw/%s/%02d.%d", folder, cell, round, attempt)
                              : words("%s/raw/%s/%02d", folder, cell, round);
    bool there = access(place, F_OK) == 0;
    free(place);
    return there;
}

static void add_round(json_t *rounds, json_t *measured, int attempt)
{
    json_object_set_new(measured, "attempt", json_integer(attempt));
    json_array_append_new(rounds, measured);
}

/* An interrupted run has fewer; of a complete one every round is wanted, and one that is missing has failed. */
static json_t *rounds_of(const char *folder, const json_t *run, const json_t *cell)
{
    bool complete = field_is(run, "state", "complete");
    double wanted = field_number(cell, "rounds");
    json_t *rounds = json_array();
    for (int round = 1; round <= ROUNDS_MAX; round++) {
        int attempt = 1;
        for (; is_there(folder, field_text(cell, "name"), round, attempt); attempt++)
            add_round(rounds, measured_round(folder, cell, round, attempt, json_object_get(run, "pages")), attempt);
        if (is_there(folder, field_text(cell, "name"), round, 0) || (complete && round <= wanted))
            add_round(rounds, measured_round(folder, cell, round, 0, json_object_get(run, "pages")), attempt);
    }
    return rounds;
}

static json_t *command_of(const char *folder, const json_t *cell)
{
    char *path = words("%s/raw/%s/01/command", folder, field_text(cell, "name")), *text = file_read(path, NULL);
    if (text != NULL)
        text[strcspn(text, "\n")] = '\0';
    json_t *command = text != NULL ? json_string(text) : NULL;
    free(path);
    free(text);
    return command != NULL ? command : json_null();
}

static json_t *cells_of(const char *folder, const json_t *run)
{
    json_t *cells = json_array(), *planned;
    size_t i;
    json_array_foreach(json_object_get(run, "cells"), i, planned)
    {
        const char *name = field_text(planned, "name");
        if (!json_is_object(planned) || *name == '\0' || strchr(name, '/') != NULL)
            continue;
        json_t *cell = json_copy(planned), *rounds = rounds_of(folder, run, planned);
        json_object_set_new(cell, "command", command_of(folder, planned));
        json_object_set_new(cell, "summary", summary_of(planned, rounds));
        json_object_set_new(cell, "rounds", rounds);
        json_array_append_new(cells, cell);
    }
    return cells;
}

/* -- what needs several cells
 * ---------------------------------------------------------------------------------------------- */

static double null_rate(const json_t *cells, const json_t *like)
{
    size_t i;
    json_t *cell;
    json_array_foreach((json_t *)cells, i, cell)
    {
        if (field_is(cell, "server", "null") && field_is(cell, "workload", field_text(like, "workload")) &&
            field_is(cell, "instrument", field_text(like, "instrument")) &&
            json_equal(json_object_get(cell, "concurrency"), json_object_get(like, "concurrency")))
            return field_number(cell, "summary.goodput.median");
    }
    return NAN;
}

/* How much more the generator reached with a server that does nothing. */
static void add_headroom(json_t *cells)
{
    size_t i;
    json_t *cell;
    json_array_foreach(cells, i, cell)
    {
        double headroom = null_rate(cells, cell) / field_number(cell, "summary.goodput.median");
        if (field_is(cell, "server", "null") || field_is(cell, "loop", "open") || isnan(headroom))
            continue;
        json_object_set_new(json_object_get(cell, "summary"), "headroom", field_real(headroom));
        if (headroom < LIMITER_HEADROOM)
            summary_add_flag(json_object_get(cell, "summary"),
                             "the generator reached less than 1.25 times that with a server that does nothing");
    }
}

static json_t *voids_of(const json_t *cells)
{
    json_t *voids = json_array(), *cell, *round;
    size_t i, j;
    json_array_foreach((json_t *)cells, i, cell)
    {
        json_array_foreach(json_object_get(cell, "rounds"), j, round)
        {
            if (!field_is(round, "status", "valid"))
                json_array_append_new(voids, json_pack("{s:O, s:O, s:O, s:O}", "cell", json_object_get(cell, "name"),
                                                       "round", json_object_get(round, "round"), "status",
                                                       json_object_get(round, "status"), "reasons",
                                                       json_object_get(round, "reasons")));
        }
    }
    return voids;
}

/* -- equal work
 * --------------------------------------------------------------------------------------------------------------- */

static void add_difference(json_t *list, const char *name, const json_t *mine, const json_t *first)
{
    char *a = json_dumps(mine, JSON_ENCODE_ANY | JSON_COMPACT), *b = json_dumps(first, JSON_ENCODE_ANY | JSON_COMPACT);
    char *text = words("%s: %s, the first has %s", name, a != NULL ? a : "nothing", b != NULL ? b : "nothing");
    json_array_append_new(list, json_string(text));
    free(a);
    free(b);
    free(text);
}

/* How each card differs from the first one of the same workload. */
static json_t *equal_work_of(const json_t *run)
{
    static const char *const compared[][2] = {{"header_bytes", "header bytes"},
                                              {"framing", "framing"},
                                              {"keep_alive", "connection kept"},
                                              {"http_version", "HTTP version"}};
    json_t *cards = json_array(), *card;
    size_t i;
    json_array_foreach(json_object_get(run, "equal_work"), i, card)
    {
        json_t *copy = json_is_object(card) ? json_copy(card) : json_object(), *differences = json_array();
        const json_t *first = NULL;
        for (size_t j = 0; first == NULL && j <= i; j++)
            if (field_is(json_array_get(json_object_get(run, "equal_work"), j), "workload",
                         field_text(card, "workload")))
                first = json_array_get(json_object_get(run, "equal_work"), j);
        for (size_t k = 0; k < COUNT_OF(compared); k++)
            if (!json_equal(json_object_get(card, compared[k][0]), json_object_get(first, compared[k][0])))
                add_difference(differences, compared[k][1], json_object_get(card, compared[k][0]),
                               json_object_get(first, compared[k][0]));
        json_object_set_new(copy, "differences", differences);
        json_array_append_new(cards, copy);
    }
    return cards;
}

/* -- all of it
 * --------------------------------------------------------------------------------------------------------------------
 */

json_t *results_compute(const char *folder, const char *who)
{
    static const char *const copied[] = {"method",
                                         "plan",
                                         "seed",
                                         "started",
                                         "ended",
                                         "state",
                                         "settings",
                                         "layout",
                                         "fingerprint",
                                         "fingerprint_hash",
                                         "rounds_claimable",
                                         "pages",
                                         "starts"};
    char why[ARCHIVE_WHY_BYTES];
    json_t *run = archive_json(folder, "run.json", why);
    if (run == NULL || !field_is(run, "schema", "millbench-run/1")) {
        fprintf(stderr, "%s: %s: %s\n", who, folder,
                run == NULL ? why : "run.json is not of the schema millbench-run/1");
        json_decref(run);
        return NULL;
    }
    json_t *raw = archive_list(folder, who), *results = json_pack("{s:s}", "schema", RESULTS_SCHEMA);
    if (raw == NULL) {
        json_decref(run);
        json_decref(results);
        return NULL;
    }
    for (size_t i = 0; i < COUNT_OF(copied); i++)
        json_object_set(results, copied[i], json_object_get(run, copied[i]));
    json_t *cells = cells_of(folder, run), *again = contest_again(cells);
    double noise = contest_noise(again);
    add_headroom(cells);
    json_object_set_new(results, "raw", raw);
    json_object_set_new(results, "claims", contest_claims(cells, noise));
    json_object_set_new(results, "aa", again);
    json_object_set_new(results, "noise", field_real(noise));
    json_object_set_new(results, "base", regression_lines(cells));
    json_object_set_new(results, "witnesses", witness_lines(cells));
    json_object_set_new(results, "voids", voids_of(cells));
    json_object_set_new(results, "equal_work", equal_work_of(run));
    json_object_set_new(results, "cells", cells);
    json_decref(run);
    return results;
}

char *results_text(const json_t *results)
{
    char *text = json_dumps(results, JSON_SORT_KEYS | JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    CHECK(text != NULL);
    char *lines = words("%s\n", text);
    free(text);
    return lines;
}
