/* shuffle.c: Fisher-Yates over numbers of SplitMix64; see shuffle.h. */
#include "run/shuffle.h"

static uint64_t mixed(uint64_t number)
{
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

static uint64_t next(uint64_t *state)
{
    return mixed(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* Below `bound`, without the bias of a remainder. */
static size_t below(uint64_t *state, size_t bound)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t number;
    do
        number = next(state);
    while (number >= limit);
    return (size_t)(number % bound);
}

void shuffle_order(uint64_t seed, uint64_t round, uint64_t which, size_t *order, size_t count)
{
    uint64_t state = mixed(mixed(mixed(seed) + round) + which);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = below(&state, i), last = order[i - 1];
        order[i - 1] = order[j];
        order[j] = last;
    }
}
