/*
 * arena.h: memory that dies together. One thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    char *next, *end;           /* free bytes of the block at hand */
    struct arena_block *blocks; /* those beyond the caller's own first block */
    char *first;
    size_t first_bytes;
};

/* Uses the caller's `first` block before it asks for others; a reset arena keeps nothing else. */
void arena_init(struct arena *arena, void *first, size_t first_bytes);
void arena_reset(struct arena *arena);

/* Returns memory aligned for any type, owned by the arena; NULL with errno when there is none. */
void *arena_take(struct arena *arena, size_t bytes) __attribute__((warn_unused_result));

#endif
