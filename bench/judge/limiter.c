/* limiter.c: what a rate was limited by; see limiter.h. */
#include "judge/limiter.h"

#include <math.h>

#define OVERFLOWS      0.5 /* a second */
#define DATABASE_SHARE 0.25
#define RUN_WAIT       0.5
#define FEW            4 /* connections: each waits for its own answer, and both sides rest in between */

enum limiter limiter_of(const struct limiter_input *input)
{
    if (input->generator_spins && input->generator_late)
        return LIMITER_GENERATOR;
    if (isnan(input->server_busy) || (isnan(input->generator_busy) && !input->generator_spins))
        return LIMITER_UNKNOWN;
    bool at_ease = input->generator_spins || input->generator_busy <= LIMITER_AT_EASE;
    if (input->server_busy >= LIMITER_BUSY)
        return at_ease ? LIMITER_SERVER : LIMITER_NEITHER;
    return !input->generator_spins && input->generator_busy >= LIMITER_BUSY ? LIMITER_GENERATOR : LIMITER_NEITHER;
}

const char *limiter_name(enum limiter limiter)
{
    static const char *const names[] = {"unknown", "server", "generator", "neither"};
    return names[limiter];
}

size_t limiter_suspects(const struct limiter_input *input, const struct limiter_signs *signs, const char **suspects,
                        size_t room)
{
    const struct {
        bool is;
        const char *what;
    } all[] = {
        {input->is_open, "the rate is fixed: nothing is at its limit"},
        {signs->listen_overflows > OVERFLOWS, "a full backlog: connections were dropped by the kernel"},
        {signs->database_busy > DATABASE_SHARE, "the database, or the pool of connections to it"},
        {signs->server_run_wait > RUN_WAIT, "processes that wait for the server's CPU"},
        {signs->concurrency > 0 && signs->concurrency < FEW, "too few connections to keep either side busy"},
        {!input->generator_spins && input->server_busy > LIMITER_AT_EASE - 0.05 &&
             input->generator_busy > LIMITER_AT_EASE - 0.1,
         "both sides are near their limit"},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && count < room; i++)
        if (all[i].is)
            suspects[count++] = all[i].what;
    return count;
}
