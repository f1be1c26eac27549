/*
 * printout.c: matches lines with forms. Knows neither ab nor httperf.
 */
#include "tools/printout.h"

#include <math.h>

#define COUNT_DIGITS_MAX 18

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static void skip_blanks(struct span *text)
{
    while (text->length > 0 && (*text->at == ' ' || *text->at == '\t'))
        span_take(text, 1);
}

static bool take_text(struct span *text, const char *expected)
{
    size_t length = strlen(expected);
    if (text->length < length || memcmp(text->at, expected, length) != 0)
        return false;
    span_take(text, length);
    return true;
}

bool printout_line(struct span *rest, struct span *line)
{
    const uint8_t *end = rest->length > 0 ? memchr(rest->at, '\n', rest->length) : NULL;
    if (end == NULL)
        return false;
    *line = span_take(rest, (size_t)(end - rest->at));
    span_take(rest, 1);
    return true;
}

bool printout_count(struct span *text, int64_t *count)
{
    size_t digits = 0;
    while (digits < text->length && is_digit(text->at[digits]))
        digits++;
    if (digits == 0 || digits > COUNT_DIGITS_MAX)
        return false;
    *count = span_number(span_take(text, digits));
    return true;
}

/* Takes digits, appends them to the number, and counts them in powers of ten. */
static double take_digits(struct span *text, double number, double *power)
{
    for (; text->length > 0 && is_digit(*text->at); span_take(text, 1)) {
        number = number * 10 + (*text->at - '0');
        *power *= 10;
    }
    return number;
}

bool printout_real(struct span *text, double *real)
{
    struct span rest = *text;
    double sign = take_text(&rest, "-") ? -1 : 1, whole = 1, fraction = 1;
    if (take_text(&rest, "nan") || take_text(&rest, "inf")) {
        *real = NAN;
        *text = rest;
        return true;
    }
    if (rest.length == 0 || !is_digit(*rest.at))
        return false;
    double number = take_digits(&rest, 0, &whole);
    if (take_text(&rest, ".")) {
        if (rest.length == 0 || !is_digit(*rest.at))
            return false;
        number = take_digits(&rest, number, &fraction);
    }
    number = sign * (number / fraction);
    *real = isfinite(number) ? number : NAN;
    *text = rest;
    return true;
}

static void keep(void *reading, uint16_t offset, const void *value, size_t size)
{
    if (offset != PRINTOUT_IGNORE)
        memcpy((char *)reading + offset, value, size);
}

/* Takes one value of the kind off the text. */
static bool take_value(struct span *text, char kind, void *reading, uint16_t offset)
{
    int64_t count;
    double real;
    CHECK(kind == 'd' || kind == 'f');
    if (kind == 'd') {
        if (!printout_count(text, &count))
            return false;
        keep(reading, offset, &count, sizeof count);
        return true;
    }
    if (!printout_real(text, &real))
        return false;
    keep(reading, offset, &real, sizeof real);
    return true;
}

static bool match(const struct printout_form *form, struct span text, void *reading)
{
    size_t value = 0;
    for (const char *at = form->rest; *at != '\0'; at++) {
        if (*at == ' ') {
            skip_blanks(&text);
        } else if (*at == '%') {
            CHECK(value < PRINTOUT_VALUES_MAX);
            if (!take_value(&text, *++at, reading, form->offsets[value++]))
                return false;
        } else if (text.length == 0 || *text.at != (uint8_t)*at) {
            return false;
        } else {
            span_take(&text, 1);
        }
    }
    skip_blanks(&text);
    return text.length == 0;
}

static bool has_decimal_comma(struct span line)
{
    for (size_t i = 1; i + 1 < line.length; i++)
        if (line.at[i] == ',' && is_digit(line.at[i - 1]) && is_digit(line.at[i + 1]))
            return true;
    return false;
}

/* Returns NULL, or the sentence about what is wrong with the line. Several forms may have one label; only the one that
 * matches whole is written to the reading, so each is tried on a copy first. */
static const char *read_line(const struct printout_form *forms, size_t count, struct span line, bool *seen,
                             void *reading)
{
    const struct printout_form *labelled = NULL;
    skip_blanks(&line);
    for (size_t i = 0; i < count; i++) {
        struct span rest = line;
        struct printout_form blind = forms[i];
        if (!take_text(&rest, forms[i].label))
            continue;
        labelled = &forms[i];
        for (size_t value = 0; value < PRINTOUT_VALUES_MAX; value++)
            blind.offsets[value] = PRINTOUT_IGNORE;
        if (!match(&blind, rest, reading))
            continue;
        if (seen[i])
            return forms[i].twice;
        seen[i] = true;
        return match(&forms[i], rest, reading) ? NULL : forms[i].unreadable;
    }
    if (labelled == NULL)
        return NULL;
    return has_decimal_comma(line) ? labelled->comma : labelled->unreadable;
}

const char *printout_read(const struct printout_form *forms, size_t count, struct span output, void *reading)
{
    bool seen[PRINTOUT_FORMS_MAX] = {false};
    const char *fault = NULL;
    struct span line;
    CHECK(count <= PRINTOUT_FORMS_MAX);
    if (output.length == 0)
        return "it printed nothing";
    while (printout_line(&output, &line)) {
        const char *found = read_line(forms, count, line, seen, reading);
        if (fault == NULL)
            fault = found;
    }
    for (size_t i = 0; i < count && fault == NULL; i++)
        if (forms[i].is_required && !seen[i])
            fault = forms[i].missing;
    return fault;
}
