/* claim.c: what may be said of two servers; see claim.h. */
#include "judge/claim.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS_MAX 10000 /* beyond that, no number of rounds is worth naming */

const char *claim_name(enum claim_verdict verdict)
{
    static const char *const names[] = {"none", "faster", "equivalent", "inconclusive", "at_least"};
    return names[verdict];
}

double claim_percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

static void add(struct claim *claim, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct claim *claim, const char *format, ...)
{
    size_t length = strlen(claim->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(claim->text + length, sizeof claim->text - length, format, arguments);
    va_end(arguments);
}

static void add_interval(struct claim *claim, const struct estimate *estimate)
{
    if (estimate->has_interval)
        add(claim, " [%+.1f %%, %+.1f %%]", claim_percent(estimate->lo), claim_percent(estimate->hi));
}

/* The second opinion, whatever the verdict. */
static void add_second(struct claim *claim)
{
    if (claim->second.n == 0)
        return;
    add(claim, "; by CPU per request %+.1f %%", claim_percent(claim->second.value));
    add_interval(claim, &claim->second);
    if (!claim->agrees)
        add(claim, ", which disagrees");
}

size_t claim_rounds_needed(const struct estimate *estimate, double noise)
{
    double size = fabs(estimate->value), half = (estimate->hi - estimate->lo) / 2;
    double to_differ = size - noise, to_equal = CLAIM_EQUIVALENT - size;
    double room = to_differ > to_equal ? to_differ : to_equal;
    if (!(room > 0) || !(half > 0))
        return 0;
    double rounds = ceil((double)estimate->n * (half / room) * (half / room));
    return rounds > ROUNDS_MAX ? 0 : rounds <= (double)estimate->n ? estimate->n + 1 : (size_t)rounds;
}

/* -- verdicts, in the order in which they are ruled out
 * --------------------------------------------------------------------- */

static bool say_problem(const struct claim_input *input, struct claim *claim)
{
    const struct claim_side *side = input->a.problem != NULL ? &input->a : &input->b;
    if (side->problem == NULL)
        return false;
    add(claim, "no comparison of %s and %s: %s %s", input->a.name, input->b.name, side->name, side->problem);
    return true;
}

static bool say_too_few(const struct claim_input *input, struct claim *claim)
{
    if (input->rate_count >= CLAIM_ROUNDS && claim->first.has_interval)
        return false;
    add(claim, "no claim on %s and %s: %zu rounds that count on both sides, a claim needs %d", input->a.name,
        input->b.name, input->rate_count, CLAIM_ROUNDS);
    return true;
}

static bool say_at_least(const struct claim_input *input, struct claim *claim)
{
    const struct claim_side *sides[] = {&input->a, &input->b};
    bool said = false;
    for (int i = 0; i < 2; i++)
        if (sides[i]->limiter == LIMITER_GENERATOR) {
            add(claim, "%s%s \xe2\x89\xa5 %.0f requests/s (generator-limited)", said ? ", " : "", sides[i]->name,
                sides[i]->goodput);
            said = true;
        }
    if (said) {
        claim->verdict = CLAIM_AT_LEAST;
        add_second(claim);
    }
    return said;
}

static void say_inconclusive(const struct claim_input *input, struct claim *claim, const char *why)
{
    claim->verdict = CLAIM_INCONCLUSIVE;
    add(claim, "%s and %s: inconclusive", input->a.name, input->b.name);
    add_interval(claim, &claim->first);
    if (why != NULL) {
        add(claim, ": %s", why);
    } else {
        size_t rounds = claim_rounds_needed(&claim->first, isnan(input->noise) ? 0 : input->noise);
        if (rounds > 0)
            add(claim, ", needs about %zu rounds", rounds);
        else
            add(claim, ", and no number of rounds would decide it here");
    }
    add_second(claim);
}

static bool is_beyond_noise(const struct claim_input *input, const struct estimate *estimate)
{
    return !isnan(input->noise) && (estimate->lo > input->noise || estimate->hi < -input->noise);
}

static void say_faster(const struct claim_input *input, struct claim *claim)
{
    const struct estimate *first = &claim->first;
    bool a_is = first->value > 0;
    double value = a_is ? first->value : -first->value, lo = a_is ? first->lo : -first->hi,
           hi = a_is ? first->hi : -first->lo;
    claim->verdict = CLAIM_FASTER;
    add(claim, "%s is %.1f %% faster than %s [%.1f %%, %.1f %%]", a_is ? input->a.name : input->b.name,
        claim_percent(value), a_is ? input->b.name : input->a.name, claim_percent(lo), claim_percent(hi));
}

static bool is_equal(const struct estimate *estimate)
{
    return claim_percent(estimate->lo) > -100 * CLAIM_EQUIVALENT &&
           claim_percent(estimate->hi) < 100 * CLAIM_EQUIVALENT;
}

void claim_make(const struct claim_input *input, struct claim *claim)
{
    *claim = (struct claim){.verdict = CLAIM_NONE};
    if (input->rate_count > 0 &&
        !signed_rank_estimate(input->rate_ratios, input->rate_count, CLAIM_LEVEL, &claim->first))
        claim->first = (struct estimate){0};
    if (input->cpu_count > 0 && !signed_rank_estimate(input->cpu_ratios, input->cpu_count, CLAIM_LEVEL, &claim->second))
        claim->second = (struct estimate){0};
    claim->agrees = claim->second.n == 0 || (claim->first.value > 0) == (claim->second.value > 0);
    if (say_problem(input, claim) || say_too_few(input, claim) || say_at_least(input, claim))
        return;
    if (is_equal(&claim->first)) {
        claim->verdict = CLAIM_EQUAL;
        add(claim, "%s and %s are equivalent within %.0f %%", input->a.name, input->b.name, 100 * CLAIM_EQUIVALENT);
        add_interval(claim, &claim->first);
        add_second(claim);
    } else if (input->a.limiter != LIMITER_SERVER || input->b.limiter != LIMITER_SERVER) {
        say_inconclusive(input, claim, "the server was not the limit on both sides");
    } else if (!is_beyond_noise(input, &claim->first)) {
        say_inconclusive(input, claim, isnan(input->noise) ? "no A/A arm tells the noise" : NULL);
    } else if (claim->second.n == 0 || !claim->agrees) {
        say_inconclusive(input, claim,
                         claim->second.n == 0 ? "the server's CPU is not known" : "CPU per request says the opposite");
    } else {
        say_faster(input, claim);
        add_second(claim);
    }
}
