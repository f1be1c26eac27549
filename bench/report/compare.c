/* compare.c: `millbench compare`: what differs between two runs of one build on one machine; see compare.h.
 *
 * Their rounds have no pairs, so it is the rank sum that decides. Every cell is a chance of a false alarm: the p-values
 * are Holm's, and a difference must be greater than what either run found between a server and itself.
 */
#include "report/compare.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "judge/claim.h"
#include "judge/order.h"
#include "judge/rank_sum.h"
#include "results/archive.h"
#include "results/field.h"
#include "results/results.h"
#include "results/summary.h"
#include "words.h"

#define LEVEL      0.95
#define DIFFERENCE 3

static const char who[] = "millbench compare";

/* One cell that both runs have. */
struct pair {
    const char *name, *unit;
    double a, b;              /* medians */
    struct estimate estimate; /* ln(b ÷ a) */
    double p;
};

static int say(const char *run, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", who, run, what);
    return -1;
}

/* -- whether they may be compared -------------------------------------------------------------------------------- */

static json_t *read_run(char *folder)
{
    char why[ARCHIVE_WHY_BYTES];
    for (size_t length = strlen(folder); length > 1 && folder[length - 1] == '/'; length--)
        folder[length - 1] = '\0';
    char *raw = archive_open(folder, who);
    json_t *results = raw != NULL ? archive_json(raw, "results.json", why) : NULL;
    archive_close(raw, folder);
    if (raw == NULL)
        return NULL;
    if (results == NULL || !field_is(results, "schema", RESULTS_SCHEMA)) {
        say(folder, results == NULL ? why : "results.json is not of the schema " RESULTS_SCHEMA);
        json_decref(results);
        return NULL;
    }
    return results;
}

static void say_difference(const char *path, const char *name, const json_t *a, const json_t *b)
{
    char *mine = json_dumps(a, JSON_ENCODE_ANY | JSON_COMPACT), *other = json_dumps(b, JSON_ENCODE_ANY | JSON_COMPACT);
    fprintf(stderr, "    %s%s: %.200s, and %.200s\n", path, name, mine ?: "nothing", other ?: "nothing");
    free(mine);
    free(other);
}

/* The first run's entries against the second's, to the depth of one object. */
static void tell_fingerprints(const json_t *a, const json_t *b)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)a, name, value)
    {
        const json_t *other = json_object_get(b, name);
        if (!json_equal(value, (json_t *)other))
            say_difference("", name, value, other);
    }
}

static int check_comparable(const char *folders[2], json_t *runs[2])
{
    if (field_number(runs[0], "method") != field_number(runs[1], "method"))
        return say(folders[1], "it was made by another method: their numbers mean different things");
    if (!field_is(runs[1], "fingerprint_hash", field_text(runs[0], "fingerprint_hash"))) {
        say(folders[1], "another machine or build; `millbench gate` compares two builds on one machine. What differs:");
        tell_fingerprints(json_object_get(runs[0], "fingerprint"), json_object_get(runs[1], "fingerprint"));
        return -1;
    }
    return 0;
}

/* -- the cells --------------------------------------------------------------------------------------------------- */

static const json_t *cell_named(const json_t *run, const char *name)
{
    size_t i;
    json_t *cell;
    json_array_foreach(json_object_get(run, "cells"), i, cell) if (field_is(cell, "name", name)) return cell;
    return NULL;
}

static bool is_at_rate(const json_t *cell)
{
    return field_is(cell, "loop", "open");
}

/* At a fixed rate it is the CPU that can differ. */
static size_t values_of(const json_t *cell, double *values)
{
    return summary_values(json_object_get(cell, "rounds"), is_at_rate(cell) ? "cpu_us_per_request.serving" : "goodput",
                          values);
}

static double median_of_logs(const double *logs, size_t count)
{
    double sorted[SUMMARY_ROUNDS_MAX];
    memcpy(sorted, logs, count * sizeof *logs);
    order_sort(sorted, count);
    return exp(order_median(sorted, count));
}

