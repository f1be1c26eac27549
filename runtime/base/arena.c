/*
 * arena.c: memory that dies together. Runs wherever its owner does.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCK_BYTES ((size_t)8192)

struct arena_block {
    struct arena_block *next;
    alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *arena, void *first, size_t first_bytes)
{
    *arena =
        (struct arena){.next = first, .end = (char *)first + first_bytes, .first = first, .first_bytes = first_bytes};
}

void arena_reset(struct arena *arena)
{
    while (arena->blocks != NULL) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    arena->next = arena->first;
    arena->end = arena->first + arena->first_bytes;
}

static void *take_from_new_block(struct arena *arena, size_t bytes)
{
    size_t room = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;
    struct arena_block *block = malloc(sizeof *block + room);
    if (block == NULL)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    if (room == bytes)
        return block->bytes; /* A large piece gets its own block; the one at hand goes on. */
    arena->next = block->bytes + bytes;
    arena->end = block->bytes + room;
    return block->bytes;
}

void *arena_take(struct arena *arena, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + align - 1) & ~(align - 1);
    if (bytes > (size_t)(arena->end - arena->next))
        return take_from_new_block(arena, bytes);
    void *taken = arena->next;
    arena->next += bytes;
    return taken;
}
