/* kind.c: chooses from the kinds of good.c, odd.c and bad.c, and counts. */
#include "kind.h"

#include <stdio.h>

#include "chance.h"
#include "suite.h"

static struct kind *const kind_tables[] = {good_kinds, odd_kinds, bad_kinds};

/* The kind within whose share the number lies; NULL when it lies behind them all. What is left then is in `number`. */
static struct kind *kind_find(struct kind *kind, size_t *number)
{
    for (; kind->name; kind++) {
        if (*number < kind->weight)
            return kind;
        *number -= kind->weight;
    }
    return NULL;
}

static size_t kind_weights(void)
{
    size_t sum = 0;

    for (size_t i = 0; i < SUITE_COUNT(kind_tables); i++) {
        for (const struct kind *kind = kind_tables[i]; kind->name; kind++)
            sum += kind->weight;
    }
    return sum;
}

const struct kind *kind_choose(void)
{
    size_t number = chance_between(0, kind_weights() - 1);
    struct kind *kind = NULL;

    for (size_t i = 0; !kind; i++)
        kind = kind_find(kind_tables[i], &number);
    kind->chosen_count++;
    return kind;
}

void kind_print_counts(void)
{
    for (size_t i = 0; i < SUITE_COUNT(kind_tables); i++) {
        for (const struct kind *kind = kind_tables[i]; kind->name; kind++)
            printf("#   %8ld %s\n", kind->chosen_count, kind->name);
    }
}
