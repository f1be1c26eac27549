/* chance.c: a generator of pseudo-random numbers, and the bytes that bodies are pieces of. */
#include "chance.h"

static uint64_t chance_state;
static unsigned char chance_noise[CHANCE_BYTES_MAX];
static char chance_text[CHANCE_BYTES_MAX];

/* The multiplication lets each bit change those above it, the shift lets the upper half change the lower one: so
 * neighbouring seeds soon differ everywhere. The factor is Knuth's for 64 bits (MMIX). */
static uint64_t chance_next(void)
{
    chance_state = (chance_state + 1442695040888963407u) * 6364136223846793005u;
    chance_state ^= chance_state >> 32;
    return chance_state;
}

void chance_begin(uint64_t seed, uint64_t number)
{
    chance_state = seed;
    chance_next();
    chance_state ^= number;
    chance_next();
    chance_next();
}

void chance_init(uint64_t seed)
{
    chance_begin(seed, 0);
    for (size_t i = 0; i < CHANCE_BYTES_MAX; i++) {
        chance_noise[i] = (unsigned char)chance_next();
        chance_text[i] = (char)('A' + chance_noise[i] % 58);
    }
}

size_t chance_between(size_t least, size_t most)
{
    return least + chance_next() % (most - least + 1);
}

bool chance_one_in(unsigned count)
{
    return chance_next() % count == 0;
}

size_t chance_body_length(void)
{
    size_t percent = chance_between(0, 99);

    return chance_between(0, percent < 60 ? 512 : percent < 85 ? 8192 : percent < 98 ? 32768 : CHANCE_BODY_MAX);
}

/* Tiny ones for short bodies alone. */
size_t chance_piece(size_t length)
{
    if (chance_one_in(2))
        return 0;
    return length < 1000 ? chance_between(1, 100) : chance_between(1000, 40000);
}

const unsigned char *chance_bytes(size_t length)
{
    return chance_noise + chance_between(0, CHANCE_BYTES_MAX - length);
}

const char *chance_letters(size_t length)
{
    return chance_text + chance_between(0, CHANCE_BYTES_MAX - length);
}
