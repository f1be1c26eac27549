/* contest.c: comparisons of two cells of one run; see contest.h. */
#include "results/contest.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "judge/claim.h"
#include "results/field.h"
#include "results/summary.h"

#define NAME_BYTES 160

/* -- pairs of rounds --------------------------------------------------------------------------------------------------
 */

/* The attempt that counts; NULL: none does. */
static const json_t *round_of(const json_t *cell, double number)
{
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(cell, "rounds"), i, round)
    {
        if (field_number(round, "round") == number && field_is(round, "status", "valid"))
            return round;
    }
    return NULL;
}

size_t contest_log_ratios(const json_t *a, const json_t *b, const char *path, double *ratios)
{
    size_t count = 0, i;
    json_t *one;
    json_array_foreach(json_object_get(a, "rounds"), i, one)
    {
        const json_t *other = round_of(b, field_number(one, "round"));
        double x = field_number(one, path), y = field_number(other, path);
        if (field_is(one, "status", "valid") && x > 0 && y > 0 && count < SUMMARY_ROUNDS_MAX)
            ratios[count++] = log(x / y);
    }
    return count < SIGNED_RANK_MAX ? count : SIGNED_RANK_MAX;
}

/* -- which cells
 * ---------------------------------------------------------------------------------------------------------- */

static bool same(const json_t *a, const json_t *b, const char *field)
{
    return json_equal(json_object_get(a, field), json_object_get(b, field));
}

static bool same_load(const json_t *a, const json_t *b)
{
    return same(a, b, "workload") && same(a, b, "instrument") && same(a, b, "concurrency") && same(a, b, "rate");
}

static bool ends_with(const json_t *cell, const char *suffix)
{
    const char *server = field_text(cell, "server");
    size_t length = strlen(server), end = strlen(suffix);
    return length > end && strcmp(server + length - end, suffix) == 0;
}

static bool is_again(const json_t *cell)
{
    return ends_with(cell, CONTEST_AGAIN);
}

bool contest_is_twin(const json_t *twin, const json_t *cell, const char *suffix)
{
    const char *server = field_text(cell, "server");
    return ends_with(twin, suffix) && strlen(field_text(twin, "server")) == strlen(server) + strlen(suffix) &&
           strncmp(field_text(twin, "server"), server, strlen(server)) == 0 && same(twin, cell, "configuration") &&
           same(twin, cell, "path") && same_load(twin, cell);
}

/* -- the A/A arm
 * ------------------------------------------------------------------------------------------------------------- */

static json_t *estimate_json(const struct estimate *estimate)
{
    if (estimate->n == 0)
        return json_null();
    bool there = estimate->has_interval;
    return json_pack("{s:f, s:o, s:o, s:I, s:o}", "estimate", estimate->value, "lo",
                     field_real(there ? estimate->lo : NAN), "hi", field_real(there ? estimate->hi : NAN), "n",
                     (json_int_t)estimate->n, "confidence", field_real(there ? estimate->confidence : NAN));
}

static json_t *again_json(const json_t *cell, const json_t *again)
{
    double ratios[SUMMARY_ROUNDS_MAX];
    struct estimate estimate;
    size_t count = contest_log_ratios(cell, again, "goodput", ratios);
    if (!signed_rank_estimate(ratios, count, CLAIM_LEVEL, &estimate))
        return NULL;
    json_t *line = estimate_json(&estimate);
    static const char *const copied[] = {"path", "workload", "instrument", "loop", "concurrency", "rate", "server"};
    for (size_t i = 0; i < COUNT_OF(copied); i++)
        json_object_set(line, copied[i], json_object_get(cell, copied[i]));
    return line;
}

json_t *contest_again(const json_t *cells)
{
    json_t *lines = json_array(), *cell, *again;
    size_t i, j;
    json_array_foreach((json_t *)cells, i, cell)
    {
        json_array_foreach((json_t *)cells, j, again)
        {
            json_t *line = contest_is_twin(again, cell, CONTEST_AGAIN) ? again_json(cell, again) : NULL;
            if (line != NULL)
                json_array_append_new(lines, line);
        }
    }
    return lines;
}

double contest_noise(const json_t *again)
{
    double noise = NAN, noise_of_few = NAN;
    size_t i;
    json_t *line;
    json_array_foreach((json_t *)again, i, line)
    {
        double estimate = fabs(field_number(line, "estimate"));
        if (!field_is(line, "loop", "closed"))
            continue;
        noise_of_few = fmax(noise_of_few, estimate);
        if (field_number(line, "n") >= CLAIM_ROUNDS)
            noise = fmax(noise, estimate);
    }
    return isnan(noise) ? noise_of_few : noise;
}

/* -- claims
 * ---------------------------------------------------------------------------------------------------------------------
 */

