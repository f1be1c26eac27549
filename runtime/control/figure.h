/*
 * figure.h: numbers as people read them, with three digits that count. Pure.
 *
 *     fprintf(to, "%s ms", figure_ms(time_us).text);
 */
#ifndef CONTROL_FIGURE_H
#define CONTROL_FIGURE_H

#include <stdint.h>

struct figure {
    char text[48];
};

struct figure figure_number(double number);       /* 0.127, 1.27, 12.7, 127, 1270 */
struct figure figure_count(uint64_t count);       /* in groups of three digits from 10 000 on */
struct figure figure_rate(double per_second);     /* a number, or a count; a negative one is not known: – */
struct figure figure_ms(uint64_t time_us);        /* a number, in milliseconds */
struct figure figure_elapsed(int64_t elapsed_us); /* with its unit: 12.7 ms, 1.27 s, 4 min 13 s */
struct figure figure_age(int64_t age_us);         /* in whole units: 0 s, 4 min 13 s, 2 h 14 min, 5 d 3 h */

#endif
