/*
 * heap.h: things ordered by a key, the smallest first; the nodes live inside them (a pairing heap: nothing is allocated,
 * nothing can fail). Adding costs the same however many there are; taking the first, or any, O(log n) on average.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    struct heap_node *child, *next;
    struct heap_node **place; /* the pointer that leads here; NULL: it is in no heap */
};

struct heap {
    struct heap_node *first; /* the one with the smallest key, NULL: there is none */
};

#define HEAP_ELEMENT(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

static inline bool heap_holds(const struct heap_node *node)
{
    return node->place != NULL;
}

/* Zeroed memory is an empty heap, and a node that is in none. The node is in no heap. */
void heap_add(struct heap *heap, struct heap_node *node, int64_t key);

/* A node that is in no heap: nothing. */
void heap_remove(struct heap *heap, struct heap_node *node);

#endif