/* Returns whether there is something to compare. */
static bool pair_of(const json_t *a, const json_t *b, struct pair *pair)
{
    double mine[SUMMARY_ROUNDS_MAX], other[SUMMARY_ROUNDS_MAX];
    size_t n = values_of(a, mine), m = values_of(b, other);
    for (size_t i = 0; i < n; i++)
        mine[i] = log(mine[i]);
    for (size_t i = 0; i < m; i++)
        other[i] = log(other[i]);
    pair->name = field_text(a, "name");
    pair->unit = is_at_rate(a) ? "CPU us a request" : "a second";
    if (!rank_sum_estimate(other, m, mine, n, LEVEL, &pair->estimate))
        return false;
    pair->a = median_of_logs(mine, n);
    pair->b = median_of_logs(other, m);
    pair->p = rank_sum_p(other, m, mine, n);
    return true;
}

/* The witnesses have too few rounds, and are no measure of the servers. */
static size_t pair_all(json_t *runs[2], struct pair *pairs)
{
    size_t count = 0, i;
    json_t *cell;
    json_array_foreach(json_object_get(runs[0], "cells"), i, cell)
    {
        const json_t *other = cell_named(runs[1], field_text(cell, "name"));
        if (!field_is(cell, "instrument", "load"))
            continue;
        if (other == NULL || !pair_of(cell, other, &pairs[count]))
            printf("%-56s no comparison: %s\n", field_text(cell, "name"),
                   other == NULL ? "the second run does not have it" : "no valid round on one side");
        else
            count++;
    }
    return count;
}

/* -- what is said ------------------------------------------------------------------------------------------------ */

static void adjust(struct pair *pairs, size_t count)
{
    double *p = calloc(count + 1, sizeof *p);
    CHECK(p != NULL);
    for (size_t i = 0; i < count; i++)
        p[i] = pairs[i].p;
    rank_sum_holm(p, count);
    for (size_t i = 0; i < count; i++)
        pairs[i].p = p[i];
    free(p);
}

static bool differs(const struct pair *pair, double noise)
{
    return pair->p <= 1 - LEVEL && fabs(pair->estimate.value) > noise;
}

static void print_pair(const struct pair *pair, double noise)
{
    char interval[64] = "too few rounds for an interval";
    if (pair->estimate.has_interval)
        snprintf(interval, sizeof interval, "[%+.1f, %+.1f] %%", claim_percent(pair->estimate.lo),
                 claim_percent(pair->estimate.hi));
    printf("%-56s %10.1f %10.1f %s  %+6.1f %% %s  p = %.3f%s\n", pair->name, pair->a, pair->b, pair->unit,
           claim_percent(pair->estimate.value), interval, pair->p, differs(pair, noise) ? "  DIFFERENT" : "");
}

static double noise_of(json_t *runs[2])
{
    double a = field_number(runs[0], "noise"), b = field_number(runs[1], "noise");
    return fmax(isnan(a) ? 0 : a, isnan(b) ? 0 : b);
}

static int compare(const char *folders[2], json_t *runs[2])
{
    if (check_comparable(folders, runs) < 0)
        return 1;
    struct pair *pairs = calloc(json_array_size(json_object_get(runs[0], "cells")) + 1, sizeof *pairs);
    CHECK(pairs != NULL);
    size_t count = pair_all(runs, pairs), different = 0;
    double noise = noise_of(runs);
    adjust(pairs, count);
    for (size_t i = 0; i < count; i++) {
        print_pair(&pairs[i], noise);
        different += differs(&pairs[i], noise);
    }
    printf("%zu cells, %zu different (Holm-corrected at %.0f %%; the same server under two names: %.1f %%)\n", count,
           different, 100 * (1 - LEVEL), claim_percent(noise));
    free(pairs);
    if (count == 0)
        return say(folders[1], "there is no cell to compare") < 0;
    return different > 0 ? DIFFERENCE : 0;
}

static void usage(FILE *out)
{
    fputs("usage: millbench compare A B\n\n"
          "Compares two runs of one build on one machine, cell by cell: how B differs from A. A and B are the folders "
          "of runs\n"
          "that have results.json.\n"
          "Exit status: 0 no difference, 3 a difference, 1 they cannot be compared.\n\n"
          "  -h, --help   this\n",
          out);
}

int compare_main(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option != 'h')
            return 2;
        usage(stdout);
        return 0;
    }
    if (argc - optind != 2) {
        usage(stderr);
        return 2;
    }
    json_t *runs[2] = {read_run(argv[optind]), NULL};
    runs[1] = runs[0] != NULL ? read_run(argv[optind + 1]) : NULL;
    int status = runs[1] != NULL ? compare((const char *[]){argv[optind], argv[optind + 1]}, runs) : 1;
    json_decref(runs[0]);
    json_decref(runs[1]);
    return status;
}
