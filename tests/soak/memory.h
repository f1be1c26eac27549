/*
 * memory.h: samples of the workers' private memory, and how fast it grows. Units: millions of requests, MiB.
 */
#ifndef MEMORY_H
#define MEMORY_H

enum { MEMORY_SAMPLES = 100 };

/* Takes sample `number`, 0 to MEMORY_SAMPLES, in order. Call it in the same state each time. */
void memory_sample(int number, long request_count);

/* Growth over the second half of the samples: MiB per million requests. */
struct memory_growth {
    double slope, upper_bound; /* one-sided, 95 % */
};
struct memory_growth memory_growth(void);

void memory_print(void);

#endif
