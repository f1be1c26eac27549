/* regression.c: whether a build is worse than the base; see regression.h. */
#include "results/regression.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "judge/claim.h"
#include "judge/rank_sum.h"
#include "judge/signed_rank.h"
#include "results/contest.h"
#include "results/field.h"
#include "results/summary.h"

static bool is_open(const json_t *cell)
{
    return field_is(cell, "loop", "open");
}

/* ln of how much better the cell is than the other, in all rounds that both have. At a fixed rate it is the CPU that
 * can differ. */
static size_t ratios_of(const json_t *cell, const json_t *other, double *ratios)
{
    return is_open(cell) ? contest_log_ratios(other, cell, "cpu_us_per_request.serving", ratios)
                         : contest_log_ratios(cell, other, "goodput", ratios);
}

/* The greatest difference between a server and itself; 0 where that was not measured. */
static double noise_of(const json_t *cells, bool open)
{
    double noise = 0, ratios[SUMMARY_ROUNDS_MAX];
    size_t i, j;
    json_t *cell, *again;
    json_array_foreach((json_t *)cells, i, cell)
    {
        json_array_foreach((json_t *)cells, j, again)
        {
            struct estimate estimate;
            if (is_open(cell) == open && contest_is_twin(again, cell, CONTEST_AGAIN) &&
                signed_rank_estimate(ratios, ratios_of(cell, again, ratios), CLAIM_LEVEL, &estimate))
                noise = fmax(noise, fabs(estimate.value));
        }
    }
    return noise;
}

static json_t *line_of(const json_t *cell, const json_t *base)
{
    double ratios[SUMMARY_ROUNDS_MAX];
    struct estimate estimate = {.value = NAN, .lo = NAN, .hi = NAN};
    size_t count = ratios_of(cell, base, ratios);
    signed_rank_estimate(ratios, count, CLAIM_LEVEL, &estimate);
    bool failed = field_number(cell, "summary.n_failed") > 0, base_failed = field_number(base, "summary.n_failed") > 0;
    const char *verdict = base_failed || (!failed && !estimate.has_interval) ? REGRESSION_UNKNOWN
                          : failed                                           ? REGRESSION_FAILED
                                                                             : REGRESSION_SAME;
    return json_pack("{s:O, s:s, s:o, s:o, s:o, s:I, s:f, s:s}", "cell", json_object_get(cell, "name"), "figure",
                     is_open(cell) ? "CPU" : "rate", "estimate", field_real(estimate.value), "lo",
                     field_real(estimate.has_interval ? estimate.lo : NAN), "hi",
                     field_real(estimate.has_interval ? estimate.hi : NAN), "n", (json_int_t)count, "p",
                     signed_rank_p(ratios, count), "verdict", verdict);
}

static void adjust(json_t *lines)
{
    size_t count = json_array_size(lines);
    double *p = calloc(count + 1, sizeof *p);
    CHECK(p != NULL);
    for (size_t i = 0; i < count; i++)
        p[i] = field_number(json_array_get(lines, i), "p");
    rank_sum_holm(p, count);
    for (size_t i = 0; i < count; i++)
        json_object_set_new(json_array_get(lines, i), "p", json_real(p[i]));
    free(p);
}

static void judge(json_t *line, double noise)
{
    double estimate = field_number(line, "estimate");
    if (field_is(line, "verdict", REGRESSION_SAME) && field_number(line, "p") <= 1 - CLAIM_LEVEL &&
        fabs(estimate) > noise)
        json_object_set_new(line, "verdict", json_string(estimate < 0 ? REGRESSION_WORSE : REGRESSION_BETTER));
}

json_t *regression_lines(const json_t *cells)
{
    json_t *lines = json_array(), *cell, *base, *line;
    size_t i, j;
    json_array_foreach((json_t *)cells, i, cell)
    {
        json_array_foreach((json_t *)cells, j, base)
        {
            if (contest_is_twin(base, cell, CONTEST_BASE))
                json_array_append_new(lines, line_of(cell, base));
        }
    }
    adjust(lines);
    const double noise[] = {noise_of(cells, false), noise_of(cells, true)};
    json_array_foreach(lines, i, line) judge(line, noise[field_is(line, "figure", "CPU")]);
    return lines;
}
