/*
 * figure.c: numbers as text. Pure.
 */
#include "control/figure.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define THIN_SPACE "\u202f" /* at which no line is broken */

/* A number just below a power of ten must not be rounded up to a digit more: 9.996 is 10.0. */
struct figure figure_number(double number)
{
    struct figure figure;
    int decimals = number < 0.9995 ? 3 : number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    if (number < 0.0005)
        decimals = 0;
    snprintf(figure.text, sizeof figure.text, "%.*f", decimals, number);
    return figure;
}

struct figure figure_count(uint64_t count)
{
    struct figure digits, figure = {.text = ""};
    int length = snprintf(digits.text, sizeof digits.text, "%" PRIu64, count);
    if (length <= 4)
        return digits;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            strcat(figure.text, THIN_SPACE);
        strncat(figure.text, &digits.text[i], 1);
    }
    return figure;
}

struct figure figure_rate(double per_second)
{
    if (per_second < 0)
        return (struct figure){.text = "–"};
    return per_second < 9999.5 ? figure_number(per_second) : figure_count((uint64_t)(per_second + 0.5));
}

struct figure figure_ms(uint64_t time_us)
{
    return figure_number((double)time_us / CLOCK_MS);
}

struct figure figure_elapsed(int64_t elapsed_us)
{
    struct figure figure;
    if (elapsed_us >= 60 * CLOCK_SECOND)
        return figure_age(elapsed_us);
    if (elapsed_us < 0) /* the other process has read its clock a moment later */
        elapsed_us = 0;
    bool is_short = elapsed_us < CLOCK_SECOND;
    figure = figure_number((double)elapsed_us / (double)(is_short ? CLOCK_MS : CLOCK_SECOND));
    strcat(figure.text, is_short ? " ms" : " s");
    return figure;
}

struct figure figure_age(int64_t age_us)
{
    struct figure figure;
    int64_t seconds = age_us < 0 ? 0 : age_us / CLOCK_SECOND;
    int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (days > 0)
        snprintf(figure.text, sizeof figure.text, "%" PRId64 " d %" PRId64 " h", days, hours % 24);
    else if (hours > 0)
        snprintf(figure.text, sizeof figure.text, "%" PRId64 " h %" PRId64 " min", hours, minutes % 60);
    else if (minutes > 0)
        snprintf(figure.text, sizeof figure.text, "%" PRId64 " min %" PRId64 " s", minutes, seconds % 60);
    else
        snprintf(figure.text, sizeof figure.text, "%" PRId64 " s", seconds);
    return figure;
}
