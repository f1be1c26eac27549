/*
 * check.h: assertions for what cannot happen. They stay in release builds: a process in an impossible state ends, and
 * the master starts another.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: cannot happen: not (%s)\n", __FILE__, __LINE__, #condition);                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define MUST_CHECK __attribute__((warn_unused_result))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
