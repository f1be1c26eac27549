/* summary.c: what the rounds of one cell come to together; see summary.h. */
#include "results/summary.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "judge/claim.h"
#include "judge/limiter.h"
#include "judge/order.h"
#include "results/field.h"

#define LEVEL 0.95

size_t summary_values(const json_t *rounds, const char *path, double *values)
{
    size_t count = 0, i;
    json_t *round;
    json_array_foreach((json_t *)rounds, i, round)
    {
        double value = field_number(round, path);
        if (field_is(round, "status", "valid") && !isnan(value) && count < SUMMARY_ROUNDS_MAX)
            values[count++] = value;
    }
    return count;
}

static double median_of(const json_t *rounds, const char *path)
{
    double values[SUMMARY_ROUNDS_MAX];
    size_t count = summary_values(rounds, path, values);
    if (count == 0)
        return NAN;
    order_sort(values, count);
    return order_median(values, count);
}

static json_t *with_interval(const json_t *rounds, const char *path)
{
    double values[SUMMARY_ROUNDS_MAX], median, lo = NAN, hi = NAN;
    size_t count = summary_values(rounds, path, values);
    if (count == 0)
        return json_null();
    if (!order_median_interval(values, count, LEVEL, &median, &lo, &hi))
        lo = hi = NAN;
    return json_pack("{s:o, s:o, s:o}", "median", field_real(median), "lo", field_real(lo), "hi", field_real(hi));
}

/* The first valid round's figure tells which names there are; each becomes its median over the rounds. */
static json_t *medians_like(const json_t *rounds, const char *path, const json_t *like)
{
    json_t *all = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)like, name, value)
    {
        char deeper[256];
        snprintf(deeper, sizeof deeper, "%s.%s", path, name);
        if (json_is_object(value))
            json_object_set_new(all, name, medians_like(rounds, deeper, value));
        else if (json_is_string(value))
            json_object_set(all, name, value);
        else
            json_object_set_new(all, name, field_real(median_of(rounds, deeper)));
    }
    return all;
}

static json_t *medians(const json_t *rounds, const char *path)
{
    size_t i;
    json_t *round;
    json_array_foreach((json_t *)rounds, i, round)
    {
        const json_t *like = field_at(round, path);
        if (field_is(round, "status", "valid") && json_is_object(like))
            return medians_like(rounds, path, like);
    }
    return json_null();
}

/* Of the valid rounds, the verdict that most of them have; unknown where none has more than half. */
static const char *limiter_most(const json_t *rounds)
{
    const char *names[] = {limiter_name(LIMITER_SERVER), limiter_name(LIMITER_GENERATOR),
                           limiter_name(LIMITER_NEITHER)};
    size_t counts[3] = {0}, valid = 0, i;
    json_t *round;
    json_array_foreach((json_t *)rounds, i, round)
    {
        if (!field_is(round, "status", "valid"))
            continue;
        valid++;
        for (int n = 0; n < 3; n++)
            counts[n] += field_is(round, "limiter", names[n]);
    }
    for (int n = 0; n < 3; n++)
        if (2 * counts[n] > valid)
            return names[n];
    return valid > 0 ? limiter_name(LIMITER_NEITHER) : limiter_name(LIMITER_UNKNOWN);
}

void summary_add_flag(json_t *summary, const char *text)
{
    json_array_append_new(json_object_get(summary, "flags"), json_string(text));
}

static size_t count_status(const json_t *rounds, const char *status)
{
    size_t count = 0, i;
    json_t *round;
    json_array_foreach((json_t *)rounds, i, round) count += field_is(round, "status", status);
    return count;
}

static void flag(json_t *summary, const json_t *rounds)
{
    char text[200];
    size_t failed = count_status(rounds, "failed"), voided = count_status(rounds, "void"), wrong = 0, unsteady = 0, i;
    json_t *round;
    json_array_foreach((json_t *)rounds, i, round)
    {
        const json_t *ok = field_at(round, "little.ok");
        wrong += field_is(round, "status", "valid") && json_is_false(ok);
        unsteady += field_is(round, "status", "valid") && !field_true(round, "warm_up_steady");
    }
    if (failed > 0) {
        snprintf(text, sizeof text, "%zu of %zu rounds failed", failed, json_array_size(rounds));
        summary_add_flag(summary, text);
    }
    if (voided > 0) {
        snprintf(text, sizeof text, "%zu of %zu rounds are void", voided, json_array_size(rounds));
        summary_add_flag(summary, text);
    }
    if (wrong > 0) {
        snprintf(text, sizeof text, "in %zu rounds rate × time is not the concurrency (Little)", wrong);
        summary_add_flag(summary, text);
    }
    if (unsteady > 0) {
        snprintf(text, sizeof text, "in %zu rounds the warm-up ended before the rate was steady", unsteady);
        summary_add_flag(summary, text);
    }
}

json_t *summary_of(const json_t *cell, const json_t *rounds)
{
    static const char *const single[] = {"mib_per_s", "reuse", "header_bytes", "tool_rate", "lag_p99_us", "warm_up_s"};
    static const char *const grouped[] = {"cpu_us_per_request", "busy", "time_us", "memory_kib", "switches"};
    const char *limiter = limiter_most(rounds);
    bool open = field_is(cell, "loop", "open");
    json_t *summary =
        json_pack("{s:I, s:I, s:I, s:o, s:s, s:b, s:n, s:[]}", "n", (json_int_t)json_array_size(rounds), "n_valid",
                  (json_int_t)count_status(rounds, "valid"), "n_failed", (json_int_t)count_status(rounds, "failed"),
                  "goodput", with_interval(rounds, "goodput"), "limiter", limiter, "at_least",
                  !open && strcmp(limiter, limiter_name(LIMITER_GENERATOR)) == 0, "headroom", "flags");
    for (size_t i = 0; i < COUNT_OF(single); i++)
        json_object_set_new(summary, single[i], field_real(median_of(rounds, single[i])));
    for (size_t i = 0; i < COUNT_OF(grouped); i++)
        json_object_set_new(summary, grouped[i], medians(rounds, grouped[i]));
    flag(summary, rounds);
    return summary;
}