static enum limiter limiter_from(const char *name)
{
    for (int limiter = LIMITER_UNKNOWN; limiter <= LIMITER_NEITHER; limiter++)
        if (strcmp(limiter_name((enum limiter)limiter), name) == 0)
            return (enum limiter)limiter;
    return LIMITER_UNKNOWN;
}

/* The first failed round and why; NULL: there is none. A comparison needs all rounds on both sides. */
static const char *problem_of(const json_t *cell, char text[CLAIM_BYTES])
{
    size_t i;
    json_t *round;
    json_array_foreach(json_object_get(cell, "rounds"), i, round)
    {
        if (!field_is(round, "status", "failed"))
            continue;
        const char *why = json_string_value(json_array_get(json_object_get(round, "reasons"), 0));
        snprintf(text, CLAIM_BYTES, "failed in round %.0f: %.150s", field_number(round, "round"),
                 why != NULL ? why : "no reason is known");
        return text;
    }
    return NULL;
}

static void name_side(char name[NAME_BYTES], const json_t *cell)
{
    snprintf(name, NAME_BYTES, "%s %s %s", field_text(cell, "server"), field_text(cell, "workload"),
             field_text(cell, "path"));
}

static json_t *claim_json(const json_t *a, const json_t *b, const char *names[2], const struct claim *claim)
{
    json_t *line = estimate_json(&claim->first);
    if (json_is_null(line))
        line = json_object();
    json_t *second = estimate_json(&claim->second);
    if (json_is_object(second))
        json_object_set_new(second, "agrees", json_boolean(claim->agrees));
    json_object_set_new(line, "a", json_string(names[0]));
    json_object_set_new(line, "b", json_string(names[1]));
    json_object_set(line, "a_cell", json_object_get(a, "name"));
    json_object_set(line, "b_cell", json_object_get(b, "name"));
    json_object_set(line, "section", json_object_get(a, "section"));
    json_object_set(line, "workload", json_object_get(a, "workload"));
    json_object_set(line, "concurrency", json_object_get(a, "concurrency"));
    json_object_set_new(line, "verdict", json_string(claim_name(claim->verdict)));
    json_object_set_new(line, "text", json_string(claim->text));
    json_object_set_new(line, "second", second);
    return line;
}

static json_t *compare(const json_t *a, const json_t *b, double noise)
{
    double rates[SUMMARY_ROUNDS_MAX], cpu[SUMMARY_ROUNDS_MAX];
    char a_name[NAME_BYTES], b_name[NAME_BYTES], a_problem[CLAIM_BYTES], b_problem[CLAIM_BYTES];
    name_side(a_name, a);
    name_side(b_name, b);
    const struct claim_input input = {
        .a = {a_name, limiter_from(field_text(a, "summary.limiter")), field_number(a, "summary.goodput.median"),
              problem_of(a, a_problem)},
        .b = {b_name, limiter_from(field_text(b, "summary.limiter")), field_number(b, "summary.goodput.median"),
              problem_of(b, b_problem)},
        .rate_ratios = rates,
        .rate_count = contest_log_ratios(a, b, "goodput", rates),
        .cpu_ratios = cpu,
        .cpu_count = contest_log_ratios(b, a, "cpu_us_per_request.serving", cpu),
        .noise = noise,
    };
    struct claim claim;
    claim_make(&input, &claim);
    return claim_json(a, b, (const char *[]){a_name, b_name}, &claim);
}

/* Each pair of paths once, the faster-to-be first; only the product against others of another name. */
static bool is_contest(const json_t *a, const json_t *b, const char *first)
{
    static const char *const pairs[][2] = {{"direct", "static"}, {"proxied", "static"}, {"direct", "proxied"}};
    if (!field_is(a, "instrument", "load") || !field_is(a, "loop", "closed") || !same_load(a, b) ||
        !same(a, b, "section") || field_is(a, "section", "sweep"))
        return false;
    if (same(a, b, "server") && same(a, b, "configuration")) {
        for (size_t i = 0; i < COUNT_OF(pairs); i++)
            if (field_is(a, "path", pairs[i][0]) && field_is(b, "path", pairs[i][1]))
                return !is_again(a);
        return false;
    }
    if (!field_is(a, "server", first) || field_is(b, "server", first))
        return false;
    return contest_is_twin(b, a, CONTEST_AGAIN) || contest_is_twin(b, a, CONTEST_BASE) ||
           (field_is(b, "path", "peer") && !field_is(a, "path", "static"));
}

json_t *contest_claims(const json_t *cells, double noise)
{
    json_t *claims = json_array(), *a, *b;
    const char *first = field_text(json_array_get(cells, 0), "server");
    size_t i, j;
    json_array_foreach((json_t *)cells, i, a)
    {
        json_array_foreach((json_t *)cells, j, b)
        {
            if (i != j && is_contest(a, b, first))
                json_array_append_new(claims, compare(a, b, noise));
        }
    }
    return claims;
}
