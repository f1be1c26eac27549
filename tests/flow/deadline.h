/* deadline.h: monotonic time for tests that wait for a condition instead of sleeping. */
#ifndef DEADLINE_H
#define DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

enum { DEADLINE_USUAL_MS = 10000 }; /* for what should happen at once: a hang, not a slow machine, exceeds it */

int64_t deadline_now_ms(void);

/* Milliseconds until `end_ms`, never below 0: what poll(2) takes. */
int deadline_left_ms(int64_t end_ms);

/* Asks every few milliseconds until the condition holds. Returns whether it did within the time. */
bool deadline_wait(int limit_ms, bool (*holds)(void *context), void *context);

#endif
