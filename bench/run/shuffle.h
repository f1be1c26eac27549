/* shuffle.h: the order of a run's servers and cells: random, and the same again from the same seed. */
#ifndef RUN_SHUFFLE_H
#define RUN_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* Puts 0 ... count-1 into `order`, every order as likely as any other. Two numbers besides the seed tell the shuffles of one
 * run apart, so that a resumed run goes on in the order that it began with. */
void shuffle_order(uint64_t seed, uint64_t round, uint64_t which, size_t *order, size_t count);

#endif
