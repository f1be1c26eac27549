/*
 * guard.h: inputs for parsers, directly before a page that cannot be touched: a byte looked at beyond the end crashes.
 */
#ifndef GUARD_H
#define GUARD_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define GUARD_BYTES_MAX (128 * 1024)

/* A copy that stays until the next call. That one gets another place, and overwrites this: what a parser remembers of
 * addresses shows as well. Threads: one at a time. */
struct span guard_copy(const void *bytes, size_t length);

#endif
