/*
 * chance.h: what is decided by chance: numbers from a seed, the same on every run, and bytes for bodies and values.
 * One sequence for the whole program.
 */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHANCE_BODY_MAX = 100 << 10, CHANCE_BYTES_MAX = 1 << 18 };

/* Makes the bytes. */
void chance_init(uint64_t seed);

/* From now on the numbers are those of this seed and number, whatever came before. */
void chance_begin(uint64_t seed, uint64_t number);

size_t chance_between(size_t least, size_t most);
bool chance_one_in(unsigned count);

/* Mostly small: 60 % up to 512 bytes, 2 % up to CHANCE_BODY_MAX. */
size_t chance_body_length(void);

/* The largest content of the records in which a stream of this length is cut; 0: as large as can be. */
size_t chance_piece(size_t length);

/* Bytes of any value, and printable ones; at most CHANCE_BYTES_MAX. Borrowed, and valid for ever. */
const unsigned char *chance_bytes(size_t length);
const char *chance_letters(size_t length);

#endif
