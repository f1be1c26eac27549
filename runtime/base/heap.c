/*
 * heap.c: a pairing heap. Whoever owns the heap calls this, one thread at a time.
 */
#include "base/heap.h"

static void hang(struct heap_node **place, struct heap_node *node)
{
    *place = node;
    node->place = place;
}

/* Both are roots; either may be NULL. Returns the root of both. */
static struct heap_node *merge(struct heap_node *one, struct heap_node *other)
{
    if (one == NULL || other == NULL)
        return one == NULL ? other : one;
    if (other->key < one->key) {
        struct heap_node *smaller = other;
        other = one;
        one = smaller;
    }
    other->next = one->child;
    if (other->next != NULL)
        other->next->place = &other->next;
    hang(&one->child, other);
    return one;
}

/* Merges neighbours two by two, then the pairs from the last to the first. */
static struct heap_node *merge_all(struct heap_node *node)
{
    struct heap_node *pairs = NULL, *root = NULL;
    while (node != NULL) {
        struct heap_node *second = node->next, *rest = second == NULL ? NULL : second->next;
        node->next = NULL;
        if (second != NULL)
            second->next = NULL;
        struct heap_node *pair = merge(node, second);
        pair->next = pairs;
        pairs = pair;
        node = rest;
    }
    while (pairs != NULL) {
        struct heap_node *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        root = merge(root, pair);
    }
    return root;
}

static void set_first(struct heap *heap, struct heap_node *node)
{
    heap->first = node;
    if (node != NULL)
        node->place = &heap->first;
}

void heap_add(struct heap *heap, struct heap_node *node, int64_t key)
{
    node->key = key;
    node->child = node->next = NULL;
    set_first(heap, merge(heap->first, node));
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    if (node->place == NULL)
        return;
    struct heap_node *children = merge_all(node->child);
    if (heap->first == node) {
        set_first(heap, children);
    } else {
        *node->place = node->next;
        if (node->next != NULL)
            node->next->place = node->place;
        set_first(heap, merge(heap->first, children));
    }
    node->place = NULL;
    node->child = node->next = NULL;
}
