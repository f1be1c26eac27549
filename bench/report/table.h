/* table.h: a growing text, and the texts of numbers in it: how every rendering writes a figure, and a figure that is not there. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stddef.h>

#define TABLE_NOTHING "–" /* what is not known, which is never 0 */

/* Caller's storage, all zero at first. Memory that cannot be had ends the program. */
struct table {
    char *text; /* NULL while nothing is added; the caller frees it */
    size_t length, room;
};

void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Numbers as texts, which last until the eighth call from here. NAN gives TABLE_NOTHING. Whatever the locale is. */
const char *table_whole(double number);               /* 1,234,567 */
const char *table_digits(double number, int decimals); /* 12.3 */

#endif
