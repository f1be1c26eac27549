/*
 * test_heap.c: the heap against a plain search, on chains of additions and removals chosen by chance.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "suite.h"

#define NODES 300
#define STEPS 200000

struct thing {
    int number;
    struct heap_node node;
};

static struct thing things[NODES];

static int64_t smallest_key(void)
{
    int64_t smallest = INT64_MAX;
    for (int i = 0; i < NODES; i++)
        if (heap_holds(&things[i].node) && things[i].node.key < smallest)
            smallest = things[i].node.key;
    return smallest;
}

/* The first node has the smallest key, after every step. */
static void first_is_smallest(void)
{
    struct heap heap = {0};
    unsigned seed = 7;
    memset(things, 0, sizeof things);
    for (int step = 0; step < STEPS; step++) {
        struct thing *thing = &things[rand_r(&seed) % NODES];
        if (heap_holds(&thing->node))
            heap_remove(&heap, &thing->node);
        else
            heap_add(&heap, &thing->node, rand_r(&seed) % 1000);
        if (step % 64 == 0 || step < 2000) {
            int64_t first = heap.first == NULL ? INT64_MAX : heap.first->key;
            CU_ASSERT_EQUAL_FATAL(first, smallest_key());
        }
    }
}

/* Taking the first again and again gives the keys in order, and every node once. */
static void taken_in_order(void)
{
    struct heap heap = {0};
    unsigned seed = 11;
    bool seen[NODES] = {false};
    memset(things, 0, sizeof things);
    for (int i = 0; i < NODES; i++) {
        things[i].number = i;
        heap_add(&heap, &things[i].node, rand_r(&seed) % 50);
    }
    int64_t before = INT64_MIN;
    for (int i = 0; i < NODES; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(heap.first);
        struct thing *thing = HEAP_ELEMENT(heap.first, struct thing, node);
        CU_ASSERT_TRUE(thing->node.key >= before);
        CU_ASSERT_FALSE(seen[thing->number]);
        seen[thing->number] = true;
        before = thing->node.key;
        heap_remove(&heap, &thing->node);
        CU_ASSERT_FALSE(heap_holds(&thing->node));
    }
    CU_ASSERT_PTR_NULL(heap.first);
}

static void removing_what_is_in_none(void)
{
    struct heap heap = {0};
    struct heap_node node = {0};
    heap_remove(&heap, &node);
    CU_ASSERT_PTR_NULL(heap.first);
    heap_add(&heap, &node, 5);
    heap_remove(&heap, &node);
    heap_remove(&heap, &node);
    CU_ASSERT_PTR_NULL(heap.first);
}

static const struct suite_case cases[] = {
    {"the first is the smallest", first_is_smallest},
    {"taken in order", taken_in_order},
    {"removing what is in no heap", removing_what_is_in_none},
};

int main(int argc, char **argv)
{
    return suite_main("heap", cases, SUITE_COUNT(cases), argc, argv);
}
